package ways_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// must is the value of a call that must not fail: must(f())(t).
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		require.NoError(t, err)
		return v
	}
}

package spelling_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/spelling"
)

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "abc", 3},
		{"lisbon", "lisbon", 0},
		{"lisbn", "lisbon", 1},
		{"lisbom", "lisbon", 1},
		{"kitten", "sitting", 3},
		{"münchen", "munchen", 1},
	} {
		require.Equal(t, c.want, spelling.Distance(c.a, c.b), "%s, %s", c.a, c.b)
		require.Equal(t, c.want, spelling.Distance(c.b, c.a), "%s, %s", c.b, c.a)
	}
}

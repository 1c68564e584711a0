package internal_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr/internal/failure"
)

var errClosed = errors.New("the desk is closed")

func TestThePanicOfAnErrorIsThatError(t *testing.T) {
	f := failure.OfPanic(errClosed).ReadBack()
	require.True(t, f.Panic)
	value, ok := f.PanicValue(f.Text).(error)
	require.True(t, ok)
	require.ErrorIs(t, value, errClosed)
	require.Equal(t, "7", failure.OfPanic(7).ReadBack().PanicValue(7), "a value that is no error has its text")
}

package internal_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr/internal/failure"
)

var errClosed = errors.New("the desk is closed")

// An error that was recorded may fail the next effect too.
func TestARecordedErrorIsRecordedAgain(t *testing.T) {
	met := failure.Of(errClosed).ReadBack().Err()
	again := failure.Of(fmt.Errorf("booking: %w", met))
	require.ErrorIs(t, again.ReadBack().Err(), met)
	require.ErrorIs(t, met, errClosed)
}

// codedError keeps a field that JSON does not see.
type codedError struct{ code int }

func (e *codedError) Error() string { return fmt.Sprint("code ", e.code) }

func TestAKeptTypeComesBackAsItself(t *testing.T) {
	lost := failure.Of(&codedError{7}).ReadBack().Err()
	require.EqualError(t, lost, "code 7")
	require.NotErrorAs(t, lost, new(*codedError), "JSON does not carry its field")

	failure.Keep(
		func(err *codedError) json.RawMessage { return json.RawMessage(fmt.Sprint(err.code)) },
		func(value json.RawMessage) (*codedError, bool) {
			var e codedError
			return &e, json.Unmarshal(value, &e.code) == nil
		})
	require.Equal(t, &codedError{7}, failure.Of(&codedError{7}).ReadBack().Err())
	var inner *codedError
	require.ErrorAs(t, failure.Of(fmt.Errorf("booking: %w", &codedError{7})).ReadBack().Err(), &inner)
	require.Equal(t, 7, inner.code)
}

func TestThePanicOfAnErrorIsThatError(t *testing.T) {
	f := failure.OfPanic(errClosed).ReadBack()
	require.True(t, f.Panic)
	value, ok := f.PanicValue(f.Text).(error)
	require.True(t, ok)
	require.ErrorIs(t, value, errClosed)
	require.Equal(t, "7", failure.OfPanic(7).ReadBack().PanicValue(7), "a value that is no error has its text")
}

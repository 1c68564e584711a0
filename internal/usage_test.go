package internal_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/usage"
)

func TestZeroMeansTheDefaultAndNegativeIsRefused(t *testing.T) {
	calls, size, wait := 0, int64(7), time.Duration(0)
	o := usage.Of("pkg", "Options")
	usage.Default(o, "MaxCalls", &calls, 100)
	usage.Default(o, "MaxSize", &size, 1)
	usage.Default(o, "Wait", &wait, time.Minute)
	require.NoError(t, o.Err())
	require.Equal(t, 100, calls)
	require.EqualValues(t, 7, size)
	require.Equal(t, time.Minute, wait)

	wait, calls = -time.Second, -1
	usage.Default(o, "Wait", &wait, time.Minute)
	usage.Default(o, "MaxCalls", &calls, 100)
	require.EqualError(t, o.Err(), "pkg: Options.Wait is negative: -1s", "the first mistake")
}

func TestAnErrorHasTheCauseThatItWraps(t *testing.T) {
	cause := errors.New("no")
	err := usage.New("pkg", "host %q: %w", "x", cause)
	require.EqualError(t, err, `pkg: host "x": no`)
	require.ErrorIs(t, err, cause)
	require.NoError(t, errors.Unwrap(usage.New("pkg", "no")))
	require.Equal(t, err.Error(), usage.Recorded(err.Error()).Error())
}

package store_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/store"
)

func TestKeysAreChecked(t *testing.T) {
	for _, c := range []struct {
		epoch, name string
		ok          bool
	}{
		{"e", "a", true},
		{"E-_0", "owner.call.3", true},
		{strings.Repeat("e", 64), strings.Repeat("n", store.MaxName), true},
		{"", "a", false},
		{"e.f", "a", false},
		{strings.Repeat("e", 65), "a", false},
		{"e", "", false},
		{"e", "a.", false},
		{"e", ".a", false},
		{"e", "a..b", false},
		{"e", "a b", false},
		{"e", "a*", false},
		{"e", "a\n", false},
		{"e", "ä", false},
		{"e", strings.Repeat("n", store.MaxName+1), false},
	} {
		err := store.Key{Epoch: c.epoch, Name: c.name}.Check()
		if c.ok {
			require.NoErrorf(t, err, "%q %q", c.epoch, c.name)
			continue
		}
		var usage *store.UsageError
		require.ErrorAsf(t, err, &usage, "%q %q", c.epoch, c.name)
	}
}

func TestWritesAreChecked(t *testing.T) {
	key := store.Key{Epoch: "e", Name: "a"}
	var usage *store.UsageError
	require.NoError(t, store.CheckWrite(key, make([]byte, 10), 10, store.MinTTL))
	require.NoError(t, store.CheckWrite(key, nil, 10, store.MaxTTL))
	require.ErrorIs(t, store.CheckWrite(key, make([]byte, 11), 10, store.MinTTL), store.ErrTooLarge)
	for _, ttl := range []time.Duration{0, -store.MinTTL, store.MinTTL - 1, store.MaxTTL + 1} {
		require.ErrorAs(t, store.CheckWrite(key, nil, 10, ttl), &usage, ttl)
	}
	require.ErrorAs(t, store.CheckWrite(store.Key{}, nil, 10, store.MinTTL), &usage)
}

func TestMaxValueOption(t *testing.T) {
	limit, err := store.MaxValue(0)
	require.NoError(t, err)
	require.Equal(t, store.DefaultMaxValue, limit)
	limit, err = store.MaxValue(7)
	require.NoError(t, err)
	require.Equal(t, 7, limit)
	var usage *store.UsageError
	_, err = store.MaxValue(-1)
	require.ErrorAs(t, err, &usage)
}

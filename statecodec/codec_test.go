package statecodec_test

import (
	"bytes"
	"errors"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/statecodec"
)

func TestATokenLivesItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCodec(statecodec.Options{})
		token, longer := must(c.Seal(fullBinding, nil)), must(must(c.Lasting(24*time.Hour)).Seal(fullBinding, nil))
		time.Sleep(statecodec.DefaultTTL + statecodec.DefaultSkew - time.Millisecond)
		requireOpens(t, c, token, "the last millisecond")
		time.Sleep(time.Millisecond)
		_, err := c.Open(fullBinding, token)
		requireRefused(t, statecodec.ReasonExpired, err)
		_, err = c.For("other").Open(fullBinding, token)
		requireRefused(t, statecodec.ReasonForged, err, "nobody has vouched for the expiry of a forgery")
		requireOpens(t, c, longer, "a token carries its own end")
	})
}

func TestASealedTokenIsNoLongerThanOpenTakes(t *testing.T) {
	for name, opts := range everySetting {
		opts.MaxToken = 500
		c := newCodec(opts)
		sealed := 0
		for size := range 600 {
			token, err := c.Seal(fullBinding, make([]byte, size))
			if err != nil {
				require.ErrorIs(t, err, statecodec.ErrTooLarge)
				continue
			}
			require.LessOrEqual(t, len(token), 500)
			requireOpens(t, c, token, "%s: %d bytes", name, size)
			sealed++
		}
		require.Greater(t, sealed, 300, name)
	}
	c := newCodec(statecodec.Options{MaxToken: statecodec.MaxMaxToken})
	payload := make([]byte, (statecodec.MaxMaxToken-28-22)/4*3-16-3)
	require.True(t, bytes.Equal(payload, must(c.Open(fullBinding, must(c.Seal(fullBinding, payload))))))
}

func TestABrokenRandomSourceIsNobodysMisuse(t *testing.T) {
	c := newCodec(statecodec.Options{})
	useRandom(t, iotest.ErrReader(errors.New("no entropy")))
	_, err := c.Seal(fullBinding, []byte("x"))
	var internal *statecodec.InternalError
	require.ErrorAs(t, err, &internal)
	require.ErrorContains(t, err, "no entropy")
}

// Opening behind other bytes leaves those alone, and nothing of the payload elsewhere.
func TestAppendOpen(t *testing.T) {
	for _, readable := range []bool{false, true} {
		c := newCodec(statecodec.Options{Readable: readable})
		for _, size := range []int{0, 1, 16, 100, 2000} {
			payload := bytes.Repeat([]byte{0xa5}, size)
			token := must(c.Seal(fullBinding, payload))
			require.Equal(t, payload, must(c.Open(fullBinding, token)))
			require.True(t, readable || token[28:] != must(c.Seal(fullBinding, payload))[28:], "a nonce is used once")
			requireOpens(t, c.For("store").For(""), token, "a purpose replaces the one before")
			memory := make([]byte, 3000)
			copy(memory, "before")
			opened, err := c.AppendOpen(memory[:6], fullBinding, token, time.Now())
			require.NoError(t, err)
			require.Equal(t, "before"+string(payload), string(opened))
			require.Zero(t, bytes.Count(memory[len(opened):], []byte{0xa5}), "outside of what was returned")

			opened, err = c.AppendOpen(memory[:6], statecodec.Binding{}, token, time.Now())
			require.Error(t, err)
			require.Equal(t, "before", string(opened))

			allocated := testing.AllocsPerRun(100, func() { must(c.AppendOpen(memory[:0], fullBinding, token, time.Now())) })
			allocated += testing.AllocsPerRun(100, func() { _, _ = c.Open(statecodec.Binding{}, token) })
			if size <= 100 && !raceEnabled { // the race detector makes sync.Pool forget at random
				require.Zero(t, allocated, "%d bytes", size)
			}
		}
	}
}

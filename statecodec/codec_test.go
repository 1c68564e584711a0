package statecodec_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/statecodec"
)

func TestATokenLivesItsTime(t *testing.T) {
	for lifetime, opts := range map[time.Duration]statecodec.Options{
		10*time.Minute + 20*time.Second:                {TTL: 10 * time.Minute, Skew: 20 * time.Second},
		statecodec.DefaultTTL + statecodec.DefaultSkew: {},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newCodec(opts)
			token := must(c.Seal(fullBinding, []byte("x")))
			longer := must(must(c.Lasting(24*time.Hour)).Seal(fullBinding, []byte("x")))
			time.Sleep(lifetime - time.Millisecond)
			requireOpens(t, c, token, "the last millisecond")
			time.Sleep(time.Millisecond)
			_, err := c.Open(fullBinding, token)
			requireRefused(t, statecodec.ReasonExpired, err)
			_, err = c.For("other").Open(fullBinding, token)
			requireRefused(t, statecodec.ReasonForged, err, "nobody has vouched for the expiry of a forgery")
			requireOpens(t, c, longer, "a token carries its own end")
		})
	}
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
			require.Equal(t, readable, token == must(c.Seal(fullBinding, payload)), "a nonce is used once")
			requireOpens(t, c.For("store").For(""), token, "a purpose replaces the one before")
			memory := make([]byte, 3000)
			copy(memory, "before")
			opened, err := c.AppendOpen(memory[:6], fullBinding, token)
			require.NoError(t, err)
			require.Equal(t, "before"+string(payload), string(opened))
			require.Zero(t, bytes.Count(memory[len(opened):], []byte{0xa5}), "outside of what was returned")

			opened, err = c.AppendOpen(memory[:6], statecodec.Binding{}, token)
			require.Error(t, err)
			require.Equal(t, "before", string(opened))

			allocated := testing.AllocsPerRun(100, func() { must(c.AppendOpen(memory[:0], fullBinding, token)) })
			forged := altered(token, 30)
			allocated += testing.AllocsPerRun(100, func() { _, _ = c.Open(fullBinding, forged) })
			if size <= 100 && !raceEnabled { // the race detector makes sync.Pool forget at random
				require.Zero(t, allocated, "%d bytes", size)
			}
		}
	}
}

// FuzzRoundTrip seals under every setting, and then alters one character.
func FuzzRoundTrip(f *testing.F) {
	f.Add("tools/call", "weather", "user", "https://a.example", "s", `{"a":1}`, []byte("payload"), uint(40))
	f.Add("", "", "", "", "", "", []byte{}, uint(0))
	f.Add("\x00", "\xff", "é", "\n", strings.Repeat("x", 300), `[1e5,"\u0000"]`, bytes.Repeat([]byte{0}, 100), uint(99))
	f.Fuzz(func(t *testing.T, method, target, principal, audience, session, arguments string, payload []byte, at uint) {
		b := statecodec.Binding{Method: method, Target: target, Arguments: []byte(arguments),
			Principal: principal, Audience: audience, Session: session}
		for _, opts := range everySetting {
			c := newCodec(opts)
			token, err := c.Seal(b, payload)
			if err != nil {
				requireUsage(t, err, "")
				continue
			}
			opened, err := c.Open(b, token)
			require.NoError(t, err)
			require.True(t, bytes.Equal(payload, opened))
			_, err = c.Open(b, altered(token, int(at%uint(len(token)))))
			require.Error(t, err)
		}
	})
}

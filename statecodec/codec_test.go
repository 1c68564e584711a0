package statecodec_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
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
		}
	}
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

var fullBinding = statecodec.Binding{
	Method:    "tools/call",
	Target:    "weather_native",
	Arguments: []byte(`{"location":"Springfield"}`),
	Principal: "user-1",
	Audience:  "https://weather.example",
	Session:   "s-1",
}

// everySetting are the ways to seal. Only the tokens may differ.
var everySetting = map[string]statecodec.Options{
	"encrypted":                               {},
	"readable":                                {Readable: true},
	"per principal and session":               {PerPrincipal: true, PerSession: true},
	"readable, per principal":                 {Readable: true, PerPrincipal: true},
	"with an instance":                        {Instance: "eu-2"},
	"readable, with an instance, per session": {Instance: "a", Readable: true, PerSession: true},
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// testKey is the key whose secret is this byte and its complement, 16 times.
func testKey(b byte) statecodec.Key {
	return must(statecodec.NewKey(bytes.Repeat([]byte{b, ^b}, statecodec.MinSecret/2)))
}

// newCodec has the first test key if opts have none.
func newCodec(opts statecodec.Options) *statecodec.Codec {
	if opts.Keys == nil && opts.Keyring == nil {
		opts.Keys = []statecodec.Key{testKey(1)}
	}
	return must(statecodec.New(&opts))
}

func requireRefused(t testing.TB, want statecodec.Reason, err error, explanation ...any) {
	t.Helper()
	var refused *statecodec.TokenError
	require.ErrorAs(t, err, &refused, explanation...)
	require.Equal(t, want, refused.Reason(), explanation...)
	require.Equal(t, "Invalid or expired requestState", err.Error(), "a client never learns the reason")
}

func requireUsage(t testing.TB, err error, contains string) {
	t.Helper()
	var usage *statecodec.UsageError
	require.ErrorAs(t, err, &usage)
	require.ErrorContains(t, err, contains)
}

// requireOpens opens a token for the binding that it was sealed for.
func requireOpens(t testing.TB, c *statecodec.Codec, token string, explanation ...any) {
	t.Helper()
	_, err := c.Open(fullBinding, token)
	require.NoError(t, err, explanation...)
}

// useRandom replaces the source of nonces.
func useRandom(t testing.TB, r io.Reader) {
	previous := rand.Reader
	rand.Reader = r
	t.Cleanup(func() { rand.Reader = previous })
}

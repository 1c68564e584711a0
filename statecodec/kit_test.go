package statecodec_test

import (
	"bytes"
	"crypto/rand"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/statecodec"
)

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

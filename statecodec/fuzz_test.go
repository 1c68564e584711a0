package statecodec_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/statecodec"
)

// FuzzOpen feeds arbitrary text to Open. Nothing panics, and what opens is the
// one encoding of its bytes.
func FuzzOpen(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(f, err)
	require.NotEmpty(f, files)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(f, err)
		v, err := parseVector(string(data))
		require.NoError(f, err)
		f.Add(v.token)
	}
	for _, opts := range everySetting {
		f.Add(must(newCodec(f, opts).Seal(fullBinding, []byte(realState))))
	}
	f.Fuzz(func(t *testing.T, token string) {
		for _, c := range []*statecodec.Codec{newCodec(t, statecodec.Options{}), newCodec(t, statecodec.Options{Keys: []statecodec.Key{
			must(statecodec.NewKey(vectorSecret(1)))}})} {
			payload, err := c.Open(fullBinding, token)
			if err != nil {
				var refused *statecodec.TokenError
				require.ErrorAs(t, err, &refused)
				require.Nil(t, payload)
				continue
			}
			require.Equal(t, token, reencode(t, token))
		}
	})
}

// reencode makes a token again from the bytes it stands for.
func reencode(t *testing.T, token string) string {
	cut, named := len(token)-22, ""
	if name, ok := statecodec.Instance(token); ok {
		named = string(alphabet[len(name)-1]) + name
	}
	require.Equal(t, named, token[28:28+len(named)])
	raw, err := base64.RawURLEncoding.DecodeString(token[:28] + token[28+len(named):cut])
	require.NoError(t, err)
	tag, err := base64.RawURLEncoding.DecodeString(token[cut:])
	require.NoError(t, err)
	text := base64.RawURLEncoding.EncodeToString(raw)
	return text[:28] + named + text[28:] + base64.RawURLEncoding.EncodeToString(tag)
}

// FuzzRoundTrip seals whatever there is, under every setting, and then alters
// one character.
func FuzzRoundTrip(f *testing.F) {
	f.Add("tools/call", "weather", "user", "https://a.example", "s", `{"a":1}`, []byte("payload"), uint(40))
	f.Add("", "", "", "", "", "", []byte{}, uint(0))
	f.Add("\x00", "\xff", "é", "\n", strings.Repeat("x", 300), `[1e5,"\u0000"]`, bytes.Repeat([]byte{0}, 100), uint(99))
	f.Fuzz(func(t *testing.T, method, target, principal, audience, session, arguments string, payload []byte, at uint) {
		b := statecodec.Binding{Method: method, Target: target, Arguments: []byte(arguments),
			Principal: principal, Audience: audience, Session: session}
		for _, opts := range everySetting {
			c := newCodec(t, opts)
			token, err := c.Seal(b, payload)
			if err != nil {
				var usage *statecodec.UsageError
				require.ErrorAs(t, err, &usage)
				require.Empty(t, token)
				continue
			}
			opened, err := c.Open(b, token)
			require.NoError(t, err)
			require.True(t, bytes.Equal(payload, opened))
			require.Equal(t, token, reencode(t, token))
			_, err = c.Open(b, flipText(token, int(at%uint(len(token)))))
			require.Error(t, err)
		}
	})
}

// FuzzArguments compares the canonical form with that of spec_test.go, which derives
// it in another way: both refuse the same arguments and agree on all others.
func FuzzArguments(f *testing.F) {
	for _, group := range sameArguments {
		for _, spelling := range group {
			f.Add([]byte(spelling))
		}
	}
	for _, refused := range refusedArguments {
		f.Add([]byte(refused.arguments))
	}
	c := newCodec(f, statecodec.Options{Readable: true, MaxToken: statecodec.MaxMaxToken})
	f.Fuzz(func(t *testing.T, arguments []byte) {
		token, err := c.Seal(statecodec.Binding{Arguments: arguments}, nil)
		if len(arguments) == 0 {
			require.NoError(t, err)
			return
		}
		canonical, none := specCanonical(arguments)
		if none != nil {
			require.ErrorIs(t, err, statecodec.ErrArguments)
			return
		}
		require.NoError(t, err)
		require.True(t, utf8.Valid(canonical) && json.Valid(canonical))
		_, err = c.Open(statecodec.Binding{Arguments: canonical}, token)
		require.NoError(t, err, "sealed %q, and its canonical form is %q", arguments, canonical)
		keys := specDerive(bytes.Repeat([]byte{1, 0xfe}, 16), "", 0, "", "")
		message := must(specMessage(statecodec.Binding{Arguments: arguments}, token[:len(token)-22]))
		require.Equal(t, base64.RawURLEncoding.EncodeToString(specHMAC(keys.mac, message)[:16]), token[len(token)-22:])
	})
}

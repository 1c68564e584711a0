package statecodec_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/statecodec"
)

// tampered are the reasons for tokens that nobody with a key has made.
var tampered = []statecodec.Reason{
	statecodec.ReasonMalformed, statecodec.ReasonWrongLength, statecodec.ReasonUnknownVersion,
	statecodec.ReasonUnknownKey, statecodec.ReasonForged,
}

func requireTampered(t *testing.T, c *statecodec.Codec, token string) {
	t.Helper()
	_, err := c.Open(fullBinding, token)
	if refused, ok := err.(*statecodec.TokenError); !ok || !slices.Contains(tampered, refused.Reason()) {
		t.Errorf("%q: %v", token, err)
	}
}

// A token with one bit, one character or its length changed, or in another spelling, is
// refused, and counts as authentic for no moment.
func TestEveryChangeOfATokenIsRefused(t *testing.T) {
	for _, opts := range everySetting {
		c := newCodec(opts)
		token := must(c.Seal(fullBinding, []byte("twenty bytes of text")))
		for i := range token {
			for _, other := range alphabet + "\n=+/." {
				if token[i] != byte(other) {
					requireTampered(t, c, token[:i]+string(other)+token[i+1:])
				}
			}
			for _, other := range []string{token[:i], token[i+1:], token[:i] + token[i+1:], token[:i] + string([]byte{token[i] ^ 0x80}) + token[i+1:]} {
				requireTampered(t, c, other)
			}
			for _, extra := range []string{"A", "\n", "\r\n", " ", "=", "\x00", ".", token} {
				requireTampered(t, c, token[:i]+extra+token[i:])
				requireTampered(t, c, token+extra)
			}
		}
		for _, other := range []string{strings.NewReplacer("-", "+", "_", "/").Replace(token), strings.ToLower(token), strings.ReplaceAll(token, "A", "%41")} {
			if other != token {
				requireTampered(t, c, other)
			}
		}
	}
}

func TestAnInstanceIsAName(t *testing.T) {
	for _, name := range []string{" ", "a b", "a.b", "http://x", "a/b", "é", "a\n", "a=", strings.Repeat("x", 65)} {
		_, err := statecodec.New(&statecodec.Options{Ephemeral: true, Instance: name})
		requireUsage(t, err, "instance")
		requireUsage(t, statecodec.CheckInstance(name), "instance")
	}
	requireUsage(t, statecodec.CheckInstance(""), "instance")
	require.NoError(t, statecodec.CheckInstance("eu-2"))
}

// FuzzOpen feeds arbitrary text to Open. What opens is the one encoding of its bytes, and an
// instance that is read is one that Options take, where SPEC.md puts it.
func FuzzOpen(f *testing.F) {
	for _, v := range readVectors(f) {
		f.Add(v.token)
	}
	for _, opts := range everySetting {
		f.Add(must(newCodec(opts).Seal(fullBinding, []byte("payload"))))
	}
	f.Add(strings.Repeat("A", 71))
	c := newCodec(statecodec.Options{})
	f.Fuzz(func(t *testing.T, token string) {
		named := 0
		name, ok := statecodec.Instance(token)
		if require.Equal(t, ok, name != ""); ok {
			require.NoError(t, statecodec.CheckInstance(name))
			require.True(t, strings.HasPrefix(token[28:], string(alphabet[len(name)-1])+name))
			named = 1 + len(name)
		}
		payload, err := c.Open(fullBinding, token)
		if err != nil {
			requireRefused(t, err.(*statecodec.TokenError).Reason(), err)
			require.Nil(t, payload)
			return
		}
		for _, text := range []string{token[:28], token[28+named : len(token)-22], token[len(token)-22:]} {
			_, ok := specBase64(text)
			require.True(t, ok, "%q", text)
		}
	})
}

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
		for _, payload := range []string{"", "x", "twenty bytes of text"} {
			token := must(c.Seal(fullBinding, []byte(payload)))
			for i := range token {
				for _, other := range alphabet + "\n=+/." {
					if token[i] != byte(other) {
						requireTampered(t, c, token[:i]+string(other)+token[i+1:])
					}
				}
				for bit := range 8 {
					requireTampered(t, c, token[:i]+string([]byte{token[i] ^ 1<<bit})+token[i+1:])
				}
				requireTampered(t, c, token[:i])
				requireTampered(t, c, token[i+1:])
				requireTampered(t, c, token[:i]+token[i+1:])
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
}

func TestRefusingAllocatesNothing(t *testing.T) {
	if raceEnabled {
		return // the race detector makes sync.Pool forget at random
	}
	c := newCodec(statecodec.Options{})
	token := must(c.Seal(fullBinding, make([]byte, 500)))
	for name, forgery := range map[string]string{
		"garbage": strings.Repeat("garbage!", 50), "cut": token[1:], "altered": altered(token, 200), "too long": strings.Repeat("!", statecodec.DefaultMaxToken+1),
	} {
		require.Zero(t, testing.AllocsPerRun(200, func() {
			if _, err := c.Open(fullBinding, forgery); err == nil {
				panic("a forged token opened")
			}
		}), name)
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

// addTokens adds the vectors, and a token of every setting that opens now.
func addTokens(f *testing.F) {
	for _, v := range readVectors(f) {
		f.Add(v.token)
	}
	for _, opts := range everySetting {
		f.Add(must(newCodec(opts).Seal(fullBinding, []byte("payload"))))
	}
}

// FuzzOpen feeds arbitrary text to Open. What opens is the one encoding of its bytes.
func FuzzOpen(f *testing.F) {
	addTokens(f)
	c := newCodec(statecodec.Options{})
	f.Fuzz(func(t *testing.T, token string) {
		payload, err := c.Open(fullBinding, token)
		if err != nil {
			requireRefused(t, err.(*statecodec.TokenError).Reason(), err)
			require.Nil(t, payload)
			return
		}
		body, tag := token[28:len(token)-22], token[len(token)-22:]
		if name, ok := statecodec.Instance(token); ok {
			body = body[1+len(name):]
		}
		for _, text := range []string{token[:28], body, tag} {
			_, ok := specBase64(text)
			require.True(t, ok, "%q", text)
		}
	})
}

// FuzzInstance feeds arbitrary text to Instance: a name that is read is one that Options
// take, and stands in the text where SPEC.md puts it.
func FuzzInstance(f *testing.F) {
	addTokens(f)
	f.Add(strings.Repeat("A", 71))
	f.Fuzz(func(t *testing.T, token string) {
		name, ok := statecodec.Instance(token)
		require.Equal(t, ok, name != "")
		if ok {
			require.NoError(t, statecodec.CheckInstance(name))
			require.True(t, strings.HasPrefix(token[28:], string(alphabet[len(name)-1])+name))
		}
	})
}

package statecodec_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/statecodec"
)

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// decodeText decodes header and body, which are one run of base64 when the
// header is a multiple of three bytes.
func decodeText(t testing.TB, token string) []byte {
	raw, err := base64.RawURLEncoding.DecodeString(token[:len(token)-22])
	require.NoError(t, err)
	return raw
}

func eachTamperable(t *testing.T, f func(t *testing.T, c *statecodec.Codec, token string)) {
	for name, opts := range everySetting {
		t.Run(name, func(t *testing.T) {
			c := newCodec(t, opts)
			for _, payload := range []string{"", "x", "xy", "xyz", "twenty bytes of text"} {
				token := must(c.Seal(fullBinding, []byte(payload)))
				f(t, c, token)
			}
		})
	}
}

func requireTamperedRefused(t *testing.T, c *statecodec.Codec, token string) {
	t.Helper()
	opened, err := c.Open(fullBinding, token)
	var refused *statecodec.TokenError
	require.ErrorAs(t, err, &refused, "opened: %q", token)
	require.Nil(t, opened)
	require.Contains(t, []statecodec.Reason{
		statecodec.ReasonMalformed, statecodec.ReasonWrongLength, statecodec.ReasonUnknownVersion,
		statecodec.ReasonUnknownKey, statecodec.ReasonForged,
	}, refused.Reason(), "nothing that was tampered with counts as authentic: %q", token)
}

func TestEveryBitOfTheTextCounts(t *testing.T) {
	eachTamperable(t, func(t *testing.T, c *statecodec.Codec, token string) {
		for i := range len(token) * 8 {
			altered := []byte(token)
			altered[i/8] ^= 1 << (i % 8)
			requireTamperedRefused(t, c, string(altered))
		}
	})
}

// Every bit of the bytes, that is: each character replaced by every other of
// the alphabet, the unused bits of a last character included.
func TestEveryOtherCharacterIsRefused(t *testing.T) {
	eachTamperable(t, func(t *testing.T, c *statecodec.Codec, token string) {
		for i := range token {
			for _, other := range alphabet {
				if token[i] != byte(other) {
					requireTamperedRefused(t, c, token[:i]+string(other)+token[i+1:])
				}
			}
		}
	})
}

func TestEveryTruncationAndExtensionIsRefused(t *testing.T) {
	eachTamperable(t, func(t *testing.T, c *statecodec.Codec, token string) {
		for i := range token {
			requireTamperedRefused(t, c, token[:i])
			requireTamperedRefused(t, c, token[i+1:])
			requireTamperedRefused(t, c, token[:i]+token[i+1:])
			for _, extra := range []string{"A", "\n", "\r\n", " ", "=", "\x00", token} {
				requireTamperedRefused(t, c, token[:i]+extra+token[i:])
			}
		}
		for _, extra := range []string{"A", "\n", "=", "==", "-mrtr-tampered", token} {
			requireTamperedRefused(t, c, token+extra)
			requireTamperedRefused(t, c, extra+token)
		}
	})
}

func TestOtherSpellingsAreRefused(t *testing.T) {
	seen := 0
	eachTamperable(t, func(t *testing.T, c *statecodec.Codec, token string) {
		for _, other := range []string{
			strings.NewReplacer("-", "+", "_", "/").Replace(token),
			strings.ToLower(token),
			strings.ReplaceAll(token, "A", "%41"),
			token[:28] + "." + token[28:],
		} {
			if other != token {
				seen++
				requireTamperedRefused(t, c, other)
			}
		}
	})
	require.NotZero(t, seen)
}

func TestReasonsTellForgeriesApartInTheLog(t *testing.T) {
	c := newCodec(t, statecodec.Options{})
	token, err := c.Seal(fullBinding, []byte(strings.Repeat("x", 40))) // longer than any name
	require.NoError(t, err)
	raw, err := base64.RawURLEncoding.DecodeString(token[:28])
	require.NoError(t, err)
	reheader := func(change func(h []byte)) string {
		h := append([]byte{}, raw...)
		change(h)
		return base64.RawURLEncoding.EncodeToString(h) + token[28:]
	}
	cases := []struct {
		explanation, token string
		want               statecodec.Reason
	}{
		{"no token", "", statecodec.ReasonMalformed},
		{"a word", "state", statecodec.ReasonMalformed},
		{"not the alphabet", strings.Repeat("!", 100), statecodec.ReasonMalformed},
		{"over the cap, whatever it says", strings.Repeat("!", statecodec.DefaultMaxToken+1), statecodec.ReasonTooLarge},
		{"another version", reheader(func(h []byte) { h[0] = 2 }), statecodec.ReasonUnknownVersion},
		{"a flag of the future", reheader(func(h []byte) { h[1] |= 16 }), statecodec.ReasonUnknownVersion},
		{"claimed to name an instance", reheader(func(h []byte) { h[1] |= 8 }), statecodec.ReasonWrongLength},
		{"another key", reheader(func(h []byte) { h[2] ^= 1 }), statecodec.ReasonUnknownKey},
		{"a length of its own", reheader(func(h []byte) { h[8]++ }), statecodec.ReasonWrongLength},
		{"cut by one", token[:len(token)-1], statecodec.ReasonWrongLength},
		{"longer by one", token + "A", statecodec.ReasonWrongLength},
		{"a later expiry", reheader(func(h []byte) { h[15]++ }), statecodec.ReasonForged},
		{"an expiry long ago, but not ours", reheader(func(h []byte) { clear(h[9:]) }), statecodec.ReasonForged},
		{"claimed to be readable", reheader(func(h []byte) { h[1] = 1 }), statecodec.ReasonForged},
		{"claimed to be another principal's", reheader(func(h []byte) { h[1] = 2 }), statecodec.ReasonForged},
	}
	for _, tc := range cases {
		_, err := c.Open(fullBinding, tc.token)
		requireRefused(t, tc.want, err, tc.explanation)
	}
}

func TestRefusingAllocatesNothing(t *testing.T) {
	allowed := 0.0
	if raceEnabled {
		allowed = 8 // the race detector makes sync.Pool forget at random
	}
	c := newCodec(t, statecodec.Options{})
	token := must(c.Seal(fullBinding, []byte(realState)))
	for name, forgery := range map[string]string{
		"garbage": strings.Repeat("garbage!", 50), "cut": token[1:], "altered": flipText(token, 200),
	} {
		require.LessOrEqual(t, testing.AllocsPerRun(200, func() {
			if _, err := c.Open(fullBinding, forgery); err == nil {
				panic("a forged token opened")
			}
		}), allowed, name)
	}
}

// The name is read without a key, from tokens that have one and from nothing else. A
// token without a name is as long as before there were any.
func TestInstanceIsReadWithoutAKey(t *testing.T) {
	for _, readable := range []bool{false, true} {
		plain := must(newCodec(t, statecodec.Options{Readable: readable}).Seal(fullBinding, []byte("payload")))
		_, ok := statecodec.Instance(plain)
		require.False(t, ok)
		for _, name := range []string{"a", "eu-2", "_", "-", strings.Repeat("x", 64)} {
			token := must(newCodec(t, statecodec.Options{Instance: name, Readable: readable}).Seal(fullBinding, []byte("payload")))
			require.Len(t, token, len(plain)+1+len(name))
			got, ok := statecodec.Instance(token)
			require.True(t, ok)
			require.Equal(t, name, got)
			_, ok = statecodec.Issued(token)
			require.True(t, ok)
		}
	}
	for _, other := range []string{"", "x", strings.Repeat("A", 71), strings.Repeat("!", 200), "e30="} {
		_, ok := statecodec.Instance(other)
		require.False(t, ok, other)
	}
}

func TestInstanceIsAName(t *testing.T) {
	for _, name := range []string{" ", "a b", "a.b", "http://x", "a/b", "é", "a\n", "a=", strings.Repeat("x", 65)} {
		_, err := statecodec.New(&statecodec.Options{Ephemeral: true, Instance: name})
		var usage *statecodec.UsageError
		require.ErrorAs(t, err, &usage, name)
		require.ErrorAs(t, statecodec.CheckInstance(name), &usage, name)
	}
	require.Error(t, statecodec.CheckInstance(""))
	require.NoError(t, statecodec.CheckInstance("eu-2"))
}

// A token counts against the cap with its name.
func TestANameCountsForTheCap(t *testing.T) {
	for name, want := range map[string]error{"": nil, "a": statecodec.ErrTooLarge} {
		c := must(statecodec.New(&statecodec.Options{Ephemeral: true, Readable: true, MaxToken: 100, Instance: name}))
		_, err := c.Seal(fullBinding, make([]byte, 37)) // 28+50+22
		require.ErrorIs(t, err, want)
	}
}

// FuzzInstance feeds arbitrary text: a name that is read is one that Options take, and
// stands in the text where SPEC.md puts it.
func FuzzInstance(f *testing.F) {
	for _, opts := range everySetting {
		f.Add(must(newCodec(f, opts).Seal(fullBinding, []byte("payload"))))
	}
	f.Add("")
	f.Fuzz(func(t *testing.T, token string) {
		name, ok := statecodec.Instance(token)
		if !ok {
			require.Empty(t, name)
			return
		}
		require.NoError(t, errorOf(statecodec.New(&statecodec.Options{Ephemeral: true, Instance: name})))
		require.True(t, strings.HasPrefix(token[28:], string(alphabet[len(name)-1])+name))
	})
}

func errorOf[T any](_ T, err error) error { return err }

package statecodec

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// oneSpelling makes the standard decoder as strict: the bytes have to encode to
// the same characters again.
func oneSpelling(text string) ([]byte, bool) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	return b, err == nil && base64.RawURLEncoding.EncodeToString(b) == text
}

func requireAgree(t *testing.T, text string) {
	t.Helper()
	want, ok := oneSpelling(text)
	got := make([]byte, len(text)*6/8)
	require.Equal(t, ok, readText(got, []byte(text)), "%q", text)
	if ok {
		require.True(t, bytes.Equal(want, got), "%q", text)
	}
}

// Every byte at every place of texts of every remainder.
func TestTextHasOneSpelling(t *testing.T) {
	for _, text := range []string{"", "A", "AA", "AAA", "AAAA", "AAAAA", "q83vEjRWeJ", "q83vEjRWeJo", "q83vEjRWeJ_-"} {
		requireAgree(t, text)
		for at := range text {
			for c := range 256 {
				changed := []byte(text)
				changed[at] = byte(c)
				requireAgree(t, string(changed))
			}
		}
	}
	for _, text := range []string{"QQ==", "QQ=", "QU\nI", "QUI\r\n", "+/+/", "QUJD "} {
		requireAgree(t, text)
	}
}

// Counter mode by hand is that of the standard library, at every length around the one
// where it takes over, and where the counter carries.
func TestCounterModeIsTheStandardOne(t *testing.T) {
	block, err := aes.NewCipher(bytes.Repeat([]byte{7}, 32))
	require.NoError(t, err)
	keys, w := &subkeys{block: block}, new(scratch)
	r := rand.New(rand.NewPCG(1, 2))
	for name, nonce := range map[string][]byte{
		"random":                bytes.Repeat([]byte{0x5a}, 16),
		"carry in the low half": append(bytes.Repeat([]byte{1}, 14), 0xff, 0xfe),
		"carry to the high":     append(bytes.Repeat([]byte{1}, 8), bytes.Repeat([]byte{0xff}, 8)...),
		"carry over all":        bytes.Repeat([]byte{0xff}, 16),
	} {
		for size := range maxByHand + 40 {
			text := make([]byte, size)
			for i := range text {
				text[i] = byte(r.Uint32())
			}
			want := make([]byte, size)
			cipher.NewCTR(block, nonce).XORKeyStream(want, text)
			keys.counterMode(w, nonce, text)
			require.True(t, bytes.Equal(want, text), "%s, %d bytes", name, size)
		}
	}
	require.Zero(t, w.stream)
}

// The keys of few principals are remembered, and those of the others derived again.
func TestScopesAreBounded(t *testing.T) {
	c, err := New(&Options{Ephemeral: true, PerPrincipal: true})
	require.NoError(t, err)
	most := 0
	tokens := make([]string, 2*maxScopes+10)
	for i := range tokens {
		tokens[i], err = c.Seal(Binding{Principal: fmt.Sprint(i)}, nil)
		require.NoError(t, err)
		most = max(most, len(c.current()[0].scoped))
	}
	require.Equal(t, maxScopes, most)
	for i, token := range tokens {
		_, err := c.Open(Binding{Principal: fmt.Sprint(i)}, token)
		require.NoError(t, err)
	}
}

func TestHugeBuffersAreNotKept(t *testing.T) {
	c, err := New(&Options{Ephemeral: true, MaxToken: MaxMaxToken})
	require.NoError(t, err)
	w := c.current()[0].plain.get()
	w.buf = make([]byte, 0, maxRetained+1)
	c.current()[0].plain.put(w)
	for range 100 {
		require.NotSame(t, w, c.current()[0].plain.get())
	}
}

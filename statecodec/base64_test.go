package statecodec

import (
	"bytes"
	"encoding/base64"
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
	require.Equal(t, ok, readText(got, text), "%q", text)
	require.Equal(t, ok, readText(got, []byte(text)), "%q", text)
	if ok {
		require.True(t, bytes.Equal(want, got), "%q", text)
	}
}

func TestTextIsThatOfTheStandardEncoder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for size := range 200 {
		b := make([]byte, size)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		text := base64.RawURLEncoding.EncodeToString(b)
		require.Equal(t, text, string(appendText(nil, b)))
		require.Equal(t, len(text), textLen(size))
		requireAgree(t, text)
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
	require.False(t, readText(make([]byte, 2), "QUJD"), "another length")
}

func FuzzText(f *testing.F) {
	for _, text := range []string{"", "QQ", "QR", "QUI", "QUJ", "QUJD", "_-_-", "QU\nI", "QQ=="} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		requireAgree(t, text)
		require.Equal(t, base64.RawURLEncoding.EncodeToString([]byte(text)), string(appendText(nil, []byte(text))))
	})
}

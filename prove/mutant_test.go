package prove

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A verdict must not depend on the handles that a server draws. None is taken for words,
// unless it has small letters alone, and no words are taken for a handle.
func TestAHandleIsNeverTakenForWords(t *testing.T) {
	drawn := rand.New(rand.NewPCG(1, 2))
	for name, h := range map[string]struct {
		letters string
		length  int
	}{
		"base32":               {"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 26}, // crypto/rand.Text
		"base32 in small":      {"abcdefghijklmnopqrstuvwxyz234567", 26},
		"Crockford's base32":   {"0123456789ABCDEFGHJKMNPQRSTVWXYZ", 26},
		"base36":               {"0123456789abcdefghijklmnopqrstuvwxyz", 20},
		"base62":               {"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", 22},
		"hexadecimal":          {"0123456789abcdef", 32},
		"hexadecimal capitals": {"0123456789ABCDEF", 32},
	} {
		for range 2000 {
			text := make([]byte, h.length)
			for i := range text {
				text[i] = h.letters[drawn.IntN(len(h.letters))]
			}
			if strings.ContainsAny(string(text), "0123456789") || strings.ToUpper(string(text)) == string(text) {
				require.True(t, isRandom(string(text)), "%s: %s", name, text)
			}
		}
	}
	for _, words := range []string{
		"order 4711, confirmed", "Lisbon|metric|round=2", "step-3-of-4-for-alice", "user:alice;amount:500;to:bob",
		"awaitingconfirmationofalice", "ASK UNITS FOR LISBON 2026-11-26", "2026-11-26T08:00:00 alice",
	} {
		require.False(t, isRandom(words), words)
	}
}

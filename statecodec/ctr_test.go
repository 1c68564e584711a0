package statecodec

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

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

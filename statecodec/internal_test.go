package statecodec

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// Counter mode by hand is that of the standard library, at every length around the one
// where it takes over, and where the counter carries.
func TestCounterModeIsTheStandardOne(t *testing.T) {
	block, err := aes.NewCipher(bytes.Repeat([]byte{7}, 32))
	require.NoError(t, err)
	keys, w := &subkeys{block: block}, new(scratch)
	for name, nonce := range map[string][]byte{
		"no carry":              bytes.Repeat([]byte{0x5a}, 16),
		"carry in the low half": append(bytes.Repeat([]byte{1}, 14), 0xff, 0xfe),
		"carry to the high":     append(bytes.Repeat([]byte{1}, 8), bytes.Repeat([]byte{0xff}, 8)...),
		"carry over all":        bytes.Repeat([]byte{0xff}, 16),
	} {
		for size := range maxByHand + 40 {
			text, want := make([]byte, size), make([]byte, size)
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
	k := c.current()[0]
	first := Binding{Principal: "0"}
	require.Same(t, k.subkeys(c.flags, &first), k.subkeys(c.flags, &first))
	for i := range 2*maxScopes + 10 {
		b := Binding{Principal: fmt.Sprint(i)}
		token, err := c.Seal(b, nil)
		require.NoError(t, err)
		require.LessOrEqual(t, len(k.scoped), maxScopes)
		delete(k.scoped, k.info(c.flags, &b))
		_, err = c.Open(b, token)
		require.NoError(t, err)
	}
}

func TestHugeBuffersAreNotKept(t *testing.T) {
	keys := NewEphemeral().current()[0].plain
	for _, huge := range []*scratch{{buf: make([]byte, maxRetained+1)}, {members: make([]member, maxRetained/64+1)}} {
		keys.put(huge)
		for range 100 {
			require.NotSame(t, huge, keys.get())
		}
	}
}

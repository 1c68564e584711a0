package statecodec

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestScopesAreBounded(t *testing.T) {
	c, err := New(&Options{Ephemeral: true, PerPrincipal: true})
	require.NoError(t, err)
	most := 0
	for i := range maxScopes + 10 {
		_, err := c.Seal(Binding{Principal: fmt.Sprint(i)}, nil)
		require.NoError(t, err)
		most = max(most, len(c.ring[0].scoped))
	}
	require.Equal(t, maxScopes, most)
}

func TestHugeBuffersAreNotKept(t *testing.T) {
	c, err := New(&Options{Ephemeral: true, MaxToken: MaxMaxToken})
	require.NoError(t, err)
	w := c.ring[0].plain.get()
	w.buf = make([]byte, 0, maxRetained+1)
	c.ring[0].plain.put(w)
	for range 100 {
		require.NotSame(t, w, c.ring[0].plain.get())
	}
}

package inflight

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCounter(t *testing.T) {
	c := New(5, 3)
	require.NoError(t, c.Enter(Who{Principal: "a"}, 3))
	require.Equal(t, ErrShare, c.Enter(Who{Principal: "a"}, 1))
	require.Equal(t, ErrFull, c.Enter(Who{Principal: "b"}, 3), "all or none")
	require.NoError(t, c.Enter(Who{Principal: "b"}, 1))
	require.NoError(t, c.Enter(Who{}, 1))
	require.Equal(t, ErrFull, c.Enter(Who{}, 1))
	c.Leave(Who{Principal: "a"}, 2)
	require.NoError(t, c.Enter(Who{Principal: "a"}, 2))
	c.Leave(Who{Principal: "a"}, 3)
	c.Leave(Who{Principal: "b"}, 1)
	c.Leave(Who{}, 1)
	require.Empty(t, c.of, "a principal that has nothing in flight is forgotten")
	require.Zero(t, c.total)
}

// A quarter of the places is neither for the callers whom nobody knows, however many
// connections they open, nor for any one principal.
func TestAQuarterIsForTheOthers(t *testing.T) {
	for name, taking := range map[string]func(i int) Who{
		"a crowd":     func(i int) Who { return Who{Connection: string(rune('a' + i))} },
		"nobody":      func(int) Who { return Who{} },
		"a principal": func(int) Who { return Who{Principal: "a"} },
	} {
		c, taken := New(20, 1000), 0
		for i := range 20 {
			if c.Enter(taking(i), 1) == nil {
				taken++
			}
		}
		require.Equal(t, 15, taken, name)
		for range 5 {
			require.NoError(t, c.Enter(Who{Principal: "b"}, 1), name)
		}
		require.Equal(t, ErrFull, c.Enter(Who{Principal: "c"}, 1), name)
		c.Leave(Who{Principal: "b"}, 5)
		for i := range taken {
			c.Leave(taking(i), 1)
		}
		require.Zero(t, c.total+c.crowd+len(c.of), name)
	}
}

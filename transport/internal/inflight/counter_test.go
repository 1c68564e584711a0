package inflight

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCounter(t *testing.T) {
	c := New(5, 3)
	require.NoError(t, c.Enter("a", 3))
	require.Equal(t, ErrShare, c.Enter("a", 1))
	require.Equal(t, ErrFull, c.Enter("b", 3), "all or none")
	require.NoError(t, c.Enter("b", 1))
	require.NoError(t, c.Enter("", 1))
	require.Equal(t, ErrFull, c.Enter("", 1))
	c.Leave("a", 2)
	require.NoError(t, c.Enter("a", 2))
	c.Leave("a", 3)
	c.Leave("b", 1)
	c.Leave("", 1)
	require.Empty(t, c.of, "a principal that has nothing in flight is forgotten")
	require.Zero(t, c.total)
}

//go:build linux && amd64

package fleet

import (
	"bufio"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) {
	os.Exit(Main(m, func(string) error {
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			fmt.Println(time.Now().Format(time.RFC3339))
		}
		return nil
	}))
}

func TestAClockIsMoved(t *testing.T) {
	p, err := Start("tell the time")
	require.NoError(t, err)
	t.Cleanup(p.Kill)
	clock, err := p.Clock()
	require.NoError(t, err)
	for _, ahead := range []time.Duration{0, 2 * time.Hour, -2 * time.Hour, 0} {
		require.NoError(t, clock.Move(ahead))
		_, err := fmt.Fprintln(p.In)
		require.NoError(t, err)
		said, err := p.Line()
		require.NoError(t, err)
		told, err := time.Parse(time.RFC3339+"\n", said)
		require.NoError(t, err)
		require.WithinDuration(t, time.Now().Add(ahead), told, time.Hour, "ahead by %v", ahead)
	}
}

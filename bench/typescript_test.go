package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// typeScript is the request-state codec of the TypeScript SDK, under Node.
type typeScript struct {
	orders  io.Writer
	answers *bufio.Scanner
}

// startTypeScript skips if Node or the package is missing; with MRTR_CI=1 it
// fails.
func startTypeScript(b *testing.B) *typeScript {
	node, err := exec.LookPath("node")
	if err == nil {
		_, err = os.Stat("typescript/node_modules")
	}
	if err != nil {
		if os.Getenv("MRTR_CI") == "1" {
			b.Fatalf("bench/install is to be run first: %v", err)
		}
		b.Skipf("needs Node, and bench/install: %v", err)
	}
	program := exec.Command(node, "typescript/codec.mjs", stateFile)
	program.Stderr = os.Stderr
	orders, err := program.StdinPipe()
	require.NoError(b, err)
	answers, err := program.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, program.Start())
	b.Cleanup(func() {
		orders.Close()
		require.NoError(b, program.Wait())
	})
	c := &typeScript{orders: orders, answers: bufio.NewScanner(answers)}
	c.expect(b, "ready")
	return c
}

// roundTrips seals and opens the state n times.
func (c *typeScript) roundTrips(b *testing.B, n int) {
	_, err := fmt.Fprintln(c.orders, n)
	require.NoError(b, err)
	c.expect(b, fmt.Sprintf("done %d", n))
}

func (c *typeScript) expect(b *testing.B, line string) {
	require.True(b, c.answers.Scan(), "the codec under Node ended")
	require.Equal(b, line, c.answers.Text())
}

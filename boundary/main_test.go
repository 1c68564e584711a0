package boundary_test

import (
	"fmt"
	"os"
	"testing"
)

// TestMain lets the test binary run as other processes too: a server over stdio, and
// one process for each fault that is not caught.
func TestMain(m *testing.M) {
	if os.Getenv(serveVariable) != "" {
		if err := serveStdio(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if kind := os.Getenv(deathVariable); kind != "" {
		dieWithBoundary(kind)
		return
	}
	os.Exit(m.Run())
}

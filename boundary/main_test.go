package boundary_test

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

// thorough, as in CI, tries more of the same: both eras where one shows the point, and
// larger attacks.
var thorough = os.Getenv("MRTR_CI") == "1"

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
	// Most cases wait for a deadline, so that many can run side by side, whatever the
	// number of processors.
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

package probe_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain lets many cases run side by side, whatever the number of processors:
// nearly all of them wait for a server that says nothing.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

package interop_test

import (
	"fmt"
	"os"
	"testing"
)

// A stdio client starts its server itself, so the wiretap there is this very
// program, started again by the client.
const tapCommand = "tap"

func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == tapCommand {
		if err := relayStdio(os.Args[2], os.Args[3:]); err != nil {
			fmt.Fprintln(os.Stderr, "tap:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

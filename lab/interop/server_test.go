package interop_test

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/mrtr-go/sdk/lab/fleet"
)

// buildServer compiles the command in a folder, by its own module, and returns the program.
func buildServer(t *testing.T, folder string) string { return fleet.Build(t, folder) }

// buildTest compiles the tests in a folder, which can serve too.
func buildTest(t *testing.T, folder string) string { return fleet.Build(t, folder, "test", "-c") }

// serveHTTP starts the program on a free port and returns its base URL. MRTR_STOCK_FRONT=1
// has go-sdk's HTTP layer serve every request.
func serveHTTP(t *testing.T, program string) string {
	t.Helper()
	args := []string{"serve", "-http", "127.0.0.1:0"}
	if os.Getenv("MRTR_STOCK_FRONT") == "1" {
		args = append(args, "-stock-front")
	}
	return fleet.Listen(t, exec.Command(program, args...))
}

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

package boundary_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/judge"
)

// thorough, as in CI, tries more of the same.
var thorough = os.Getenv("MRTR_NIGHTLY") == "1"

// TestMain lets the test binary run as a server too.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // go-sdk leaves 32 KiB of garbage for each message
	if os.Getenv(serveVariable) == "" {
		os.Exit(m.Run())
	}
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serveVariable makes this test binary serve the misbehaving tools over HTTP, to clients in other
// languages. The tests of interop set it.
const serveVariable = "BOUNDARY_TEST_SERVE"

// expectation is the part of a case that such a client needs.
type expectation struct {
	Place    string
	Name     string
	Unlawful bool // no client library sends such arguments
	Outcomes map[judge.Era]judge.Outcome
}

// serve serves each era under its own path until its input ends, and the outcome that each call
// must have under /cases. It prints its address.
func serve() error {
	cases := badTools()
	server := misbehavingServer(cases)
	if err := boundary.Install(server, &boundary.Options{Logger: silent, MaxResultBytes: maxResultBytes}); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	for path, stateless := range map[string]bool{"/modern/mcp": true, "/legacy/mcp": false} {
		mux.Handle(path, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: stateless}))
	}
	mux.HandleFunc("/cases", func(w http.ResponseWriter, _ *http.Request) {
		var all []expectation
		for _, c := range cases {
			if strings.HasPrefix(c.name, "asks_") {
				continue // a client that can be asked gets another answer
			}
			all = append(all, expectation{string(atTool), c.name, c.args != "", map[judge.Era]judge.Outcome{judge.Modern: c.want, judge.Legacy: c.want}})
		}
		_ = json.NewEncoder(w).Encode(all)
	})
	fmt.Printf("listening on http://%s\n", listener.Addr())
	go func() {
		fmt.Fprintln(os.Stderr, http.Serve(listener, mux))
		os.Exit(1)
	}()
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

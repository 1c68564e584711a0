package boundary_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/judge"
)

// thorough, as in CI, tries more of the same.
var thorough = os.Getenv("MRTR_NIGHTLY") == "1"

// TestMain lets the test binary run as other processes too: a server, and
// one process for each fault that is not caught.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // go-sdk leaves 32 KiB of garbage for each message
	switch {
	case os.Getenv(serveVariable) != "":
		if err := serve(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case os.Getenv(deathVariable) != "":
		dieWithBoundary(os.Getenv(deathVariable))
	default:
		os.Exit(m.Run())
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

// deathVariable makes this test binary die in the way that its value names.
const deathVariable = "BOUNDARY_TEST_DEATH"

// deaths are ways to end the process that the package text lists as not caught, with the
// runtime's last output. go-sdk reads the nil message for a legacy client on a goroutine of its
// own, before any middleware sees it.
var deaths = map[string]string{"goroutine": "panic: nobody above me", "exit": "", "nil message": "invalid memory address"}

// Some faults end the process in spite of a boundary. The test holds that the package
// text lists them.
func TestWhatNoLayerCatches(t *testing.T) {
	t.Parallel()
	for kind, trace := range deaths {
		cmd := exec.CommandContext(t.Context(), must(os.Executable())(t))
		cmd.Env = append(os.Environ(), deathVariable+"="+kind)
		output, err := cmd.CombinedOutput()
		require.Error(t, err, "the process lived: the documentation is too modest")
		require.Contains(t, string(output), trace)
	}
}

// dieWithBoundary calls a tool that kills this process.
func dieWithBoundary(kind string) {
	server := newServer()
	server.AddTool(&mcp.Tool{Name: "t", InputSchema: json.RawMessage(`{"type":"object"}`)}, makes(func() *mcp.CallToolResult {
		switch kind {
		case "exit":
			os.Exit(3)
		case "goroutine":
			go func() { panic("nobody above me") }()
			select {}
		}
		return asks(&mcp.CreateMessageParams{Messages: []*mcp.SamplingMessage{nil}})
	}))
	if err := boundary.Install(server, &boundary.Options{Logger: quiet}); err != nil {
		panic(err)
	}
	client, _, err := openMemory(context.Background(), judge.Legacy, server)
	if err != nil {
		panic(err)
	}
	_, _ = client.Exchange(context.Background(), requestAt(atTool, client))
}

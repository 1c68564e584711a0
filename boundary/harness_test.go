package boundary_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
)

// quiet discards its records; silent is not enabled for any.
var (
	quiet  = slog.New(slog.NewTextHandler(io.Discard, nil))
	silent = slog.New(slog.DiscardHandler)
)

func newServer() *mcp.Server {
	return mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, &mcp.ServerOptions{Logger: quiet})
}

// connect installs a boundary and connects an in-memory client.
func connect(t *testing.T, s *mcp.Server, opts *boundary.Options) *mcp.ClientSession {
	t.Helper()
	if opts == nil {
		opts = &boundary.Options{Logger: silent}
	}
	require.NoError(t, boundary.Install(s, opts))
	return dial(t, s)
}

// serving is connect for a server with one tool, whose name is "t".
func serving[In, Out any](t *testing.T, opts *boundary.Options, f mcp.ToolHandlerFor[In, Out]) *mcp.ClientSession {
	t.Helper()
	s := newServer()
	mcp.AddTool(s, &mcp.Tool{Name: "t"}, f)
	return connect(t, s, opts)
}

// dial connects a client to a server that has its boundary.
func dial(t *testing.T, s *mcp.Server) *mcp.ClientSession { return named(t, s, "Some Agent") }

// named is dial for a client of this name.
func named(t *testing.T, s *mcp.Server, name string) *mcp.ClientSession {
	t.Helper()
	return dialAs(t, s, name, "", nil)
}

// dialAs connects a client of this name in a revision, the newest if it is empty.
func dialAs(t *testing.T, s *mcp.Server, name, revision string, opts *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	there, here := mcp.NewInMemoryTransports()
	server := must(s.Connect(t.Context(), there, nil))(t)
	session, err := mcp.NewClient(&mcp.Implementation{Name: name, Version: "1"}, opts).
		Connect(t.Context(), here, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	require.NoError(t, err)
	t.Cleanup(func() { session.Close(); server.Wait() })
	return session
}

func callTool(t *testing.T, s *mcp.ClientSession, name string, args any) (*mcp.CallToolResult, boundary.Report) {
	t.Helper()
	res := must(s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args}))(t)
	report, ok := boundary.ReportOf(res)
	require.True(t, ok, "the boundary says nothing of the result")
	require.Equal(t, name, report.Tool)
	require.NotEmpty(t, report.RequestID)
	return res, report
}

func texts(res *mcp.CallToolResult) []string {
	var all []string
	for _, block := range res.Content {
		if text, ok := block.(*mcp.TextContent); ok {
			all = append(all, text.Text)
		}
	}
	return all
}

// A journal keeps log records as JSON.
type journal struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.Write(p)
}

func (j *journal) logger() *slog.Logger {
	return slog.New(boundary.LogHandler(slog.NewJSONHandler(j, nil)))
}

func (j *journal) records(t *testing.T) []map[string]any {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	var all []map[string]any
	for dec := json.NewDecoder(bytes.NewReader(j.buf.Bytes())); dec.More(); {
		var r map[string]any
		require.NoError(t, dec.Decode(&r))
		all = append(all, r)
	}
	return all
}

// addFailing adds a tool that raises err.
func addFailing(s *mcp.Server, tool *mcp.Tool, err error) {
	mcp.AddTool(s, tool, func(context.Context, *mcp.CallToolRequest, input) (*mcp.CallToolResult, any, error) {
		return nil, nil, err
	})
}

// must is the value of a call that must not fail: must(f())(t).
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		require.NoError(t, err)
		return v
	}
}

package boundary_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/judge"
	"github.com/mrtr-go/sdk/internal/wire"
)

var silent = slog.New(slog.DiscardHandler)

func newServer() *mcp.Server {
	return mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, &mcp.ServerOptions{Logger: silent})
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
func dial(t *testing.T, s *mcp.Server) *mcp.ClientSession {
	t.Helper()
	return dialAs(t, s, "Some Agent", "", nil)
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

// take returns the records since the last time.
func (j *journal) take(t *testing.T) (all []map[string]any) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	for dec := json.NewDecoder(&j.buf); dec.More(); {
		var r map[string]any
		require.NoError(t, dec.Decode(&r))
		all = append(all, r)
	}
	return all
}

var eras = []judge.Era{judge.Modern, judge.Legacy}

// speak connects a raw client of the era. With options it installs a boundary first.
func speak(t *testing.T, era judge.Era, s *mcp.Server, opts *boundary.Options) *wire.Client {
	t.Helper()
	if opts != nil {
		require.NoError(t, boundary.Install(s, opts))
	}
	there, here := mcp.NewInMemoryTransports()
	session := must(s.Connect(t.Context(), there, nil))(t)
	client := must(wire.Dial(t.Context(), here, era.Client()))(t)
	t.Cleanup(func() { client.Close(); session.Close() })
	return client
}

// say makes a request that is answered.
func say(t *testing.T, client *wire.Client, request wire.Request) *jsonrpc.Response {
	t.Helper()
	return must(client.Exchange(t.Context(), request))(t)
}

// around puts middleware around a server.
func around(s *mcp.Server, handle func(ctx context.Context, next mcp.MethodHandler, method string, req mcp.Request) (mcp.Result, error)) {
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			return handle(ctx, next, method, req)
		}
	})
}

// addRaw adds a raw tool that takes any arguments.
func addRaw(s *mcp.Server, name string, h mcp.ToolHandler) {
	s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, h)
}

// completing is a request for completions of an argument.
func completing(client *wire.Client, argument string) wire.Request {
	return wire.Request{Method: "completion/complete", Params: map[string]any{
		"_meta": client.Meta(), "ref": map[string]any{"type": "ref/prompt", "name": "p"}, "argument": map[string]any{"name": argument, "value": "v"}}}
}

// addFailing adds a tool that raises err.
func addFailing(s *mcp.Server, tool *mcp.Tool, err error) { mcp.AddTool(s, tool, raises(err)) }

// must is the value of a call that must not fail: must(f())(t).
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		require.NoError(t, err)
		return v
	}
}

// input is the input of the typed tools.
type input struct {
	Place string `json:"place,omitempty"`
	Days  int    `json:"days,omitempty"`
}

// celsius is an output schema that is easily broken.
var celsius = &jsonschema.Schema{
	Type:       "object",
	Properties: map[string]*jsonschema.Schema{"celsius": {Type: "number"}, "note": {Type: "string"}},
	Required:   []string{"celsius"},
}

func fails(err error) mcp.ToolHandler {
	return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, err }
}

func raises(err error) mcp.ToolHandlerFor[input, any] { return typed(fails(err)) }

// typed makes a typed handler of a raw one.
func typed(h mcp.ToolHandler) mcp.ToolHandlerFor[input, any] {
	return func(ctx context.Context, req *mcp.CallToolRequest, _ input) (*mcp.CallToolResult, any, error) {
		res, err := h(ctx, req)
		return res, nil, err
	}
}

// makes makes its result anew for each call.
func makes(f func() *mcp.CallToolResult) mcp.ToolHandler {
	return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return f(), nil }
}

// returns makes a handler that returns a copy of res, since go-sdk writes to it.
func returns(res *mcp.CallToolResult) mcp.ToolHandler {
	return makes(func() *mcp.CallToolResult { copied := *res; return &copied })
}

// outputs makes a typed handler whose output is v.
func outputs(v any) mcp.ToolHandlerFor[input, any] {
	return func(context.Context, *mcp.CallToolRequest, input) (*mcp.CallToolResult, any, error) {
		return nil, v, nil
	}
}

// panics makes a handler that panics with v.
func panics(v any) mcp.ToolHandler { return makes(func() *mcp.CallToolResult { panic(v) }) }

var exits = makes(func() *mcp.CallToolResult { runtime.Goexit(); return nil })

// text is a result of one text block.
func text(s string) *mcp.CallToolResult { return content(&mcp.TextContent{Text: s}) }

// content is a result of these blocks.
func content(blocks ...mcp.Content) *mcp.CallToolResult { return &mcp.CallToolResult{Content: blocks} }

// structured is a result with structured content.
func structured(v any) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "see the structured content"}}, StructuredContent: v}
}

// asks is a result that asks a question.
func asks(q mcp.InputRequest) *mcp.CallToolResult {
	return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"q": q}}
}

type marshaler func() ([]byte, error)

func (m marshaler) MarshalJSON() ([]byte, error) { return m() }

// foreign is a content block of a type outside go-sdk.
type foreign struct {
	*mcp.TextContent
	marshal func() ([]byte, error)
}

func (f foreign) MarshalJSON() ([]byte, error) { return f.marshal() }

// second is f until it has been called once, and panics then.
func second(f func() string) func() string {
	var calls atomic.Int64
	return func() string {
		if calls.Add(1) > 1 {
			panic("s3cret: called a second time")
		}
		return f()
	}
}

// twice marshals to the text once, and panics the second time.
func twice(text string) marshaler {
	once := second(func() string { return text })
	return func() ([]byte, error) { return []byte(once()), nil }
}

func cyclicMap() map[string]any {
	m := map[string]any{}
	m["self"] = m
	return m
}

// saying is an error with this Error method.
type saying func() string

func (s saying) Error() string { return s() }

// endless is an error that unwraps to itself. Code that walks its chain to the end
// takes a million steps and then sleeps.
type endless struct {
	turns   atomic.Int64
	release <-chan struct{}
}

func (e *endless) Error() string { return "round and round" }

func (e *endless) Unwrap() error {
	if e.turns.Add(1) > 1e6 {
		<-e.release
	}
	return e
}

// declined implements the methods as a package that does not import boundary.
type declined struct{ key string }

func (d *declined) Error() string           { return `Stopped: "` + d.key + `" was declined.` }
func (d *declined) ToolErrorType() string   { return "declined" }
func (d *declined) ToolErrorExpected() bool { return true }
func (d *declined) ToolErrorQuiet() bool    { return true }

type noPlace struct{}

func (noPlace) Error() string                         { return "There is no such place." }
func (noPlace) ToolErrorType() string                 { return "not_found" }
func (noPlace) ToolErrorExpected() bool               { return true }
func (noPlace) ToolErrorHints() []string              { return []string{"Use a full name."} }
func (noPlace) ToolErrorSelector() (string, []string) { return "location", []string{"Lisbon", "Tokyo"} }
func (noPlace) ToolErrorFields() map[string][]string {
	return map[string][]string{"/location": {"is not a known place"}}
}

type describedBadly struct{}

func (describedBadly) Error() string            { return "no" }
func (describedBadly) ToolErrorHints() []string { panic("s3cret") }

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
	mux := http.NewServeMux()
	for path, stateless := range map[string]bool{"/modern/mcp": true, "/legacy/mcp": false} {
		mux.Handle(path, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: stateless}))
	}
	mux.HandleFunc("/cases", func(w http.ResponseWriter, _ *http.Request) {
		var all []expectation
		for _, c := range cases {
			if !strings.HasPrefix(c.name, "asks_") { // where a client that can be asked gets another answer
				all = append(all, expectation{string(atTool), c.name, c.args != "", map[judge.Era]judge.Outcome{judge.Modern: c.want, judge.Legacy: c.want}})
			}
		}
		_ = json.NewEncoder(w).Encode(all)
	})
	fmt.Printf("listening on %s\n", httptest.NewServer(mux).URL)
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

package mcphttp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/transport/internal/message"
)

// A call that returns as soon as its request or the server ends has the cause of that end,
// though nobody has had the time to tell its context. One that begins later sees it at once.
func TestACallThatEndsAtOnceHasItsCause(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // no goroutine runs until this one waits
	for cause, end := range map[error]func(hangUp, shutDown context.CancelFunc){
		ErrHungUp:        func(hangUp, _ context.CancelFunc) { hangUp() },
		ErrShuttingDown:  func(_, shutDown context.CancelFunc) { shutDown() },
		context.Canceled: func(_, _ context.CancelFunc) {},
	} {
		request, hangUp := context.WithCancel(t.Context())
		over, shutDown := context.WithCancel(t.Context())
		why := func() error { return whyOver(request, over) }
		ctx, returned := endingWith(request, why, request, over)
		end(hangUp, shutDown)
		returned()
		require.Equal(t, cause, context.Cause(ctx))
		if cause != context.Canceled {
			ctx, returned = endingWith(t.Context(), why, request, over)
			require.Equal(t, cause, context.Cause(ctx))
			returned()
		}
		hangUp()
		shutDown()
	}
	server := &counting{Context: context.Background()} // which lives for long
	_, returned := endingWith(t.Context(), func() error { return nil }, server)
	require.Equal(t, 1, server.hooks)
	returned()
	require.Zero(t, server.hooks, "a request that is over leaves something behind")
}

// counting counts what would be done at its end.
type counting struct {
	context.Context
	hooks int
}

func (c *counting) Done() <-chan struct{} { return make(chan struct{}) }

func (c *counting) AfterFunc(func()) (stop func() bool) {
	c.hooks++
	return func() bool { c.hooks--; return true }
}

// A message that go-sdk answers is a call, and routing must have counted it as
// one: a call that it does not know of would escape the drain and outlive its
// client. go-sdk must not have run a message that routing refuses.
func FuzzPeek(f *testing.F) {
	const modern = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":{` + modern + `}}`, `{"jsonrpc":"2.0","id":1,"method":"ping","params":{` + modern + `},"Params":{}}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":{` + modern + `,"_Meta":{"io.modelcontextprotocol/protocolVersion":""}}}`,
		`{"jsonrpc":"2.0","id":"x","method":"ping"}`, `{"jsonrpc":"2.0","id":1,"method":"ping","Method":""}`, `{"jsonrpc":"2.0","id":1,"method":"ping","METHOD":5}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping","ID":null}`, `{"jsonrpc":"2.0","id":1,"id":2,"method":"","method":"ping"}`, `{"jsonrpc":"2.0","id":1.5,"m\u0065thod":"ping"}`,
		`{"jsonrpc":"2.0","id":1e19,"method":"ping"}`, `{"jsonrpc":"2.0","method":"ping","params":null}`, `{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}`,
		`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping","Method":""}]`, `[{"jsonrpc":"2.0","id":1,"method":"ping"},0]`,
		`[{},[],null]`, `[]`, ` `, `null`, `[{"jsonrpc":"2.0","id":1,"method":"ping"} {"jsonrpc":"2.0","id":2,"method":"ping"}]`, `[{"jsonrpc":"2.0","id":1,"method":"ping"},]`,
		`{"jsonrpc":"2.0","id":0,"method":"ping"}0`, "\f{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"ping\"}",
	} {
		f.Add(body)
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	f.Fuzz(func(t *testing.T, body string) {
		messages, err := split([]byte(body))
		var found contents
		if err == nil {
			found, err = peek(messages)
		}
		known := map[any]bool{}
		for _, id := range found.calls {
			known[id.Raw()] = true
		}
		if err != nil || slices.ContainsFunc(messages, func(m json.RawMessage) bool { return message.Refusal(m) != nil }) {
			return // it does not come so far
		}
		for _, id := range answeredBySDK(t, server, body) {
			require.True(t, known[id.Raw()], "%v ran unseen", id.Raw())
			require.False(t, found.modern, "modern, and yet a session ran it")
		}
	})
}

// answeredBySDK posts a body into a new session of revision 2025-03-26, the one that
// knows batches, and gives the ids that go-sdk answers.
func answeredBySDK(t *testing.T, server *mcp.Server, body string) (ids []jsonrpc.ID) {
	transport := &mcp.StreamableServerTransport{SessionID: "s"}
	session, err := server.Connect(t.Context(), transport, &mcp.ServerSessionOptions{State: &mcp.ServerSessionState{
		InitializeParams:  &mcp.InitializeParams{ProtocolVersion: "2025-03-26"},
		InitializedParams: &mcp.InitializedParams{},
	}})
	require.NoError(t, err)
	defer session.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second) // of what never ends of itself
	defer cancel()
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	w := httptest.NewRecorder()
	transport.ServeHTTP(w, r)
	for line := range bytes.Lines(w.Body.Bytes()) {
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			message, err := jsonrpc.DecodeMessage(data)
			require.NoError(t, err)
			if res, ok := message.(*jsonrpc.Response); ok {
				ids = append(ids, res.ID)
			}
		}
	}
	return ids
}

// Limits replace those of [usual] that are not zero.
type Limits struct {
	Initialize                          int64
	Sessions, SessionsOfOne, CallsOfOne int
	Silence, Body, Write, Heartbeat     time.Duration
}

// NewLimited is [NewHandler] with other limits.
func NewLimited(getServer func(*http.Request) *mcp.Server, opts *HandlerOptions, l Limits) (*Handler, error) {
	return newHandler(getServer, opts, limits{
		cmp.Or(l.Initialize, usual.initialize), cmp.Or(l.Sessions, usual.sessions), cmp.Or(l.SessionsOfOne, usual.sessionsOfOne), cmp.Or(l.CallsOfOne, usual.callsOfOne),
		cmp.Or(l.Silence, usual.silence), cmp.Or(l.Body, usual.body), cmp.Or(l.Write, usual.write), cmp.Or(l.Heartbeat, usual.heartbeat),
	})
}

// NewRouterOver is [NewRouter] over another network.
func NewRouterOver(network http.RoundTripper, instances map[string]*url.URL, opts *RouterOptions) (*Router, error) {
	return newRouter(instances, opts, network)
}

// OpenSessions counts the legacy sessions that a handler would close.
func OpenSessions(h *Handler) int {
	h.sessions.mu.Lock()
	defer h.sessions.mu.Unlock()
	return len(h.sessions.open)
}

// SessionOf is the id of the one session that is open.
func SessionOf(h *Handler) string {
	h.sessions.mu.Lock()
	defer h.sessions.mu.Unlock()
	for id := range h.sessions.open {
		return id
	}
	return ""
}

// LeanCalls counts the calls that went past go-sdk's HTTP layer.
func LeanCalls(h *Handler) uint64 { return h.lean.Taken() }

// Posts counts those of sessions whose handlers run.
func Posts() (n int) {
	life.posts.Range(func(any, any) bool { n++; return true })
	return n
}

package gosdk_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/lab/fleet"
)

// faultsOfGoSDK are the reproductions of docs/go-sdk.md, by the names it gives
// them. Each uses go-sdk alone, and reports whether the fault is still there.
var faultsOfGoSDK = map[string]func(t *testing.T) bool{
	"name-in-base64":                 nameInBase64,
	"undecodable-params":             undecodableParams,
	"repeated-members":               repeatedMembers,
	"disagreeing-headers":            disagreeingHeaders,
	"last-event-id":                  lastEventID,
	"altered-ids":                    alteredIDs,
	"delete-waits":                   deleteWaits,
	"hang-up-is-not-noticed":         hangUpIsNotNoticed,
	"altered-arguments":              alteredArguments,
	"null-arguments":                 nullArguments,
	"deep-values":                    deepValues,
	"id-reused-in-flight":            idReusedInFlight,
	"garbage-ends-stdio":             garbageEndsStdio,
	"token-of-initialize":            tokenOfInitialize,
	"subscriptions-outlive-sessions": subscriptionsOutliveSessions,
	"any-log-level":                  anyLogLevel,
	"cancelled-call-answered":        cancelledCallAnswered,
	"unknown-method-as-text":         unknownMethodAsText,
	"any-progress-token":             anyProgressToken,
	"keep-alive-loses-answers":       keepAliveLosesAnswers,
	"shared-results":                 sharedResults,
	"errors-without-code":            errorsWithoutCode,
	"decoder-buffer":                 decoderBuffer,
}

// Every fault that docs/go-sdk.md lists has a reproduction that shows it. When a
// release of go-sdk fixes one this test fails: the fault is struck from the page,
// and so is whatever stands in front of it.
func TestFaultsOfGoSDK(t *testing.T) {
	page := fleet.Must(os.ReadFile("../../docs/go-sdk.md"))(t)
	var listed []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z0-9-]+)` \\|").FindAllStringSubmatch(string(page), -1) {
		listed = append(listed, row[1])
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(faultsOfGoSDK)), listed, "what docs/go-sdk.md lists, and what is reproduced")
	for name, shows := range faultsOfGoSDK {
		t.Run(name, func(t *testing.T) {
			require.True(t, shows(t), "go-sdk has fixed this one: strike it from docs/go-sdk.md, and remove what fixes it here")
		})
	}
}

const metaOfModern = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// callOfTool is a modern call of the tool "tool". extra are members of its
// params, each with a comma after it.
func callOfTool(id, extra string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"tool",` + extra + metaOfModern + `}}`
}

// gosdkServer has the tool "tool", with go-sdk around it and nothing else.
func gosdkServer(h mcp.ToolHandler) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, &mcp.ServerOptions{Logger: slog.New(slog.DiscardHandler)})
	server.AddTool(&mcp.Tool{Name: "tool", InputSchema: map[string]any{"type": "object"}}, h)
	return server
}

func ran(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ran"}}}, nil
}

// gosdkHTTP serves server on a loopback port.
func gosdkHTTP(t *testing.T, server *mcp.Server, stateless bool) string {
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: stateless}))
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	return web.URL
}

// exchange makes one HTTP request, with pairs of header names and values.
func exchange(ctx context.Context, method, url, body string, headers ...string) (status int, header http.Header, text string) {
	res, text, err := fleet.Request(ctx, http.DefaultClient, method, url, body, headers...)
	if res == nil {
		return 0, nil, err.Error()
	}
	return res.StatusCode, res.Header, text
}

// modernPOST calls the tool of a stateless server, with the right headers and
// further ones.
func modernPOST(t *testing.T, body, name string, more ...string) (status int, text string) {
	headers := append([]string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", name}, more...)
	status, _, text = exchange(t.Context(), http.MethodPost, gosdkHTTP(t, gosdkServer(ran), true), body, headers...)
	return status, text
}

func nameInBase64(t *testing.T) bool {
	status, text := modernPOST(t, callOfTool("1", ""), "=?base64?dG9vbA==?=")
	return status == http.StatusBadRequest && strings.Contains(text, "-32020")
}

func undecodableParams(t *testing.T) bool {
	status, text := modernPOST(t, callOfTool("1", `"inputResponses":{"a":{"of":"no known kind"}},`), "tool")
	return status == http.StatusBadRequest && strings.Contains(text, "-32020")
}

func disagreeingHeaders(t *testing.T) bool {
	status, text := modernPOST(t, callOfTool("1", ""), "tool", "Mcp-Name", "other", "Mcp-Method", "ping", "Mcp-Protocol-Version", "2025-11-25")
	return status == http.StatusOK && strings.Contains(text, "ran")
}

func repeatedMembers(t *testing.T) bool {
	var got mcp.InputResponseMap
	server := gosdkServer(func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		got = req.Params.InputResponses
		return ran(ctx, req)
	})
	write, read := overLines(t, server)
	write(callOfTool("1", `"inputResponses":{"a":{"action":"decline","action":"accept","content":{"sum":10,"sum":1000}}},`))
	if !strings.Contains(read(), "ran") {
		return false
	}
	answer, ok := got["a"].(*mcp.ElicitResult)
	return ok && answer.Action == "accept" && answer.Content["sum"] == 1000.0
}

func unknownMethodAsText(t *testing.T) bool {
	url := gosdkHTTP(t, gosdkServer(ran), false)
	_, header, _ := exchange(t.Context(), http.MethodPost, url, opensSession)
	status, refused, _ := exchange(t.Context(), http.MethodPost, url, `{"jsonrpc":"2.0","id":2,"method":"no/such"}`, "Mcp-Session-Id", header.Get("Mcp-Session-Id"))
	return status == http.StatusBadRequest && strings.HasPrefix(refused.Get("Content-Type"), "text/plain")
}

func anyProgressToken(t *testing.T) bool {
	write, read := overLines(t, gosdkServer(func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: 1})
		return ran(ctx, req)
	}))
	write(strings.Replace(callOfTool("1", ""), `"_meta":{`, `"_meta":{"progressToken":{"a":1},`, 1))
	return strings.Contains(read(), `"progressToken":{"a":1}`)
}

// keepAliveLosesAnswers calls a tool that returns when the server has closed the session,
// over HTTP and over lines.
func keepAliveLosesAnswers(t *testing.T) bool {
	server := func() *mcp.Server {
		closing := &closings{closed: make(chan struct{})}
		s := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, &mcp.ServerOptions{KeepAlive: 20 * time.Millisecond, Logger: slog.New(closing)})
		s.AddTool(&mcp.Tool{Name: "tool", InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			select {
			case <-closing.closed:
				time.Sleep(100 * time.Millisecond) // it is said before it is done
			case <-time.After(2 * time.Second):
			}
			return ran(ctx, req)
		})
		return s
	}
	_, _, overHTTP := exchange(t.Context(), http.MethodPost, gosdkHTTP(t, server(), true), callOfTool("1", ""),
		"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "tool")
	write, read := overLines(t, server())
	write(callOfTool("1", ""))
	line := read()
	for strings.Contains(line, `"ping"`) {
		line = read()
	}
	return !strings.Contains(overHTTP, "ran") && !strings.Contains(line, "ran")
}

// closings is a log that notices when a session is closed for want of a ping's answer.
type closings struct {
	slog.Handler
	once   sync.Once
	closed chan struct{}
}

func (c *closings) Enabled(context.Context, slog.Level) bool { return true }

func (c *closings) Handle(_ context.Context, r slog.Record) error {
	if strings.Contains(r.Message, "keepalive ping failed") {
		c.once.Do(func() { close(c.closed) })
	}
	return nil
}

func lastEventID(t *testing.T) bool {
	status, text := modernPOST(t, callOfTool("1", ""), "tool", "Last-Event-ID", "x_1")
	return status == http.StatusBadRequest && strings.Contains(text, "Last-Event-ID")
}

func alteredIDs(t *testing.T) bool {
	_, large := modernPOST(t, callOfTool("9007199254740993", ""), "tool")
	_, fraction := modernPOST(t, callOfTool("1.5", ""), "tool")
	return strings.Contains(large, `"id":9007199254740992,`) && strings.Contains(fraction, `"id":1,`)
}

const (
	opensSession  = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"x","version":"1"},"capabilities":{}}}`
	callInSession = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"tool","arguments":{}}}`
)

// waitingInSession opens a session and makes a call whose handler waits for its
// context, or for release.
func waitingInSession(ctx context.Context, t *testing.T) (url, session string, ended <-chan error, release func()) {
	began, over, let := make(chan struct{}), make(chan error, 1), make(chan struct{})
	url = gosdkHTTP(t, gosdkServer(func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		close(began)
		select {
		case <-ctx.Done():
		case <-let:
		}
		over <- ctx.Err()
		return ran(ctx, req)
	}), false)
	_, header, _ := exchange(t.Context(), http.MethodPost, url, opensSession)
	session = header.Get("Mcp-Session-Id")
	go exchange(ctx, http.MethodPost, url, callInSession, "Mcp-Session-Id", session)
	<-began
	return url, session, over, func() { close(let) }
}

func deleteWaits(t *testing.T) bool {
	url, session, ended, release := waitingInSession(t.Context(), t)
	deleted := make(chan struct{})
	go func() {
		defer close(deleted)
		exchange(t.Context(), http.MethodDelete, url, "", "Mcp-Session-Id", session)
	}()
	waited := false
	select {
	case <-deleted:
	case <-time.After(300 * time.Millisecond):
		waited = true
	}
	release()
	<-deleted
	return waited && <-ended == nil
}

func hangUpIsNotNoticed(t *testing.T) bool {
	ctx, hangUp := context.WithCancel(t.Context())
	_, _, ended, release := waitingInSession(ctx, t)
	hangUp()
	select {
	case <-ended:
		return false
	case <-time.After(300 * time.Millisecond):
		release()
		return <-ended == nil
	}
}

// nullArguments has a process of its own, which the fault ends.
func nullArguments(t *testing.T) bool {
	if os.Getenv("MRTR_NULL_ARGUMENTS") == "" {
		child := exec.Command(os.Args[0], "-test.run=^TestFaultsOfGoSDK$/^null-arguments$")
		child.Env = append(os.Environ(), "MRTR_NULL_ARGUMENTS=1")
		output, err := child.CombinedOutput()
		return err != nil && strings.Contains(string(output), "panic: assignment to entry in nil map")
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	schema := json.RawMessage(`{"type":"object","properties":{"b":{"default":1}}}`)
	mcp.AddTool(server, &mcp.Tool{Name: "tool", InputSchema: schema}, func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, any, error) {
		return nil, nil, nil
	})
	write, read := overLines(t, server)
	write(callOfTool("1", `"arguments":null,`))
	read()
	return false
}

// deepValues compares two messages of one size with the better of several turns each.
func deepValues(t *testing.T) bool {
	write, read := overLines(t, gosdkServer(ran))
	const size = 32 << 10
	took := func(depth int) time.Duration {
		best := time.Hour
		message := strings.Replace(callOfTool("1", ""), `"_meta":{`, `"_meta":{"x":`+strings.Repeat("[", depth)+strings.Repeat("0,", size/2)+"0"+strings.Repeat("]", depth)+`,`, 1)
		for range 3 {
			began := time.Now()
			write(message)
			require.Contains(t, read(), "ran")
			best = min(best, time.Since(began))
		}
		return best
	}
	return took(400) > 4*took(1)
}

func alteredArguments(t *testing.T) bool {
	type arguments struct {
		N int64 `json:"n"`
	}
	var got int64
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "tool"}, func(_ context.Context, _ *mcp.CallToolRequest, in arguments) (*mcp.CallToolResult, any, error) {
		got = in.N
		return nil, nil, nil
	})
	write, read := overLines(t, server)
	write(callOfTool("1", `"arguments":{"n":9007199254740993},`))
	return strings.Contains(read(), `"id":1`) && got == 9007199254740992
}

// overLines serves over newline-delimited JSON, as stdio does.
func overLines(t *testing.T, server *mcp.Server) (write func(string), read func() string) {
	return fleet.Lines(t, func(in io.ReadCloser, out io.WriteCloser) {
		_ = server.Run(t.Context(), &mcp.IOTransport{Reader: in, Writer: out})
	})
}

func idReusedInFlight(t *testing.T) bool {
	began, release := make(chan struct{}, 2), make(chan struct{})
	write, read := overLines(t, gosdkServer(func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		began <- struct{}{}
		<-release
		return ran(ctx, req)
	}))
	write(callOfTool("1", ""))
	<-began
	write(callOfTool("1", ""))
	write(callOfTool("2", "")) // the server has seen the second by then
	<-began
	close(release)
	answers := map[bool]int{}
	for range 2 {
		answers[strings.Contains(read(), `"id":1`)]++
	}
	return answers[true] == 1 && answers[false] == 1 // one for 1, one for 2, and none says that the other was refused
}

func garbageEndsStdio(t *testing.T) bool {
	write, read := overLines(t, gosdkServer(ran))
	write(callOfTool("1", ""))
	served := strings.Contains(read(), "ran")
	write("this is not JSON")
	write(callOfTool("2", ""))
	return served && !strings.Contains(read(), "ran")
}

func tokenOfInitialize(t *testing.T) bool {
	var inContext, inExtra string
	server := gosdkServer(func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		inContext = fmt.Sprint(auth.TokenInfoFromContext(ctx).Extra["token"])
		inExtra = fmt.Sprint(req.Extra.TokenInfo.Extra["token"])
		return ran(ctx, req)
	})
	verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		return &auth.TokenInfo{UserID: "ada", Expiration: time.Now().Add(time.Hour), Extra: map[string]any{"token": token}}, nil
	}
	web := httptest.NewServer(auth.RequireBearerToken(verify, nil)(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)))
	defer web.Close()
	_, header, _ := exchange(t.Context(), http.MethodPost, web.URL, opensSession, "Authorization", "Bearer first")
	session := header.Get("Mcp-Session-Id")
	exchange(t.Context(), http.MethodPost, web.URL, callInSession, "Mcp-Session-Id", session, "Authorization", "Bearer second")
	exchange(t.Context(), http.MethodDelete, web.URL, "", "Mcp-Session-Id", session, "Authorization", "Bearer second")
	return inContext == "first" && inExtra == "second"
}

// What sessions were subscribed to takes memory when all of them have ended.
func subscriptionsOutliveSessions(t *testing.T) bool {
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, &mcp.ServerOptions{
		Logger:             slog.New(slog.DiscardHandler),
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	const sessions, size = 16, 1 << 20
	held := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := held()
	for i := range sessions {
		there, here := mcp.NewInMemoryTransports()
		session := fleet.Must(server.Connect(t.Context(), there, nil))(t)
		client := fleet.Must(mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil).Connect(t.Context(), here, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"}))(t)
		require.NoError(t, client.Subscribe(t.Context(), &mcp.SubscribeParams{URI: fmt.Sprint("test://", i, strings.Repeat("x", size))}))
		require.NoError(t, client.Close())
		_ = session.Wait()
	}
	after := held()
	runtime.KeepAlive(server)
	return after > before+sessions*size/2
}

func anyLogLevel(t *testing.T) bool {
	write, read := overLines(t, gosdkServer(ran))
	write(opensSession)
	read()
	write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	write(`{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"banana"}}`)
	return strings.Contains(read(), `"result"`)
}

func cancelledCallAnswered(t *testing.T) bool {
	began := make(chan struct{})
	write, read := overLines(t, gosdkServer(func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		close(began)
		<-ctx.Done()
		return ran(ctx, req)
	}))
	write(callOfTool("1", ""))
	<-began
	write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	return strings.Contains(read(), `"id":1`)
}

func errorsWithoutCode(t *testing.T) bool {
	write, read := overLines(t, gosdkServer(ran))
	for _, message := range []string{
		`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}`,
		`{"jsonrpc":"2.0","id":3,"method":"initialize","params":null}`,
		`{"jsonrpc":"2.0","id":4,"method":"notifications/cancelled","params":[]}`,
	} {
		if write(message); !strings.Contains(read(), `"error":{"code":0,`) {
			return false
		}
	}
	return true
}

// The server's name stands in the result that the handler keeps.
func sharedResults(t *testing.T) bool {
	kept := &mcp.CallToolResult{Meta: mcp.Meta{}}
	write, read := overLines(t, gosdkServer(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return kept, nil }))
	write(callOfTool("1", ""))
	return strings.Contains(read(), `"id":1`) && kept.Meta[mcp.MetaKeyServerInfo] != nil
}

// One message of a hundred bytes takes two buffers of 32 KiB.
func decoderBuffer(t *testing.T) bool {
	message := []byte(callInSession)
	var before, after runtime.MemStats
	const times = 100
	runtime.ReadMemStats(&before)
	for range times {
		fleet.Must(jsonrpc.DecodeMessage(message))(t)
	}
	runtime.ReadMemStats(&after)
	return (after.TotalAlloc-before.TotalAlloc)/times > 32<<10
}

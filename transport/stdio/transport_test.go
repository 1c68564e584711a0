package stdio_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/sse"
	"github.com/mrtr-go/sdk/transport/stdio"
)

const patience = 30 * time.Second

// client is the far end of a served connection, which reads and writes lines.
type client struct {
	t     *testing.T
	in    *io.PipeWriter
	out   chan string
	ended chan error
}

func serve(t *testing.T, server *mcp.Server, opts stdio.Options) *client {
	fromClient, in := io.Pipe()
	out, toClient := io.Pipe()
	opts.Reader, opts.Writer = fromClient, toClient
	transport, err := stdio.New(&opts)
	require.NoError(t, err)
	c := &client{t: t, in: in, out: make(chan string, 100), ended: make(chan error, 1)}
	go func() { c.ended <- server.Run(context.Background(), transport) }()
	go func() {
		defer close(c.out)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			c.out <- lines.Text()
		}
	}()
	t.Cleanup(func() {
		in.Close()
		select {
		case <-c.ended:
		case <-time.After(patience):
			t.Error("the server did not end with its input")
		}
	})
	return c
}

func (c *client) write(text string) {
	c.t.Helper()
	c.writeBytes([]byte(text))
}

func (c *client) writeBytes(text []byte) {
	c.t.Helper()
	written := make(chan error, 1)
	go func() {
		_, err := c.in.Write(text)
		written <- err
	}()
	select {
	case err := <-written:
		require.NoError(c.t, err)
	case <-time.After(patience):
		require.FailNow(c.t, "the server does not read")
	}
}

func (c *client) read() string {
	c.t.Helper()
	select {
	case line, ok := <-c.out:
		require.True(c.t, ok, "the server has ended")
		return line
	case <-time.After(patience):
		require.FailNow(c.t, "no line came")
		return ""
	}
}

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

func call(id, extra string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"tool","arguments":{},` + extra + meta + `}}` + "\n"
}

func newServer(h mcp.ToolHandler) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "tool", InputSchema: map[string]any{"type": "object"}}, h)
	return server
}

func ran(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ran"}}}, nil
}

// A line that is no message is answered, and ends neither the session nor the call
// that waits.
func TestGarbageEndsNothing(t *testing.T) {
	began, release := make(chan struct{}, 10), make(chan struct{})
	c := serve(t, newServer(func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		began <- struct{}{}
		select {
		case <-release:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		return ran(ctx, req)
	}), stdio.Options{MaxMessageBytes: 1000})
	c.write(call("1", ""))
	<-began
	cases := []struct {
		explanation, line string
		code              int
	}{
		{"words", "this is not JSON", -32700},
		{"half a message", `{"jsonrpc":"2.0","id":2,`, -32700},
		{"two messages", `{"jsonrpc":"2.0","method":"a"}{"jsonrpc":"2.0","method":"b"}`, -32700},
		{"bytes that are no text", "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"\xff\"}", -32700},
		{"zeros", "\x00\x00\x00", -32700},
		{"another value", `5`, -32600},
		{"null", `null`, -32600},
		{"a batch", `[{"jsonrpc":"2.0","id":2,"method":"ping"}]`, -32600},
		{"another protocol", `{"id":2,"method":"ping"}`, -32600},
		{"an id with a fraction", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, -32600},
		{"a line that is too long", `{"jsonrpc":"2.0","id":2,"method":"ping","x":"` + strings.Repeat("x", 1000) + `"}`, -32600},
		{"brackets without end", strings.Repeat("[", 900), -32700},
	}
	for _, tc := range cases {
		c.write(tc.line + "\n")
		answer := c.read()
		require.Contains(t, answer, fmt.Sprintf(`{"jsonrpc":"2.0","error":{"code":%d,`, tc.code), tc.explanation)
		require.NotContains(t, answer, `"id"`)
	}
	c.write("\n  \r\n\t\n") // no line at all
	close(release)
	require.Contains(t, c.read(), `"ran"`)
	c.write(call("2", "") + call("3", ""))
	require.ElementsMatch(t, []bool{true, true}, []bool{strings.Contains(c.read(), "ran"), strings.Contains(c.read(), "ran")})
}

// The last line counts without its end, too.
func TestALastLineWithoutAnEnd(t *testing.T) {
	c := serve(t, newServer(ran), stdio.Options{})
	c.write("garbage")
	require.NoError(t, c.in.Close())
	require.Contains(t, c.read(), "-32700")
}

// An id in flight is refused under that id, the call under it goes on, and the
// number of calls is bounded.
func TestCallsInFlightAreCapped(t *testing.T) {
	began, release := make(chan struct{}, 10), make(chan struct{})
	c := serve(t, newServer(func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		began <- struct{}{}
		select {
		case <-release:
		case <-ctx.Done():
		}
		return ran(ctx, req)
	}), stdio.Options{MaxCalls: 2})
	c.write(call("1", ""))
	<-began
	c.write(call("1", `"another":1,`))
	require.JSONEq(t, `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"a call with this id is in flight"}}`, c.read())
	c.write(call("2", ""))
	<-began
	c.write(call("3", ""))
	refused := c.read()
	require.Contains(t, refused, `"id":3`)
	require.Contains(t, refused, `-31000`)
	close(release)
	require.Contains(t, c.read(), `"ran"`)
	require.Contains(t, c.read(), `"ran"`)
	require.Len(t, began, 0)
	c.write(call("1", "")) // it is free again
	require.Contains(t, c.read(), `"ran"`)
}

// A call that arrives again while it is in flight gets the answer too, up to a bound, and
// its tool runs once.
func TestACallThatArrivesTwiceInFlightRunsOnce(t *testing.T) {
	began, release := make(chan struct{}, 10), make(chan struct{})
	c := serve(t, newServer(func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		began <- struct{}{}
		<-release
		return ran(ctx, req)
	}), stdio.Options{})
	for range 9 {
		c.write(call("1", ""))
	}
	<-began
	c.write(call("1", ""))
	require.Contains(t, c.read(), "in flight", "that is too often")
	close(release)
	for range 9 {
		require.Contains(t, c.read(), `"ran"`)
	}
	c.write(call("2", ""))
	require.Contains(t, c.read(), `"id":2`, "nothing follows the answers")
	require.Len(t, began, 1)
}

func TestAnswersThatStandTwiceAreRefused(t *testing.T) {
	c := serve(t, newServer(ran), stdio.Options{})
	c.write(call("1", `"inputResponses":{"a":{"action":"decline","action":"accept"}},`))
	require.JSONEq(t, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"invalid params: an answer has two members \"action\""}}`, c.read())
}

// The answer of a legacy client that stands twice ends its question, and nothing else.
func TestAnAnswerOverTheSessionThatStandsTwiceEndsItsQuestion(t *testing.T) {
	asked := make(chan error, 2)
	c := serve(t, newServer(func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		_, err := req.Session.Elicit(ctx, wire.TextForm("q?", "q"))
		asked <- err
		return ran(ctx, req)
	}), stdio.Options{})
	c.write(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"x","version":"1"},"capabilities":{"elicitation":{}}}}` + "\n")
	require.Contains(t, c.read(), `"result"`)
	c.write(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
	for _, answer := range []string{`"action":"decline","action":"accept"`, `"action":"accept"`} {
		c.write(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"tool","arguments":{}}}` + "\n")
		var question struct{ ID json.RawMessage }
		require.NoError(t, json.Unmarshal([]byte(c.read()), &question))
		c.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{%s,"content":{"q":"yes"}}}`, question.ID, answer) + "\n")
		require.Contains(t, c.read(), `"ran"`)
	}
	require.ErrorContains(t, <-asked, `an answer has two members "action"`)
	require.NoError(t, <-asked)
}

func TestLargeIDsSurvive(t *testing.T) {
	c := serve(t, newServer(ran), stdio.Options{})
	for _, id := range []string{"9007199254740993", "123456789012345678901234567890", `"text"`, "-7"} {
		c.write(call(id, ""))
		require.Contains(t, c.read(), `"id":`+id+`,`)
	}
}

// A line without an end takes no more memory than a message may.
func TestALineWithoutAnEndIsNotKept(t *testing.T) {
	c := serve(t, newServer(ran), stdio.Options{MaxMessageBytes: 1 << 20})
	piece := bytes.Repeat([]byte("x"), 1<<20)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range 64 {
		c.writeBytes(piece)
	}
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(16<<20))
	c.write("\n")
	require.Contains(t, c.read(), "-32600")
	c.write(call("1", ""))
	require.Contains(t, c.read(), `"ran"`)
}

func TestBothEras(t *testing.T) {
	for version, rounds := range map[string]int{wire.Legacy: 1, wire.Modern: 3} {
		fromClient, in := io.Pipe()
		out, toClient := io.Pipe()
		transport, err := stdio.New(&stdio.Options{Reader: fromClient, Writer: toClient})
		require.NoError(t, err)
		ended := make(chan error, 1)
		go func() { ended <- wire.NewTripServer(sse.Bridge(wire.Trip, nil)).Run(context.Background(), transport) }()
		client, err := wire.Dial(t.Context(), &mcp.IOTransport{Reader: out, Writer: in}, &wire.Options{Version: version})
		require.NoError(t, err)
		res, err := client.Call(t.Context(), "trip", map[string]any{"who": "Ada"}, wire.TripAnswers)
		require.NoError(t, err)
		require.JSONEq(t, `{"text":"Ada goes to Lisbon by train"}`, string(res.Structured))
		require.Equal(t, rounds, res.Rounds)
		require.NoError(t, client.Close())
		<-ended
	}
}

func TestOptionsAreChecked(t *testing.T) {
	in, out := io.Pipe()
	for _, opts := range []stdio.Options{{MaxMessageBytes: -1}, {MaxCalls: -1}, {Reader: in}, {Writer: out}} {
		_, err := stdio.New(&opts)
		var usage *stdio.UsageError
		require.ErrorAs(t, err, &usage)
	}
	transport, err := stdio.New(&stdio.Options{Reader: in, Writer: out})
	require.NoError(t, err)
	_, err = transport.Connect(t.Context())
	require.NoError(t, err)
	_, err = transport.Connect(t.Context())
	require.ErrorContains(t, err, "one session")
}

// Whatever lines come, the server answers the call that follows them.
func FuzzLines(f *testing.F) {
	for _, seed := range []string{"{", "\n\n", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"the end"}}`, "\xff\xfe", `{"jsonrpc":"2.0","id":1,"result":{}}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c := serve(t, newServer(ran), stdio.Options{MaxMessageBytes: 4096})
		done := make(chan struct{})
		go func() {
			defer close(done)
			for line := range c.out {
				if strings.Contains(line, `"id":"the end"`) {
					return
				}
			}
			t.Error("the server has ended")
		}()
		c.write(text + "\n" + call(`"the end"`, ""))
		select {
		case <-done:
		case <-time.After(patience):
			require.Fail(t, "the call was not answered")
		}
	})
}

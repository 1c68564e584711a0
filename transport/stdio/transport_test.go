package stdio_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/sse"
	"github.com/mrtr-go/sdk/transport/stdio"
)

const maxMessage = 1000

// client is the far end of a served connection, in a bubble: what does not come is noticed
// as a deadlock.
type client struct {
	*testing.T
	in      *io.PipeWriter
	out     *bufio.Reader
	log     bytes.Buffer
	began   chan struct{} // a call of "wait" runs
	release chan struct{}
	ended   chan error
}

func serve(t *testing.T) *client {
	c := &client{T: t, began: make(chan struct{}, 100), release: make(chan struct{}), ended: make(chan error, 1)}
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	for _, name := range []string{"wait", "tool"} {
		server.AddTool(&mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if name == "wait" {
				c.began <- struct{}{}
				select {
				case <-c.release:
				case <-ctx.Done():
				}
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ran"}}}, nil
		})
	}
	fromClient, in := io.Pipe()
	out, toClient := io.Pipe()
	transport, err := stdio.New(&stdio.Options{Reader: fromClient, Writer: toClient, MaxMessageBytes: maxMessage, MaxCalls: 2, Logger: slog.New(slog.NewTextHandler(&c.log, nil))})
	require.NoError(t, err)
	c.in, c.out = in, bufio.NewReader(out)
	go func() { c.ended <- server.Run(context.Background(), transport) }()
	t.Cleanup(func() {
		in.Close()
		_, err := io.ReadAll(c.out)
		require.NoError(t, err)
		<-c.ended
	})
	return c
}

func (c *client) write(text string) {
	c.Helper()
	_, err := io.WriteString(c.in, text)
	require.NoError(c, err)
}

func (c *client) read() string {
	c.Helper()
	line, err := c.out.ReadString('\n')
	require.NoError(c, err)
	return line
}

func call(id, tool string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + tool + `","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}` + "\n"
}

// Lines of every kind, in any order, are each answered before the next, and end neither the
// session nor a call that runs. The last one needs no end.
func TestEveryLineIsAnswered(t *testing.T) {
	const notJSON, noMessage = `{"jsonrpc":"2.0","error":{"code":-32700,"message":"a line is not JSON"}}`, `{"jsonrpc":"2.0","error":{"code":-32600,"message":"a line is not one JSON-RPC message"}}`
	lines := []struct{ line, answer string }{
		{"this is not JSON\n", notJSON},
		{`{"jsonrpc":"2.0","method":"a"}{"jsonrpc":"2.0","method":"b"}` + "\n", notJSON},
		{"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"\xff\"}\n", notJSON},
		{strings.Repeat("[", 900) + "\n", notJSON},
		{"null\n", noMessage},
		{`[{"jsonrpc":"2.0","id":2,"method":"ping"}]` + "\n", noMessage},
		{`{"id":2,"method":"ping"}` + "\n", noMessage},
		{strings.Repeat(" ", maxMessage-2) + "5\r\n", noMessage},
		{strings.Repeat(" ", maxMessage+1) + "\n", `{"jsonrpc":"2.0","error":{"code":-32600,"message":"a message may have 1000 bytes"}}`},
		{strings.Repeat("x", 300<<10) + "\n", `{"jsonrpc":"2.0","error":{"code":-32600,"message":"a message may have 1000 bytes"}}`},
		{"\n  \r\n\t\n" + call(`"text"`, "tool"), `"id":"text","result":`},
		{call("123456789012345678901234567890", "tool"), `"id":123456789012345678901234567890,"result":`},
		{`{"jsonrpc":"2.0","method":"notifications/unknown","params":{"a":1,"a":2}}` + "\n" + call("7", "tool"), `"id":7,"result":`},
		{call("1", "tool"), `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"a call with this id is in flight"}}`},
		{strings.Replace(call("8", "tool"), `"_meta"`, `"inputResponses":{"a":{"action":"decline","action":"accept"}},"_meta"`, 1), `{"jsonrpc":"2.0","id":8,"error":{"code":-32602,"message":"invalid params: an answer has two members \"action\""}}`},
	}
	for seed := range uint64(10) {
		synctest.Test(t, func(t *testing.T) {
			c := serve(t)
			c.write(call("1", "wait"))
			<-c.began
			for _, i := range rand.New(rand.NewPCG(seed, 0)).Perm(len(lines)) {
				c.write(lines[i].line)
				require.Contains(t, c.read(), lines[i].answer)
			}
			c.write(call("2", "wait"))
			<-c.began
			c.write(call("3", "tool"))
			require.Contains(t, c.read(), `"id":3,"error":{"code":-31000`)
			c.write(call("2", "wait")) // again
			close(c.release)
			for range 3 {
				require.Contains(t, c.read(), `"ran"`)
			}
			require.Contains(t, c.log.String(), `msg="a line is no message" bytes=307200 reason="a message may have 1000 bytes"`)
			c.write("garbage")
			require.NoError(t, c.in.Close())
			require.Contains(t, c.read(), notJSON)
		})
	}
}

// A line takes no more memory than a message may, however long it is.
func TestALineWithoutAnEndIsNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := serve(t)
		piece := strings.Repeat("x", 64<<10)
		per := testing.AllocsPerRun(100, func() { c.write(piece) })
		require.Less(t, per, 5.0)
		c.write("\n")
		require.Contains(t, c.read(), "-32600")
	})
}

func TestBothEras(t *testing.T) {
	for version, rounds := range map[string]int{wire.Legacy: 1, wire.Modern: 3} {
		fromClient, in := io.Pipe()
		out, toClient := io.Pipe()
		transport, err := stdio.New(&stdio.Options{Reader: fromClient, Writer: toClient})
		require.NoError(t, err)
		ended := make(chan error, 1)
		server := wire.NewTripServer(sse.Bridge(wire.Trip, nil))
		go func() { ended <- server.Run(context.Background(), transport) }()
		client, err := wire.Dial(t.Context(), &mcp.IOTransport{Reader: out, Writer: in}, &wire.Options{Version: version})
		require.NoError(t, err)
		res, err := client.Call(t.Context(), "trip", map[string]any{"who": "Ada"}, wire.TripAnswers)
		require.NoError(t, err)
		require.JSONEq(t, `{"text":"Ada goes to Lisbon by train"}`, string(res.Structured))
		require.Equal(t, rounds, res.Rounds)
		require.NoError(t, client.Close())
		<-ended
		_, err = transport.Connect(t.Context())
		require.ErrorContains(t, err, "one session")
	}
	in, out := io.Pipe()
	for _, opts := range []stdio.Options{{MaxMessageBytes: -1}, {MaxCalls: -1}, {Reader: in}, {Writer: out}} {
		_, err := stdio.New(&opts)
		require.ErrorAs(t, err, new(*stdio.UsageError), fmt.Sprint(opts))
	}
}

// Whatever lines come, the server answers the call that follows them.
func FuzzLines(f *testing.F) {
	for _, seed := range []string{"{", "\n\n", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"the end"}}`, "\xff\xfe", `{"jsonrpc":"2.0","id":1,"result":{}}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		synctest.Test(t, func(t *testing.T) {
			c := serve(t)
			go c.write(text + "\n" + call(`"the end"`, "tool"))
			for !strings.Contains(c.read(), `"id":"the end"`) {
			}
		})
	})
}

// A line that is no message is answered, and the server stays.
func Example() {
	server := mcp.NewServer(&mcp.Implementation{Name: "example", Version: "1"}, nil)
	in, keyboard := io.Pipe()
	screen, out := io.Pipe()
	transport, err := stdio.New(&stdio.Options{Reader: in, Writer: out}) // nil for the standard input and output
	if err != nil {
		panic(err)
	}
	go func() { _ = server.Run(context.Background(), transport) }() // until the input ends
	defer keyboard.Close()
	for _, line := range []string{"hello?", `{"jsonrpc":"2.0","id":1,"method":"ping"}`} {
		fmt.Fprintln(keyboard, line)
		answer := make([]byte, 1000)
		n, _ := screen.Read(answer)
		fmt.Printf("%s", answer[:n])
	}
	// Output:
	// {"jsonrpc":"2.0","error":{"code":-32700,"message":"a line is not JSON"}}
	// {"jsonrpc":"2.0","id":1,"result":{}}
}

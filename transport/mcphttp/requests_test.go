package mcphttp_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/transport/mcphttp"
)

var update = flag.Bool("update", false, "write the responses into testdata/requests.txt")

// servers are those of testdata/requests.txt, by the first word of a section.
var servers = map[string]mcphttp.HandlerOptions{
	"open":   {},
	"bare":   {Stateless: true},
	"named":  {AllowedHosts: []string{"mcp.example"}, AllowedOrigins: []string{"https://app.example"}},
	"narrow": {MaxMessageBytes: 1000},
}

// shorthand is what the file leaves out.
var shorthand = strings.NewReplacer(
	"MODERN ", "Mcp-Protocol-Version: 2026-07-28\nMcp-Method: ",
	"INITIALIZE", initializeBody,
	"TOOL", "Mcp-Protocol-Version: 2026-07-28\nMcp-Method: tools/call\nMcp-Name: tool",
	"META", modernMeta,
	"CALL", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"tool",`+modernMeta+`}}`,
	"LONG", strings.Repeat("x", 1000),
	"LOOPBACK", "127.0.0.1:80",
	"BATCH100", batchOf(100), "BATCH101", batchOf(101),
)

// Each section of testdata/requests.txt is a server, and the requests that it gets one after
// the other. Below each stands the response, on the way past go-sdk's HTTP layer and through
// it. Sections without a session hold for a server without sessions too.
func TestRequests(t *testing.T) {
	const path = "testdata/requests.txt"
	text := string(must(os.ReadFile(path))(t))
	sections := strings.Split(text, "\n== ")
	require.Greater(t, len(sections), 20)
	for i, section := range sections[1:] {
		title, _, _ := strings.Cut(section, "\n")
		kind, _, _ := strings.Cut(title, ":")
		opts, known := servers[kind]
		require.True(t, known, title)
		for _, stock := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/stock=%t", title, stock), func(t *testing.T) {
				opts.StockFront = stock
				answered := title + "\n" + answerSection(t, section[len(title)+1:], opts)
				if *update && stock {
					sections[i+1] = answered
				}
				require.Equal(t, sections[i+1], answered)
				if opts.Stateless || strings.Contains(section, "INITIALIZE") || strings.Count(section, "MODERN ")+strings.Count(section, "TOOL\n") < strings.Count(section, "\n=> ") {
					return
				}
				opts.Stateless = true
				require.Equal(t, answered, title+"\n"+answerSection(t, section[len(title)+1:], opts), "without sessions")
			})
		}
	}
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(strings.Join(sections, "\n== ")), 0o600))
	}
}

// answerSection is a section with the responses of a new server.
func answerSection(t *testing.T, section string, opts mcphttp.HandlerOptions) string {
	sessions, runs, reason := 0, 0, ""
	opts.Refused = func(why string) { reason = why }
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, &mcp.ServerOptions{GetSessionID: func() string {
		sessions++
		return fmt.Sprint("session", sessions)
	}})
	rendezvous.AddTool(server, &mcp.Tool{Name: "tool", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		runs++
		return say(fmt.Sprint("run ", runs))
	})
	h := must(mcphttp.NewHandler(func(*http.Request) *mcp.Server { return server }, &opts))(t)
	defer h.Shutdown(t.Context())
	var out strings.Builder
	for exchange := range strings.SplitSeq(section, "\n--\n") {
		request, _, _ := strings.Cut(exchange, "\n=> ")
		lines := strings.SplitAfter(shorthand.Replace(request)+"\n", "\n")
		at := slices.IndexFunc(lines, func(line string) bool { return line == "\n" || line[0] == '{' || line[0] == '[' })
		r := post{clientHeaders + strings.Join(lines[:at], ""), strings.TrimSpace(strings.Join(lines[at:], ""))}.request()
		before := strings.Clone(fmt.Sprint(r.Header))
		w := httptest.NewRecorder()
		named(h).ServeHTTP(w, r)
		require.Equal(t, before, fmt.Sprint(r.Header), "the request of the caller stays as it came")
		if out.Len() > 0 {
			out.WriteString("\n--\n")
		}
		fmt.Fprintf(&out, "%s\n=> %d", request, w.Code)
		for _, name := range []string{"Content-Type", "Retry-After", "Mcp-Session-Id", "Vary", "Access-Control-Allow-Origin", "Access-Control-Allow-Methods", "Access-Control-Allow-Headers", "Access-Control-Expose-Headers", "Access-Control-Max-Age", "Access-Control-Allow-Credentials"} {
			if value := w.Header().Get(name); value != "" {
				fmt.Fprintf(&out, " %s: %s;", name, value)
			}
		}
		if reason != "" {
			out.WriteString(" refused: " + reason)
			reason = ""
		}
		if body := events(w.Body.String()); body != "" {
			out.WriteString("\n" + body)
		}
	}
	return out.String() + "\n"
}

// events is a body without what each event begins with. Those of a batch come in any order.
func events(body string) string {
	if !strings.HasPrefix(body, "event: ") {
		return strings.TrimSpace(body)
	}
	parts := strings.Split(strings.TrimSpace(body), "\n\n")
	for i, event := range parts {
		parts[i] = strings.TrimPrefix(event, "event: message\ndata: ")
	}
	slices.Sort(parts)
	if len(parts) == 100 {
		parts = []string{fmt.Sprint(len(parts), " events")}
	}
	return strings.Join(parts, "\n")
}

// rawPost sends the head of a POST and the given part of its body.
func rawPost(t *testing.T, url string, p post, size int) net.Conn {
	t.Helper()
	c := must(net.Dial("tcp", strings.TrimPrefix(url, "http://")))(t)
	t.Cleanup(func() { _ = c.Close() })
	require.NoError(t, c.(*net.TCPConn).SetReadBuffer(64<<10))
	require.NoError(t, c.SetReadDeadline(time.Now().Add(30*time.Second)))
	r, head := p.request(), &strings.Builder{}
	fmt.Fprintf(head, "%s / HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n", r.Method, size)
	require.NoError(t, r.Header.Write(head))
	must(io.WriteString(c, head.String()+"\r\n"+p.body))(t)
	return c
}

// A body that does not come holds no connection, whether or not anybody waits for it.
func TestASlowBodyIsRefused(t *testing.T) {
	for _, row := range []struct {
		post
		status int
		why    string
	}{
		{legacy("{"), 408, "slow"},
		{modernPost("tools/call", "tool", "{"), 408, "slow"},
		{legacy("").with("Origin: https://evil.example"), 403, "origin"},
		{legacy("").with("Mcp-Name: a").with("Mcp-Name: b"), 400, "ambiguous"},
		{legacy("").with("OPTIONS"), 408, "slow"},
		{legacy("").with("GET"), 408, "slow"},
		{legacy("").with("Authorization: Bearer unknown"), 401, ""},
	} {
		reasons := make(chan string, 1)
		h := newHandler(t, rawServer(ran), mcphttp.HandlerOptions{Refused: func(reason string) { reasons <- reason }}, mcphttp.Limits{Body: 50 * time.Millisecond})
		c := rawPost(t, listen(t, h.WithCORS(named(h))), row.post, 100)
		go func() { // drips do not help
			for range 50 {
				time.Sleep(10 * time.Millisecond)
				_, _ = io.WriteString(c, " ")
			}
		}()
		res := must(http.ReadResponse(bufio.NewReader(c), nil))(t)
		require.Equal(t, row.status, res.StatusCode)
		require.True(t, res.Close)
		if row.why != "" {
			require.Equal(t, row.why, <-reasons)
		}
	}
}

// Bodies that are sent in part take a share of the memory for those on their way. Who has used up the
// own one is refused, and nobody else; small bodies always come through.
func TestHalfBodiesAreCounted(t *testing.T) {
	const most = 64 << 10
	synctest.Test(t, func(t *testing.T) {
		h := named(newHandler(t, rawServer(ran), mcphttp.HandlerOptions{MaxMessageBytes: most}, mcphttp.Limits{}))
		large := callOf("tool", `"arguments":{"x":"`+strings.Repeat("y", most-1000)+`"},`)
		var halves []*io.PipeWriter
		var answered []<-chan response
		half := func(p post) {
			r, w := p.request(), httptest.NewRecorder()
			from, to := io.Pipe()
			r.Body, r.ContentLength = from, most
			done := make(chan response, 1)
			go func() {
				h.ServeHTTP(w, r)
				done <- response{w.Code, w.Result().Header, w.Body.String()}
			}()
			go func() { _, _ = io.WriteString(to, p.body[:most-2000]) }()
			halves, answered = append(halves, to), append(answered, done)
			synctest.Wait()
		}
		for range 16 {
			half(large.as("eve"))
		}
		refused := serve(h, large.as("eve"))
		require.Equal(t, http.StatusTooManyRequests, refused.status, refused.body)
		require.Equal(t, "1", refused.header.Get("Retry-After"))
		require.Contains(t, serve(h, callOf("tool", "").as("eve")).body, `"ran"`)
		require.Contains(t, serve(h, large.as("ada")).body, `"ran"`)
		for i, to := range halves {
			require.NoError(t, to.CloseWithError(io.ErrUnexpectedEOF))
			require.Equal(t, http.StatusBadRequest, (<-answered[i]).status)
		}
		require.Contains(t, serve(h, large.as("eve")).body, `"ran"`)
	})
}

// Neither this handler's Shutdown nor the server's waits for a body that does not come.
func TestHalfABodyDoesNotHoldUpShutdown(t *testing.T) {
	h := newHandler(t, rawServer(ran), mcphttp.HandlerOptions{}, mcphttp.Limits{})
	reading := make(chan struct{}, 1)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reading <- struct{}{}
		h.ServeHTTP(w, r)
	}))
	defer web.Close()
	rawPost(t, web.URL, legacy("{"), 100)
	receive(t, reading, "the request did not arrive")
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	require.NoError(t, h.Shutdown(ctx))
	require.NoError(t, web.Config.Shutdown(ctx))
}

// The answer of a client that does not read is dropped with its connection, on both ways.
func TestAClientThatDoesNotReadIsDropped(t *testing.T) {
	for _, stock := range []bool{true, false} {
		h := newHandler(t, rawServer(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return say(strings.Repeat("x", 12<<20))
		}), mcphttp.HandlerOptions{StockFront: stock}, mcphttp.Limits{Write: 50 * time.Millisecond})
		serve(h, callOf("unknown", "")) // shows the server
		served := make(chan struct{}, 1)
		url := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h.ServeHTTP(w, r)
			served <- struct{}{}
		}))
		call := callOf("tool", "")
		c := rawPost(t, url, call, len(call.body))
		receive(t, served, "the server waits for a client that does not read")
		got, err := io.Copy(io.Discard, c)
		require.NotErrorIs(t, err, context.DeadlineExceeded)
		require.Less(t, got, int64(12<<20), "the connection is closed before the answer is whole")
		require.NoError(t, c.Close())
	}
}

// Every stream on which nothing comes carries a comment, in both eras, with sessions and
// without. An error that comes after it is an event, where it has no status any more.
func TestSilentStreamsCarryHeartbeats(t *testing.T) {
	const beats = ": still here\n\n: still here\n\n: still here\n\n"
	for kind, c := range kinds {
		for answer, code := range map[string]int64{`"text":"over"`: 0, `"code":-32602`: jsonrpc.CodeInvalidParams} {
			synctest.Test(t, func(t *testing.T) {
				h := newHandler(t, rawServer(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					time.Sleep(50 * time.Second)
					if code != 0 {
						return nil, &jsonrpc.Error{Code: code, Message: "no such thing"}
					}
					return say("over")
				}), c.opts, mcphttp.Limits{})
				session := ""
				if c.session {
					session = open(t, h, "")
					ctx, hangUp := context.WithTimeout(t.Context(), 50*time.Second)
					defer hangUp()
					require.Equal(t, ": ok\n\n"+beats, serveIn(ctx, h, post{clientHeaders + "GET\n", ""}.in(session)).body)
				}
				for range 2 {
					a, start := account{}, time.Now()
					w := timed{httptest.NewRecorder(), fate{}, start, &a}
					h.ServeHTTP(w, c.post.in(session).request().WithContext(t.Context()))
					_ = w.FlushError()
					require.Equal(t, http.StatusOK, a.Status)
					require.Equal(t, "text/event-stream", a.Sent.Get("Content-Type"))
					require.Regexp(t, "^15s : still here\n\n30s : still here\n\n45s : still here\n\n50s event: message\n(id: .*\n)?data: {.*"+answer+".*}\n\n$", a.Arrived, kind)
					time.Sleep(time.Minute) // which a session remembers the answer for
				}
			})
		}
	}
}

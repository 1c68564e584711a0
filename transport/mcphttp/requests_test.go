package mcphttp_test

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
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
	mrtr.AddRawTool(server, &mcp.Tool{Name: "tool", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
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

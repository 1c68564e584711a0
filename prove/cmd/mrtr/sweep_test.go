package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/prove"
)

func TestASweepFindsNothingWrongWithOurServer(t *testing.T) {
	binary := weatherDemo(t)
	for name, target := range map[string][]string{
		"by its URL": {serve(t, binary, newSecret()) + "/mcp"},
		"started":    {"--", binary, "serve", "-stdio"},
	} {
		out, errOut, status := mrtr(t, append([]string{"prove"}, target...)...)
		require.Zero(t, status, "%s: %s", name, out+errOut)
		for _, client := range []string{"modern", "legacy"} {
			require.Contains(t, out, "\nweather_journal ("+client+" client): ", name)
			require.Contains(t, out, "\nthe server ("+client+" client): 2 rules tried, 0 failed", name)
		}
	}
}

// picky serves a tool that ignores its schema, one that knows one place, and one
// that a sweep must not call.
func picky(t *testing.T) string {
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	readOnly := &mcp.ToolAnnotations{ReadOnlyHint: true}
	schema := map[string]any{"type": "object", "required": []string{"place"}, "properties": map[string]any{"place": map[string]any{"type": "string"}}}
	says := func(text string, failed bool) *mcp.CallToolResult {
		return &mcp.CallToolResult{IsError: failed, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
	}
	server.AddTool(&mcp.Tool{Name: "careless", InputSchema: schema, Annotations: readOnly}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return says("never mind", false), nil
	})
	server.AddTool(&mcp.Tool{Name: "picky", InputSchema: schema, Annotations: readOnly}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return says("no such place", !strings.Contains(string(req.Params.Arguments), `"Lisbon"`)), nil
	})
	server.AddTool(&mcp.Tool{Name: "deletes", InputSchema: schema}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		t.Error("a tool that is not read-only was called")
		return says("deleted", false), nil
	})
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(web.Close)
	return web.URL
}

func TestASweepFindsFault(t *testing.T) {
	url := picky(t)
	junit := filepath.Join(t.TempDir(), "report.xml")
	out, errOut, status := mrtr(t, "prove", "-client", "modern", "-junit", junit, url)
	require.Equal(t, 1, status, out+errOut)
	require.Equal(t, "a sweep: about 18 calls of the read-only tools (2); never called, since not annotated so: 1\n", errOut)
	require.Contains(t, out, "FAIL  sweep/bad-input           MUST    without place it ended as complete")
	require.Contains(t, out, "skip  sweep/good-input")
	require.Contains(t, out, "not proved: the call ended in an error")
	require.Contains(t, out, "skip  sweep/read-only")
	require.NotContains(t, out, "legacy")
	text, err := os.ReadFile(junit)
	require.NoError(t, err)
	require.Contains(t, string(text), `<testsuite name="modern/careless/sweep" tests="2" failures="1"`)

	out, _, status = mrtr(t, "prove", "-json", "-arguments", `{"picky":{"place":"Lisbon"}}`, url)
	require.Equal(t, 1, status)
	var report report
	require.NoError(t, json.Unmarshal([]byte(out), &report))
	clients := map[string]int{}
	for _, r := range report.Reports {
		if r.Tool != "picky" {
			continue
		}
		clients[r.Client]++
		good, ok := r.Of("sweep/good-input")
		require.True(t, ok)
		require.Equal(t, prove.Pass, good.Outcome, good.Detail)
	}
	require.Equal(t, map[string]int{"modern": 1, "legacy": 1}, clients)
}

func TestEffectsNeedAWhere(t *testing.T) {
	for _, where := range []string{"command:", "command: ", "tool:", "stderr:(", "nonsense"} {
		_, err := counter(where, "effect", prove.Subject{}, newLines())
		require.Error(t, err, where)
	}
}

// A bare number is of the effect that is asked for, and a command that fails says why.
func TestACommandCounts(t *testing.T) {
	count, err := counter("command:echo 3", "refund", prove.Subject{}, nil)
	require.NoError(t, err)
	counts, err := count(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]int{"refund": 3}, counts)

	count, err = counter("command:cat no-such-ledger", "refund", prove.Subject{}, nil)
	require.NoError(t, err)
	_, err = count(t.Context())
	require.ErrorContains(t, err, "cat no-such-ledger: exit status 1: cat: ")
}

// A server that never stops writing does not fill the memory of its judge.
func TestCountingAHostileServerIsBounded(t *testing.T) {
	l := newLines()
	l.pattern = regexp.MustCompile("effect (.*)")
	for i := range 2 * maxEffects {
		fmt.Fprintf(l, "effect %d\neffect %s\n", i, bytes.Repeat([]byte("x"), maxName+1))
	}
	fmt.Fprintln(l, "effect 0")
	require.Len(t, l.counts, maxEffects)
	require.Equal(t, 2, l.counts["0"])

	endless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		piece := []byte(strings.Repeat(" ", 1<<20))
		for range 512 {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	}))
	defer endless.Close()
	count, err := counter("tool:count", "effect", prove.Subject{Dial: prove.HTTP(endless.URL, nil)}, nil)
	require.NoError(t, err)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = count(t.Context())
	runtime.ReadMemStats(&after)
	require.Error(t, err)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(256<<20))
}

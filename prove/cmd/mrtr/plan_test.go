package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// shop serves a tool that asks once and then has an effect. It wants a key in a header.
func shop(t *testing.T) (url string, calls *atomic.Int64) {
	calls = &atomic.Int64{}
	server := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "buy", InputSchema: map[string]any{"type": "object"}}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		calls.Add(1)
		if answer, ok := req.Params.InputResponses["sure"].(*mcp.ElicitResult); ok && answer.Action == "accept" {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "bought"}}}, nil
		}
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"sure": &mcp.ElicitParams{Message: "Sure?", RequestedSchema: map[string]any{
			"type": "object", "properties": map[string]any{"sure": map[string]any{"type": "boolean"}}, "required": []string{"sure"},
		}}}}, nil
	})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Api-Key") != "s3cret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	return web.URL, calls
}

// A run says what it will do, and a dry run does no more than that.
func TestARunSaysWhatItWillDo(t *testing.T) {
	url, calls := shop(t)
	t.Setenv("SHOP_KEY", "s3cret")
	prove := func(more ...string) (string, string, int) {
		return mrtr(t, append(append([]string{"prove", "-tool", "buy", "-header", "X-Api-Key: $SHOP_KEY"}, more...), url)...)
	}
	out, errOut, status := prove("-dry-run")
	require.Zero(t, status, errOut)
	require.Zero(t, calls.Load())
	require.Empty(t, errOut)
	plan, rules, _ := strings.Cut(out, "\ntry   ")
	require.Regexp(t, `^buy: \d+ rules, about \d+ calls if it asks once, \d+ more for each further question; up to \d+ effects\nbuy: not tried for want of `, plan)
	require.Contains(t, rules, "skip  state/other-principal     SHOULD  needs a second caller")

	out, errOut, status = prove()
	require.Equal(t, 1, status, errOut)
	first, wants, _ := strings.Cut(plan, "\n")
	require.Equal(t, first+"\n", errOut, "the same plan")
	require.True(t, strings.HasPrefix(out, wants), "%s: what it lacks stands in the report alone", out)
	require.Contains(t, out, "FAIL  client/undeclared         MUST")
	require.Regexp(t, `skipped; \d+ calls\n$`, out)
	require.NotContains(t, out+errOut, "s3cret")

	out, errOut, status = prove("-quiet", "-only", "client/undeclared")
	require.Equal(t, 1, status)
	require.Empty(t, errOut)
	require.True(t, strings.HasPrefix(out, "FAIL  client/undeclared"), out)
	require.NotContains(t, out, "calls")

	_, errOut, status = mrtr(t, "prove", "-tool", "buy", "-header", "X-Api-Key: wrong", url)
	require.Equal(t, 2, status)
	require.Contains(t, errOut, "401")
	require.Contains(t, errOut, "-token")

	_, errOut, status = prove("-only", "state/other-principal")
	require.Equal(t, 2, status, "a rule that was skipped proves nothing")
	require.Contains(t, errOut, "every rule was skipped")
}

package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

func TestProbeFindsNothingWrongWithOurServer(t *testing.T) {
	s := serveHTTPOnAnyPort(t, nil, "-landmine")
	targets := map[string][]string{
		"by its URL": {s.url + "/mcp"},
		"started":    {binary, "serve", "-stdio"},
	}
	for name, target := range targets {
		got := weatherDemo(t, "", append([]string{"probe"}, target...)...)
		require.Zero(t, got.status, "%s: %s", name, got.stdout+got.stderr)
		for _, client := range []string{"As a modern client", "As a legacy client"} {
			require.Contains(t, got.stdout, client, name)
		}
		require.Equal(t, 2, strings.Count(got.stdout, "rules tried, 0 broken"), got.stdout)
		require.Contains(t, got.stdout, "weather_journal", name)
		for _, line := range strings.Split(got.stdout, "\n") {
			require.LessOrEqual(t, len(line), lineWidth, line)
		}
	}
	s.stops(syscall.SIGTERM)
}

func TestProbeFindsFault(t *testing.T) {
	server := mcp.NewServer(implementation, nil)
	schema := map[string]any{"type": "object", "properties": map[string]any{"n": map[string]any{"type": "integer"}}, "required": []string{"n"}}
	server.AddTool(&mcp.Tool{Name: "careless", InputSchema: schema, Annotations: readOnly}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "never mind"}}}, nil
	})
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true}))
	defer web.Close()
	got := weatherDemo(t, "", "probe", "-era", "modern", web.URL)
	require.Equal(t, statusFailed, got.status, got.stdout+got.stderr)
	require.Contains(t, got.stdout, "careless")
	require.Contains(t, got.stdout, "FAULT")
	require.Empty(t, got.stderr)
}

func TestProbeIsToldArguments(t *testing.T) {
	server := mcp.NewServer(implementation, nil)
	schema := map[string]any{"type": "object", "required": []string{"place"}, "properties": map[string]any{"place": map[string]any{"type": "string"}}}
	server.AddTool(&mcp.Tool{Name: "picky", InputSchema: schema, Annotations: readOnly}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		failed := !strings.Contains(string(req.Params.Arguments), `"Lisbon"`)
		return &mcp.CallToolResult{IsError: failed, Content: []mcp.Content{&mcp.TextContent{Text: "no such place"}}}, nil
	})
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true}))
	defer web.Close()
	got := weatherDemo(t, "", "probe", "-era", "modern", web.URL)
	require.Contains(t, got.stdout, "not proved: ")
	require.Contains(t, got.stdout, "0 broken, 1 not proved")
	got = weatherDemo(t, "", "probe", "-era", "modern", "-args", `picky={"place":"Lisbon"}`, web.URL)
	require.Contains(t, got.stdout, ", 0 not proved")
	got = weatherDemo(t, "", "probe", "-args", `picky=5`, web.URL)
	require.NotZero(t, got.status)
	require.Contains(t, got.stderr, "no JSON object")
}

func TestProbeOfNothing(t *testing.T) {
	got := weatherDemo(t, "", "probe", "http://127.0.0.1:1/mcp")
	require.Equal(t, statusFailed, got.status)
	require.Contains(t, got.stderr, "modern: ")
	require.Contains(t, got.stderr, "legacy: ")
}

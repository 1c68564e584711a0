package sse_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/sse/era"
)

// whoServer has a tool that notes who called it.
func whoServer(opts *mcp.ServerOptions) (*mcp.Server, *era.Client) {
	seen := &era.Client{}
	server := mcp.NewServer(&mcp.Implementation{Name: "who", Version: "1"}, opts)
	mcp.AddTool(server, &mcp.Tool{Name: "who"}, func(_ context.Context, req *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
		*seen = era.ClientOf(req)
		if era.Of(req) != seen.Era {
			panic("Of and ClientOf disagree")
		}
		return nil, nil, nil
	})
	return server, seen
}

func TestWhoIsAsking(t *testing.T) {
	type caps = map[string]any
	const new, old, older = "2026-07-28", "2025-11-25", "2025-06-18"
	all := caps{"elicitation": caps{"form": caps{}, "url": caps{}}, "sampling": caps{"tools": caps{}}, "roots": caps{}}
	type how string
	const (
		memory    how = "in memory"
		stateful  how = "stateful HTTP"
		stateless how = "stateless HTTP"
		nameless  how = "stateful HTTP without session ids"
	)
	cases := []struct {
		explanation string
		over        how
		requested   string // in initialize; empty for none
		caps        any    // of initialize; nil for absent
		meta        caps
		first       caps // _meta of an earlier call on the same connection
		want        era.Client
	}{
		{explanation: "a legacy client has what its initialize declares", over: memory, requested: old, caps: all,
			want: era.Client{Era: era.Legacy, Version: old, Form: true, URL: true, Sampling: true, SamplingTools: true, Roots: true}},
		{explanation: "an empty elicitation capability means forms", over: memory, requested: older, caps: caps{"elicitation": caps{}},
			want: era.Client{Era: era.Legacy, Version: older, Form: true}},
		{explanation: "url alone does not include forms", over: memory, requested: old, caps: caps{"elicitation": caps{"url": caps{}}},
			want: era.Client{Era: era.Legacy, Version: old, URL: true}},
		{explanation: "a client may declare nothing and still be legacy", over: memory, requested: old, caps: caps{},
			want: era.Client{Era: era.Legacy, Version: old}},
		{explanation: "without any capabilities in initialize nobody can be asked", over: memory, requested: old,
			want: era.Client{Era: era.Unaskable, Version: old}},
		{explanation: "the oldest revision", over: memory, requested: "2024-11-05", caps: caps{"sampling": caps{}, "roots": caps{"listChanged": true}},
			want: era.Client{Era: era.Legacy, Version: "2024-11-05", Sampling: true, Roots: true}},
		{explanation: "a modern request brings everything along", over: memory, meta: metaOf(all),
			want: era.Client{Era: era.Modern, Version: new, Form: true, URL: true, Sampling: true, SamplingTools: true, Roots: true}},
		{explanation: "an empty elicitation capability means forms here too", over: memory, meta: metaOf(caps{"elicitation": caps{}, "sampling": caps{}}),
			want: era.Client{Era: era.Modern, Version: new, Form: true, Sampling: true}},
		{explanation: "null is not a declaration", over: memory, meta: metaOf(caps{"elicitation": nil, "sampling": nil, "roots": nil}),
			want: era.Client{Era: era.Modern, Version: new}},
		{explanation: "a modern request's capabilities are its own, not those of the one before", over: memory,
			first: metaOf(all), meta: metaOf(caps{"roots": caps{}}),
			want: era.Client{Era: era.Modern, Version: new, Roots: true}},
		{explanation: "a session that began modern goes on to a call without _meta", over: memory, first: metaOf(all),
			want: era.Client{Era: era.Unaskable, Version: new}},
		{explanation: "a legacy session stays legacy though _meta is modern: the shim would fire", over: memory,
			requested: old, caps: caps{"elicitation": caps{}}, meta: metaOf(all),
			want: era.Client{Era: era.Legacy, Version: new, Form: true}},
		{explanation: "asked for 2026-07-28 in initialize and was negotiated down", over: memory, requested: new, caps: all,
			want: era.Client{Era: era.Unaskable, Version: new}},
		{explanation: "the same for a version that nobody knows", over: memory, requested: "2031-01-01", caps: all,
			want: era.Client{Era: era.Unaskable, Version: "2031-01-01"}},
		{explanation: "negotiated down, and modern _meta all the same", over: memory, requested: new, caps: caps{}, meta: metaOf(all),
			want: era.Client{Era: era.Modern, Version: new, Form: true, URL: true, Sampling: true, SamplingTools: true, Roots: true}},
		{explanation: "a legacy session over HTTP has an id", over: stateful, requested: old, caps: caps{"elicitation": caps{}},
			want: era.Client{Era: era.Legacy, Version: old, Form: true}},
		{explanation: "negotiated down over HTTP", over: stateful, requested: new, caps: all,
			want: era.Client{Era: era.Unaskable, Version: new}},
		{explanation: "a stateless server forgets what initialize declared", over: stateless, requested: old, caps: all,
			want: era.Client{Era: era.Unaskable, Version: old}},
		{explanation: "a server that gives no session ids forgets it as well", over: nameless, requested: old, caps: all,
			want: era.Client{Era: era.Unaskable, Version: old}},
		{explanation: "a modern request over HTTP", over: stateless, meta: metaOf(caps{"elicitation": caps{"url": caps{}}}),
			want: era.Client{Era: era.Modern, Version: new, URL: true}},
	}
	require.NotEmpty(t, cases)
	for _, c := range cases {
		t.Run(c.explanation, func(t *testing.T) {
			ctx := t.Context()
			var opts *mcp.ServerOptions
			if c.over == nameless {
				opts = &mcp.ServerOptions{GetSessionID: func() string { return "" }}
			}
			server, seen := whoServer(opts)
			as := &wire.Options{Version: c.requested, Handshake: c.requested != "", Capabilities: declared(t, c.caps)}
			var client *wire.Client
			var err error
			if c.over == memory {
				client, err = wire.Connect(ctx, server, as)
			} else {
				front := httptest.NewServer(mcp.NewStreamableHTTPHandler(
					func(*http.Request) *mcp.Server { return server },
					&mcp.StreamableHTTPOptions{Stateless: c.over == stateless}))
				defer front.Close()
				client, err = wire.DialHTTP(ctx, front.URL, nil, as)
			}
			require.NoError(t, err)
			defer client.Close()
			if c.first != nil {
				whoWith(t, client, c.first)
			}
			whoWith(t, client, c.meta)
			require.Equal(t, c.want, *seen)
		})
	}
}

// whoWith calls the tool with this _meta, or with none.
func whoWith(t *testing.T, client *wire.Client, meta map[string]any) {
	t.Helper()
	params := map[string]any{"name": "who"}
	if meta != nil {
		params["_meta"] = meta
	}
	res, err := client.Exchange(t.Context(), wire.Request{Params: params})
	require.NoError(t, err)
	require.NoError(t, res.Error)
}

func declared(t *testing.T, caps any) wire.Capabilities {
	t.Helper()
	if caps == nil {
		return wire.Omitted
	}
	data, err := json.Marshal(caps)
	require.NoError(t, err)
	return wire.Capabilities(data)
}

// metaOf is the _meta of a modern request, decoded.
func metaOf(caps map[string]any) map[string]any {
	return map[string]any{
		mcp.MetaKeyProtocolVersion:    era.FirstModern,
		mcp.MetaKeyClientInfo:         map[string]any{"name": "raw", "version": "1"},
		mcp.MetaKeyClientCapabilities: caps,
	}
}

// A batch that brings its own initialize is the one way to show capabilities to
// a stateless server; it can be asked no more than the others.
func TestBatchOnStatelessServerIsUnaskable(t *testing.T) {
	server, seen := whoServer(nil)
	front := httptest.NewServer(mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true}))
	defer front.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, front.URL, strings.NewReader(`[
		{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","clientInfo":{"name":"b","version":"1"},"capabilities":{"elicitation":{}}}},
		{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"who","arguments":{}}}]`))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	require.Equal(t, http.StatusOK, res.StatusCode)
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Contains(t, string(body), `"id":2`)
	require.Equal(t, era.Client{Era: era.Unaskable, Version: "2025-03-26"}, *seen)
}

func TestRequestsMadeByHand(t *testing.T) {
	require.Equal(t, era.Client{}, era.ClientOf(&mcp.CallToolRequest{}))
	require.Equal(t, era.Client{}, era.ClientOf(&mcp.GetPromptRequest{Params: &mcp.GetPromptParams{}}))
	modern := &mcp.ReadResourceRequest{Params: &mcp.ReadResourceParams{Meta: mcp.Meta{
		mcp.MetaKeyProtocolVersion:    "2026-07-28",
		mcp.MetaKeyClientCapabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{}},
	}}}
	require.Equal(t, era.Client{Era: era.Modern, Version: "2026-07-28", Form: true}, era.ClientOf(modern))
	for _, e := range []era.Era{era.Modern, era.Legacy, era.Unaskable} {
		require.NotEmpty(t, e.String())
	}
}

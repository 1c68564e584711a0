package sse_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/sse/era"
)

// declarations are capabilities, and what they say of a client.
var declarations = map[wire.Capabilities]era.Client{
	wire.Omitted:         {},
	wire.Nothing:         {},
	wire.Everything:      {Form: true, URL: true, Sampling: true, SamplingTools: true, Roots: true},
	wire.URLOnly:         {URL: true},
	`{"elicitation":{}}`: {Form: true},
	`{"elicitation":null,"sampling":null,"roots":null}`: {},
	`{"sampling":{},"roots":{"listChanged":true}}`:      {Sampling: true, Roots: true},
}

// whoServer has a tool that notes who called it.
func whoServer(t *testing.T, seen *era.Client, opts *mcp.ServerOptions) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "who", Version: "1"}, opts)
	mcp.AddTool(server, &mcp.Tool{Name: "who"}, func(_ context.Context, req *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
		*seen = era.ClientOf(req)
		require.Equal(t, seen.Era, era.Of(req))
		if asked := era.OfSession(req.Session); seen.Era == era.Legacy && asked.Era == era.Legacy {
			asked.Version = seen.Version
			require.Equal(t, *seen, asked)
		}
		return nil, nil, nil
	})
	return server
}

// A session that requested an earlier revision is legacy where a question can reach its
// client, whatever its requests claim: there is a connection or a session with an id. Any
// other request is modern if its own _meta says so. Nobody can ask the rest.
func TestWhoIsAsking(t *testing.T) {
	var seen era.Client
	serverOf := func(opts *mcp.ServerOptions) *mcp.Server { return whoServer(t, &seen, opts) }
	fronts := map[string]string{"memory": ""}
	for name, opts := range map[string]*mcp.StreamableHTTPOptions{"stateful": {}, "stateless": {Stateless: true}, "nameless": {}} {
		server := serverOf(nil)
		if name == "nameless" {
			server = serverOf(&mcp.ServerOptions{GetSessionID: func() string { return "" }})
		}
		front := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, opts))
		defer front.Close()
		fronts[name] = front.URL
	}
	who := func(server *mcp.Server, url string, params any, as *wire.Options) era.Client {
		client, err := wire.Connect(t.Context(), server, as)
		if url != "" {
			client, err = wire.DialHTTP(t.Context(), url, nil, as)
		}
		require.NoError(t, err)
		defer client.Close()
		res, err := client.Exchange(t.Context(), wire.Request{Params: params})
		require.NoError(t, err)
		require.NoError(t, res.Error)
		return seen
	}
	inMemory, metas := serverOf(nil), map[wire.Capabilities]era.Client{"": {}}
	for caps, client := range declarations {
		metas[caps] = client
	}
	for front, url := range fronts {
		reachable := front == "memory" || front == "stateful"
		for _, requested := range []string{"", "2024-11-05", wire.Legacy, wire.Modern, "2031-01-01"} {
			legacy := requested != "" && requested < wire.Modern
			for caps, declared := range declarations {
				for own, ofMeta := range metas {
					modern := own != ""
					switch {
					case own == wire.Omitted, requested == "" && (!modern || front == "stateful" || front == "nameless"),
						requested != "" && modern && front != "memory", requested >= wire.Modern && !reachable:
						continue // no server takes that, or it is another of these cases there
					}
					params, want := map[string]any{"name": "who"}, era.Client{}
					if modern {
						params["_meta"] = map[string]any{mcp.MetaKeyProtocolVersion: wire.Modern, mcp.MetaKeyClientInfo: map[string]any{"name": "raw", "version": "1"},
							mcp.MetaKeyClientCapabilities: json.RawMessage(own)}
					}
					switch {
					case legacy && reachable && caps != wire.Omitted:
						want, want.Era = declared, era.Legacy
					case !legacy && modern:
						want, want.Era = ofMeta, era.Modern
					}
					want.Version = map[bool]string{true: wire.Modern, false: requested}[modern]
					explanation := fmt.Sprintf("%s, requested %q with %s, _meta with %s", front, requested, caps, own)
					require.Equal(t, want, who(inMemory, url, params, &wire.Options{Version: requested, Handshake: requested != "", Capabilities: caps}), explanation)
				}
			}
		}
	}
}

func TestRequestsMadeByHand(t *testing.T) {
	require.Equal(t, era.Client{}, era.ClientOf(&mcp.CallToolRequest{}))
	require.Equal(t, era.Client{}, era.ClientOf(&mcp.GetPromptRequest{Params: &mcp.GetPromptParams{}}))
	modern := &mcp.ReadResourceRequest{Params: &mcp.ReadResourceParams{Meta: mcp.Meta{
		mcp.MetaKeyProtocolVersion:    wire.Modern,
		mcp.MetaKeyClientCapabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{}},
	}}}
	require.Equal(t, era.Client{Era: era.Modern, Version: wire.Modern, Form: true}, era.ClientOf(modern))
	require.Equal(t, "unaskable legacy modern", fmt.Sprint(era.Unaskable, " ", era.Legacy, " ", era.Modern))
}

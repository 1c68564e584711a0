package mrtr_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mcphttp"
	"github.com/mrtr-go/sdk/mrtr"
)

const visited = "notifications/elicitation/complete"

// sendingAway is a server whose tool sends its user to a page and, unless late, waits there.
func sendingAway(t *testing.T, style func(mrtr.LinearFunc[input, output]) mrtr.Style[input, output], visits *mrtr.Visits[string], late bool, ids chan<- string) *mcp.Server {
	rt, _ := newRuntime(t, nil)
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "tool"}, mrtr.Tool(rt, style(func(ctx context.Context, c *mrtr.Call, _ input) (output, error) {
		id := visits.Begin(ctx, c, "pay")
		if _, err := mrtr.Ask(ctx, c, mrtr.ElicitURL("pay", "Please pay.", "https://shop.example/?visit="+id)); err != nil {
			return output{}, err
		}
		ids <- id
		if late {
			return output{"later"}, nil
		}
		paid, err := mrtr.Once(ctx, c, "paid", func(ctx context.Context, _ string) (string, error) { return visits.Wait(ctx, id) })
		return output{paid}, err
	}), nil))
	return server
}

// A legacy client of go-sdk's is told that its user is done, and nobody else is: in memory
// and over HTTP, while the call waits and after it has ended.
func TestALegacyClientIsToldThatItsVisitIsDone(t *testing.T) {
	styles := map[string]func(mrtr.LinearFunc[input, output]) mrtr.Style[input, output]{
		"journal": mrtr.Journal[input, output], "coroutine": mrtr.Coroutine[input, output],
	}
	for name, style := range styles {
		for _, late := range []bool{false, true} {
			for _, overHTTP := range []bool{false, true} {
				t.Run(strings.Join([]string{name, map[bool]string{true: "late", false: "waiting"}[late], map[bool]string{true: "HTTP", false: "memory"}[overHTTP]}, " "), func(t *testing.T) {
					visits, ids := &mrtr.Visits[string]{}, make(chan string, 1)
					server := sendingAway(t, style, visits, late, ids)
					var transport mcp.Transport
					if overHTTP {
						front, err := mcphttp.NewHandler(func(*http.Request) *mcp.Server { return server }, nil)
						require.NoError(t, err)
						web := httptest.NewServer(front)
						defer web.Close()
						defer front.Shutdown(context.Background())
						transport = &mcp.StreamableClientTransport{Endpoint: web.URL}
					} else {
						serverSide, clientSide := mcp.NewInMemoryTransports()
						_, err := server.Connect(t.Context(), serverSide, nil)
						require.NoError(t, err)
						transport = clientSide
					}
					connect := func(told chan<- string) *mcp.ClientSession {
						client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{
							Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{URL: &mcp.URLElicitationCapabilities{}}},
							ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
								return &mcp.ElicitResult{Action: "accept"}, nil
							},
							ElicitationCompleteHandler: func(_ context.Context, req *mcp.ElicitationCompleteNotificationRequest) {
								told <- req.Params.ElicitationID
							},
						})
						session, err := client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
						require.NoError(t, err)
						return session
					}
					told, others := make(chan string, 10), make(chan string, 10)
					session := connect(told)
					defer session.Close()
					if overHTTP {
						transport = &mcp.StreamableClientTransport{Endpoint: transport.(*mcp.StreamableClientTransport).Endpoint}
						defer connect(others).Close()
					}
					done := make(chan *mcp.CallToolResult, 1)
					go func() {
						result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "tool"})
						if err != nil {
							t.Error(err)
						}
						done <- result
					}()
					id := <-ids
					want := `{"said":"receipt"}`
					if late {
						want = `{"said":"later"}`
						require.Equal(t, want, textOf(<-done))
					}
					require.True(t, visits.Done(id, "receipt"))
					require.False(t, visits.Done(id, "again"), "it is told once")
					select {
					case got := <-told:
						require.Equal(t, id, got)
					case <-time.After(30 * time.Second):
						t.Fatal("nobody told the client")
					}
					if !late {
						require.Equal(t, want, textOf(<-done))
					}
					require.NoError(t, session.Ping(t.Context(), nil)) // whatever was sent before has come
					require.Empty(t, told)
					require.Empty(t, others)
				})
			}
		}
	}
}

func textOf(result *mcp.CallToolResult) string {
	if result == nil || len(result.Content) == 0 {
		return ""
	}
	return result.Content[0].(*mcp.TextContent).Text
}

// The client is told before it has the result, so that it knows then which page to close.
// Revision 2026-07-28 has no such message.
func TestAVisitIsDoneBeforeItsCall(t *testing.T) {
	for name, opts := range map[string]*wire.Options{"legacy": legacyClient, "modern": nil} {
		t.Run(name, func(t *testing.T) {
			visits, ids := &mrtr.Visits[string]{}, make(chan string, 1)
			client := connect(t, sendingAway(t, mrtr.Journal[input, output], visits, false, ids), opts)
			go func() { visits.Done(<-ids, "receipt") }()
			said(t, call(t, client, wire.Answers{"pay": wire.Accept(nil), "elicitation/create": wire.Accept(nil)}), "receipt")
			told, result := -1, -1
			for i, m := range client.Messages() {
				switch {
				case strings.Contains(string(m.JSON), visited):
					told = i
				case strings.Contains(string(m.JSON), `receipt`):
					result = i
				}
			}
			require.Positive(t, result)
			if name == "modern" {
				require.Equal(t, -1, told)
				return
			}
			require.Positive(t, told)
			require.Less(t, told, result)
		})
	}
}

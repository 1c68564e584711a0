package internal_test

import (
	"context"
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/internal/wire"
)

func newServer() *mcp.Server {
	return mcp.NewServer(&mcp.Implementation{Name: "unbound"}, nil)
}

func done(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{}, nil
}

func tool(schema any) *mcp.Tool { return &mcp.Tool{Name: "pay", InputSchema: schema} }

// object is a schema of objects with one more member, as JSON.
func object(member string) any { return jsonText(`{"type":"object",` + member + `}`) }

// jsonText is JSON that is written as it stands.
type jsonText string

func (t jsonText) MarshalJSON() ([]byte, error) { return []byte(t), nil }

func of(s *mcp.Server) *rendezvous.UnboundTool { return rendezvous.UnboundToolOf(weak.Make(s), "pay") }

func TestAToolThatBindsAnArgumentIsNotKnown(t *testing.T) {
	for member, known := range map[string]bool{
		`"properties":{"to":{"type":"string"}}`:                                                         true,
		`"description":"x-mcp-header"`:                                                                  true,
		`"properties":{"to":{"type":"string","x-mcp-header":"To"}}`:                                     false,
		`"properties":{"to":{"type":"string","x-mcp-\u0068eader":"To"}}`:                                false,
		`"properties":{"to":{"type":"object","properties":{"x":{"type":"string","x-mcp-header":"X"}}}}`: false,
		`"allOf":[{"properties":{"to":{"type":"string"}}},{"a":[{"x-mcp-header":"To"}]}]`:               false,
		`"$defs":{"to":{"x-mcp-header":"To"}},"properties":{"to":{"$ref":"#/$defs/to"}}`:                false,
		`"properties":{"x-mcp-header":{"type":"string"}}`:                                               false, // an argument of that name: too careful
		`"properties":{"to":{"type":"string","X-Mcp-Header":"To"}}`:                                     true,
		`"properties":{"to":{"type":"string","description":"\"x-mcp-header\": \"To\""}}`:                true,
		`"additionalProperties":{"type":"string","x-mcp-header":"To"},"title":"a b c d e f"`:            false,
	} {
		s := newServer()
		rendezvous.AddTool(s, tool(object(member)), done)
		require.Equal(t, known, of(s) != nil, member)
		require.Nil(t, rendezvous.UnboundToolOf(weak.Make(s), "other"))
		require.Nil(t, of(newServer()), "a tool belongs to its server")
	}
}

func TestAToolTakesTheNameOfAnother(t *testing.T) {
	plain, bound := object(`"title":"plain"`), object(`"properties":{"to":{"type":"string","x-mcp-header":"To"}}`)
	s := newServer()
	rendezvous.AddTool(s, tool(plain), done)
	first := of(s)
	rendezvous.AddTool(s, tool(plain), done)
	require.NotNil(t, of(s))
	require.NotSame(t, first, of(s))
	rendezvous.AddTool(s, tool(bound), done)
	require.Nil(t, of(s))
	rendezvous.AddTool(s, tool(plain), done)
	require.NotNil(t, of(s))
	require.Panics(t, func() { rendezvous.AddTool(s, tool(jsonText(`{"type":"string"}`)), done) })
	require.Nil(t, of(s), "a tool that go-sdk does not take is not known")
}

// seen is the tool that a call entered.
type seen struct{ tool *rendezvous.UnboundTool }

func (s *seen) Enter(t *rendezvous.UnboundTool) { s.tool = t }

func TestAToolThatWasMissedIsKnownAgainOnceItIsEntered(t *testing.T) {
	s := newServer()
	rendezvous.AddTool(s, tool(object(`"title":"plain"`)), done)
	known := of(s)
	var visit seen
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			return next(context.WithValue(ctx, rendezvous.VisitKey{}, &visit), method, req)
		}
	})
	known.Missed()
	require.Nil(t, of(s))
	client, err := wire.Connect(t.Context(), s, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	_, err = client.Send(t.Context(), wire.Request{Name: "pay"})
	require.NoError(t, err)
	require.Same(t, known, of(s))
	require.Same(t, known, visit.tool)
}

func TestAToolIsForgottenWithItsServer(t *testing.T) {
	s := newServer()
	rendezvous.AddTool(s, tool(object(`"title":"plain"`)), done)
	gone := weak.Make(s)
	require.NotNil(t, rendezvous.UnboundToolOf(gone, "pay"))
	runtime.KeepAlive(s)
	s = nil
	require.Eventually(t, func() bool {
		runtime.GC()
		return rendezvous.UnboundToolOf(gone, "pay") == nil
	}, time.Minute, time.Millisecond)
}

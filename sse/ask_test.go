package sse_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/sse"
	"github.com/mrtr-go/sdk/sse/era"
)

func TestAQuestionIsGivenUpAtItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := connect(t, rawServer(func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			began := time.Now()
			answers, err := sse.NewRounds(era.ClientOf(req), req.Session, req.Params, nil).Ask(ctx, asking("", nil).questions,
				map[string]time.Time{"q": began.Add(time.Second)})
			require.NoError(t, err, "the silence of a deadline is a missing answer")
			return say("%v %v", answers, time.Since(began))
		}), &wire.Options{Version: wire.Legacy})
		out, err := client.Call(t.Context(), "tool", map[string]any{}, wire.Answers{"*": wire.Silent})
		require.NoError(t, err)
		require.Equal(t, "map[] 1s", out.Text)
	})
	_, err := sse.Ask(t.Context(), nil, asking("", nil).questions, nil)
	var failed *sse.Error
	require.ErrorAs(t, err, &failed)
	require.Equal(t, sse.Unreachable, failed.Reason)
}

func TestPassThroughAllocatesNothing(t *testing.T) {
	req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Meta: mcp.Meta{mcp.MetaKeyProtocolVersion: era.FirstModern}}}
	tool := sse.BridgeTool(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, nil }, nil)
	typed := sse.Bridge(func(context.Context, *mcp.CallToolRequest, int) (*mcp.CallToolResult, int, error) { return nil, 0, nil }, nil)
	ctx := t.Context()
	require.Zero(t, testing.AllocsPerRun(100, func() {
		_, _ = tool(ctx, req)
		_, _, _ = typed(ctx, req, 1)
	}))
}

// A form's lists are bounded before their items are judged: what reaches the client says so
// behind the form's own keywords.
func TestListsAreBounded(t *testing.T) {
	const list = `{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"array","items":{"anyOf":[{"const":"x","title":"X"},{"const":"y","title":"Y"}]}`
	for schema, want := range map[string]string{
		list + `}},"required":["a"]}`:                            list + `}},"required":["a"],"allOf":[{"properties":{"a":{"maxItems":2}}}]}`,
		list + `,"maxItems":1}}}`:                                list + `,"maxItems":1}},"allOf":[{"properties":{"a":{"maxItems":1}}}]}`,
		list + `}},"allOf":[{}]}`:                                list + `}},"allOf":[{}]}`,
		`{"properties":{"a":{"type":"string"}},"type":"object"}`: `{"properties":{"a":{"type":"string"}},"type":"object"}`,
	} {
		client := connect(t, rawServer(func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			_, err := sse.Ask(ctx, req.Session, mcp.InputRequestMap{"a": &mcp.ElicitParams{Message: "a?", RequestedSchema: json.RawMessage(schema)}}, nil)
			return nil, err
		}), &wire.Options{Version: wire.Legacy, Answers: wire.Answers{"*": wire.Decline}})
		_, err := client.Send(t.Context(), doors["BridgeTool"])
		require.NoError(t, err)
		require.Equal(t, want, string(client.Asked()[0].Schema))
	}
}

package boundary_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
)

// listing is middleware that changes the answer to tools/list.
func listing(change func(*mcp.ListToolsResult) (*mcp.ListToolsResult, error)) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			list, ok := res.(*mcp.ListToolsResult)
			if !ok || err != nil {
				return res, err
			}
			if list, err = change(list); err != nil || list == nil {
				return nil, err
			}
			return list, nil
		}
	}
}

// denying offers no destructive tools.
func denying(log *journal) *boundary.Options {
	return &boundary.Options{Logger: log.logger(), Deny: []boundary.Tier{boundary.Destructive}}
}

// While a tier is denied, only tools known to be of another tier run.
func TestTheGateFailsShut(t *testing.T) {
	list := func(list *mcp.ListToolsResult, err error) func(*mcp.ListToolsResult) (*mcp.ListToolsResult, error) {
		return func(*mcp.ListToolsResult) (*mcp.ListToolsResult, error) { return list, err }
	}
	for explanation, tc := range map[string]struct {
		pageSize, others int
		change           func(*mcp.ListToolsResult) (*mcp.ListToolsResult, error)
	}{
		"a rate limiter refuses the list":                 {change: list(nil, errors.New("rate limited"))},
		"middleware answers with nothing":                 {change: list(nil, nil)},
		"the pages go in a circle":                        {change: list(&mcp.ListToolsResult{NextCursor: "again"}, nil)},
		"the tool lies beyond the last page that is read": {pageSize: 1, others: 1001},
		"a filter hides the tool, which is then unknown":  {change: list(&mcp.ListToolsResult{Tools: []*mcp.Tool{nil}}, nil)},
	} {
		var log journal
		s := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, &mcp.ServerOptions{Logger: quiet, PageSize: tc.pageSize})
		for i := range tc.others {
			mcp.AddTool(s, &mcp.Tool{Name: fmt.Sprintf("other%d", i)}, outputs("fine"))
		}
		mcp.AddTool(s, &mcp.Tool{Name: "wipe"}, typed(makes(func() *mcp.CallToolResult { t.Error(explanation); return nil })))
		if tc.change != nil {
			s.AddReceivingMiddleware(listing(tc.change))
		}
		session := connect(t, s, denying(&log))
		if strings.Contains(explanation, "unknown") {
			require.Equal(t, `{"code":-32602,"message":"unknown tool \"wipe\""}`, refusal(t, session, "wipe"))
			continue
		}
		_, report := callTool(t, session, "wipe", nil)
		require.Equal(t, "denied", report.Type)
		require.Empty(t, report.Effect)
		records := log.records(t)
		last := records[len(records)-1]
		require.Equal(t, "ERROR", last["level"], "an operator must mend the list")
		require.Contains(t, last["cause"], "tools/list")
	}
}

// The tiers layer answers for an unknown tool as go-sdk does without a boundary.
func TestAnUnknownToolBehindTheGate(t *testing.T) {
	var log journal
	bare := refusal(t, dial(t, newServer()), `no "such" tool`)
	require.Equal(t, bare, refusal(t, connect(t, newServer(), denying(&log)), `no "such" tool`))
}

// refusal is the JSON of the protocol error that a call ends in.
func refusal(t *testing.T, session *mcp.ClientSession, name string) string {
	t.Helper()
	_, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name})
	var wire *jsonrpc.Error
	require.ErrorAs(t, err, &wire)
	return string(must(json.Marshal(wire))(t))
}

// Tools of a denied tier are neither listed nor run. A list that was read while the tool was
// harmless does not pass it later.
func TestTiers(t *testing.T) {
	var log journal
	var ran, refuse atomic.Bool
	s := newServer()
	runs := func(context.Context, *mcp.CallToolRequest, input) (*mcp.CallToolResult, any, error) {
		ran.Store(true)
		return text("fine"), nil, nil
	}
	no, yes := false, true
	for name, a := range map[string]*mcp.ToolAnnotations{
		"reads": {ReadOnlyHint: true}, "writes": {DestructiveHint: &no}, "destroys": {DestructiveHint: &yes}, "unsaid": nil, "unsaid_too": {},
	} {
		mcp.AddTool(s, &mcp.Tool{Name: name, Annotations: a}, runs)
	}
	s.AddReceivingMiddleware(listing(func(list *mcp.ListToolsResult) (*mcp.ListToolsResult, error) {
		if refuse.Load() {
			return nil, errors.New("rate limited")
		}
		return list, nil
	}))
	session := connect(t, s, denying(&log))
	var names []string
	for _, tool := range must(session.ListTools(t.Context(), nil))(t).Tools {
		names = append(names, tool.Name)
	}
	require.Equal(t, []string{"reads", "writes"}, names)
	for _, name := range []string{"destroys", "unsaid", "unsaid_too"} {
		res, report := callTool(t, session, name, nil)
		require.True(t, res.IsError)
		require.Equal(t, "denied", report.Type)
		require.Empty(t, report.Effect)
	}
	require.False(t, ran.Load())
	records := log.take(t)
	require.Len(t, records, 3, "a refusal is audited")
	require.Equal(t, "denied", records[0]["type"])
	require.NotContains(t, refusal(t, session, "destroy"), "destroys", "a suggestion")
	require.Contains(t, refusal(t, session, "write"), "writes")

	for _, name := range []string{"reads", "writes"} {
		res, _ := callTool(t, session, name, nil)
		require.False(t, res.IsError)
		ran.Store(false)
		mcp.AddTool(s, &mcp.Tool{Name: name}, runs)
		refuse.Store(name == "writes")
		_, report := callTool(t, session, name, nil)
		require.Equal(t, "denied", report.Type, "a tool that was replaced by a more dangerous one")
		require.False(t, ran.Load())
	}
}

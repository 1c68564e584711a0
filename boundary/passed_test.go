package boundary_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/wire"
)

// ofItsOwn is a result of middleware's own.
type ofItsOwn struct {
	mcp.ResultBase
	ResultType any    `json:"resultType,omitempty"`
	Handle     string `json:"handle"`
}

// broken is one that does not marshal.
type broken struct{ ofItsOwn }

func (broken) MarshalJSON() ([]byte, error) { panic("boom") }

// A result of a type that the boundary does not know reaches a modern client as it is, with
// one line in the log. One of a usual type that is none of its method's is replaced, as are all
// for a legacy client, and anything too large or that does not marshal.
func TestAResultOfAnotherTypePasses(t *testing.T) {
	t.Parallel()
	passes := `{"resultType":"task","handle":"h","_meta":{"a":1,"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}}`
	meta := mcp.ResultBase{Meta: mcp.Meta{"a": 1}}
	cells := 0
	for explanation, test := range map[string]struct {
		res     mcp.Result
		passes  bool
		version string
	}{
		"another type":             {res: &ofItsOwn{meta, "task", "h"}, passes: true},
		"another type, to legacy":  {res: &ofItsOwn{meta, "task", "h"}, version: wire.Legacy},
		"too large":                {res: &ofItsOwn{meta, "task", strings.Repeat("h", 10_000)}},
		"complete":                 {res: &ofItsOwn{meta, "complete", "h"}},
		"asking":                   {res: &ofItsOwn{meta, "input_required", "h"}},
		"no type":                  {res: &ofItsOwn{meta, nil, "h"}},
		"an empty type":            {res: &ofItsOwn{meta, "", "h"}},
		"a type that is no text":   {res: &ofItsOwn{meta, 7, "h"}},
		"a nil pointer":            {res: (*ofItsOwn)(nil)},
		"one that panics":          {res: &broken{}},
		"that of another method":   {res: &mcp.ListToolsResult{}},
		"a _meta that is no plain": {res: &ofItsOwn{mcp.ResultBase{Meta: mcp.Meta{"a": func() {}}}, "task", "h"}},
	} {
		for _, method := range []string{"tools/call", "prompts/get", "resources/read"} {
			cells++
			t.Run(explanation+"/"+method, func(t *testing.T) {
				var log journal
				s := newServer()
				mcp.AddTool(s, &mcp.Tool{Name: "t"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
					return text("unused"), nil, nil
				})
				s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
					return func(ctx context.Context, m string, req mcp.Request) (mcp.Result, error) {
						if m == method {
							return test.res, nil
						}
						return next(ctx, m, req)
					}
				})
				require.NoError(t, boundary.Install(s, &boundary.Options{Logger: log.logger(), MaxResultBytes: 4096}))
				c := must(wire.Connect(t.Context(), s, &wire.Options{Version: test.version}))(t)
				defer c.Close()
				res := must(c.Exchange(t.Context(), wire.Request{Method: method, Name: "t"}))(t)
				if test.passes {
					require.JSONEq(t, passes, string(res.Result))
				} else if method == "tools/call" {
					var reply struct{ IsError bool }
					require.NoError(t, json.Unmarshal(res.Result, &reply))
					require.True(t, reply.IsError, "%s", res.Result)
				} else {
					require.Error(t, res.Error)
				}
				records := log.records(t)
				require.Len(t, records, 1)
				require.Equal(t, test.passes, records[0]["level"] == "INFO" && records[0]["resultBytes"] != nil, "%v", records[0])
			})
		}
	}
	require.Equal(t, 12*3, cells)
}

package mrtr

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/sse"
)

// RawTool makes a style into a raw tool handler, for mcp.Server.AddTool and
// schemas made at run time: the arguments come as they arrived, unchecked, and
// the result goes out as it is. An error becomes an error result.
func RawTool(rt *Runtime, s Style[json.RawMessage, *mcp.CallToolResult], opts *HandlerOptions) mcp.ToolHandler {
	t := rt.target(opts, s.valid(), s.replays)
	h := func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var out *mcp.CallToolResult
		need, err := rt.round(ctx, toolExchange(req), t, func(ctx context.Context, c *Call) (ir *IncompleteResult, err error) {
			ir, out, err = s.run(ctx, c, bytes.Clone(req.Params.Arguments))
			return ir, err
		})
		switch {
		case isProtocolError(err):
			return nil, err
		case err != nil:
			res := &mcp.CallToolResult{}
			res.SetError(err)
			return res, nil
		case need != nil:
			return &mcp.CallToolResult{InputRequests: need.requests, RequestState: need.token}, nil
		case out == nil:
			return &mcp.CallToolResult{}, nil
		}
		own := *out // the SDK writes to what it sends
		own.Meta = maps.Clone(out.Meta)
		return &own, nil
	}
	if t.policy.loops() {
		bridged := sse.BridgeTool(h, rt.opts.Bridge)
		return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			ctx, last := withLastRound(ctx)
			res, err := bridged(ctx, req)
			if err == nil {
				last.ended(ctx, res.GetError())
			} else {
				last.ended(ctx, err)
			}
			return res, err
		}
	}
	return h
}

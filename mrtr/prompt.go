package mrtr

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/era"
	"github.com/mrtr-go/sdk/sse"
)

// Prompt makes a style into a prompt handler. Its input is the prompt's arguments.
// Prompts have no error results, so that every error is a JSON-RPC error.
func Prompt(rt *Runtime, s Style[map[string]string, *mcp.GetPromptResult], opts *HandlerOptions) mcp.PromptHandler {
	t := rt.target(opts, s.facts())
	t.held = func() (kept, enterFunc) {
		result := &wholeResult[mcp.GetPromptResult]{}
		return result, func(ctx context.Context, c *Call) (ir *IncompleteResult, err error) {
			ir, result.out, err = s.run(ctx, c, nil)
			return ir, err
		}
	}
	h := func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		var arguments json.RawMessage // no arguments are the same, present or not
		if len(req.Params.Arguments) > 0 {
			arguments, _ = json.Marshal(req.Params.Arguments) // strings always encode
		}
		var own wholeResult[mcp.GetPromptResult]
		result := &own
		var to kept
		if rt.memory != nil {
			shared := &wholeResult[mcp.GetPromptResult]{}
			result, to = shared, shared
		}
		need, err := rt.round(ctx, exchange{
			method: promptsGet, name: req.Params.Name, arguments: arguments,
			token: req.Params.RequestState, answers: req.Params.InputResponses,
			client: era.ClientOf(req), session: req.Session, request: req,
		}, t, to, func(ctx context.Context, c *Call) (ir *IncompleteResult, err error) {
			ir, result.out, err = s.run(ctx, c, maps.Clone(req.Params.Arguments))
			return ir, err
		})
		switch {
		case err != nil:
			return nil, asProtocolError(ctx, err)
		case need != nil:
			return &mcp.GetPromptResult{InputRequests: need.requests, RequestState: need.token}, nil
		case result.out == nil:
			return &mcp.GetPromptResult{}, nil
		}
		sent := *result.out // go-sdk writes to the result that it sends
		sent.Meta = maps.Clone(sent.Meta)
		return &sent, nil
	}
	if !t.policy.loops() {
		return h
	}
	return watched(sse.BridgePrompt(h, rt.opts.bridgeOptions()), nil)
}

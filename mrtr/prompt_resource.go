package mrtr

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/era"
	"github.com/mrtr-go/sdk/sse"
)

// Prompt makes a style into a prompt handler. Its input is the prompt's arguments.
// Prompts have no error results, so that every error is a JSON-RPC error.
func Prompt(rt *Runtime, s Style[map[string]string, *mcp.GetPromptResult], opts *HandlerOptions) mcp.PromptHandler {
	t := rt.target(opts, s.facts())
	t.held = func() (recordable, enterFunc) {
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
		var to recordable
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

// Resource makes a style into a resource handler. Its input is the address that is
// read. As with [Prompt], every error is a JSON-RPC error.
func Resource(rt *Runtime, s Style[string, *mcp.ReadResourceResult], opts *HandlerOptions) mcp.ResourceHandler {
	t := rt.target(opts, s.facts())
	t.held = func() (recordable, enterFunc) {
		result := &wholeResult[mcp.ReadResourceResult]{}
		return result, func(ctx context.Context, c *Call) (ir *IncompleteResult, err error) {
			ir, result.out, err = s.run(ctx, c, "")
			return ir, err
		}
	}
	h := func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		var own wholeResult[mcp.ReadResourceResult]
		result := &own
		var to recordable
		if rt.memory != nil {
			shared := &wholeResult[mcp.ReadResourceResult]{}
			result, to = shared, shared
		}
		need, err := rt.round(ctx, exchange{
			method: resourcesRead, name: req.Params.URI,
			token: req.Params.RequestState, answers: req.Params.InputResponses,
			client: era.ClientOf(req), session: req.Session, request: req,
		}, t, to, func(ctx context.Context, c *Call) (ir *IncompleteResult, err error) {
			ir, result.out, err = s.run(ctx, c, req.Params.URI)
			return ir, err
		})
		switch {
		case err != nil:
			return nil, asProtocolError(ctx, err)
		case need != nil:
			return &mcp.ReadResourceResult{InputRequests: need.requests, RequestState: need.token}, nil
		case result.out == nil:
			return &mcp.ReadResourceResult{}, nil
		}
		sent := *result.out // go-sdk writes to the result that it sends, the contents included
		sent.Meta = maps.Clone(sent.Meta)
		sent.Contents = slices.Clone(sent.Contents)
		for i, content := range sent.Contents {
			if content != nil {
				c := *content
				sent.Contents[i] = &c
			}
		}
		return &sent, nil
	}
	if !t.policy.loops() {
		return h
	}
	return watched(sse.BridgeResource(h, rt.opts.bridgeOptions()), nil)
}

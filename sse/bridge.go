package sse

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/era"
	"github.com/mrtr-go/sdk/internal/snapshot"
)

// Bridge makes a typed tool handler serve legacy clients in full, in as many
// rounds as it takes. It goes outside whatever seals and checks the handler's
// state, and inside [mcp.AddTool]:
//
//	mcp.AddTool(server, tool, sse.Bridge(handler, nil))
//
// On a modern request it calls h and does nothing else. On any other it calls h
// with a fresh copy of the request and the input; while h returns an
// input-required result, it asks the client everything that result asks, all at
// once, and calls h again the way a modern client would have: with this round's
// answers in place of the last round's, and the state byte for byte. Changes that
// h makes to its request or input are gone in the next round.
//
// The answers that h gets:
//
//   - an accept, a decline or a cancel: the client's [mcp.ElicitResult];
//   - sampling: an [mcp.CreateMessageWithToolsResult], as on the modern path;
//   - roots: an [mcp.ListRootsResult];
//   - content that breaks the schema of its question: no entry under that key.
//     go-sdk refuses such content and drops it, and an accept without content
//     would claim an answer that nobody gave. Handlers ask again for a missing
//     answer anyway.
//
// A round without any answer leaves InputResponses nil, since that is how an
// empty map arrives from a modern client.
//
// The last result of h, an error included, is returned as it is. Where the
// questions cannot be answered the call ends with an [*Error]. Bridge panics with a
// [*UsageError] on bad options, and so do the other Bridge functions.
func Bridge[In, Out any](h mcp.ToolHandlerFor[In, Out], opts *BridgeOptions) mcp.ToolHandlerFor[In, Out] {
	o := opts.mustResolve()
	return func(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		if era.Of(req) == era.Modern {
			return h(ctx, req, in)
		}
		return bridgeTyped(ctx, o, req, in, h)
	}
}

// bridgeTyped is a function of its own so that the modern path does not pay for
// the variables that escape here.
func bridgeTyped[In, Out any](ctx context.Context, o BridgeOptions, req *mcp.CallToolRequest, in In, h mcp.ToolHandlerFor[In, Out]) (*mcp.CallToolResult, Out, error) {
	var out Out
	res, failed, err := run(ctx, o, req, tools, func(ctx context.Context, req *mcp.CallToolRequest) (res *mcp.CallToolResult, err error) {
		res, out, err = h(ctx, req, snapshot.Of(in))
		return res, err
	})
	if failed != nil {
		var none Out
		return nil, none, failed
	}
	return res, out, err
}

// BridgeTool is [Bridge] for a raw tool handler. Where the questions cannot be
// answered the call ends with an error result, and [mcp.CallToolResult.GetError]
// gives the [*Error].
func BridgeTool(h mcp.ToolHandler, opts *BridgeOptions) mcp.ToolHandler {
	return bridge(h, opts, tools, func(failed *Error) (*mcp.CallToolResult, error) {
		res := &mcp.CallToolResult{}
		res.SetError(failed)
		return res, nil
	})
}

// BridgePrompt is [Bridge] for a prompt handler. Where the questions cannot be
// answered it returns an error that is both an [*Error] and a JSON-RPC error.
func BridgePrompt(h mcp.PromptHandler, opts *BridgeOptions) mcp.PromptHandler {
	return bridge(h, opts, prompts, func(failed *Error) (*mcp.GetPromptResult, error) {
		return nil, asProtocolError(failed)
	})
}

// BridgeResource is [Bridge] for a resource handler, and fails as
// [BridgePrompt] does.
func BridgeResource(h mcp.ResourceHandler, opts *BridgeOptions) mcp.ResourceHandler {
	return bridge(h, opts, resources, func(failed *Error) (*mcp.ReadResourceResult, error) {
		return nil, asProtocolError(failed)
	})
}

func bridge[P mcp.RequestParams, R any](h func(context.Context, *mcp.ServerRequest[P]) (R, error), opts *BridgeOptions, m method[P, R], fail func(*Error) (R, error)) func(context.Context, *mcp.ServerRequest[P]) (R, error) {
	o := opts.mustResolve()
	return func(ctx context.Context, req *mcp.ServerRequest[P]) (R, error) {
		if era.Of(req) == era.Modern {
			return h(ctx, req)
		}
		res, failed, err := run(ctx, o, req, m, h)
		if failed != nil {
			return fail(failed)
		}
		return res, err
	}
}

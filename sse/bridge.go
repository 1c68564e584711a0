package sse

import (
	"bytes"
	"context"
	"maps"

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
// answers in place of the last round's, and the state byte for byte. What h does
// to its request or input is gone in the next round.
//
// What h gets as an answer:
//
//   - an accept, a decline or a cancel: the client's [mcp.ElicitResult];
//   - sampling: an [mcp.CreateMessageWithToolsResult], as on the modern path;
//   - roots: an [mcp.ListRootsResult];
//   - content that breaks the schema of its question: no entry under that key.
//     go-sdk refuses such content and drops it, and an accept without content
//     would claim what nobody said. A missing answer is what handlers already
//     ask again.
//
// A round without any answer leaves InputResponses nil, since that is how an
// empty map arrives from a modern client.
//
// What h returns in the end, an error included, is returned as it is. Where the
// questions cannot be answered the call ends with an [*Error].
func Bridge[In, Out any](h mcp.ToolHandlerFor[In, Out], opts *BridgeOptions) mcp.ToolHandlerFor[In, Out] {
	o := opts.resolve()
	return func(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		if era.Of(req) == era.Modern {
			return h(ctx, req, in)
		}
		return bridgeTyped(ctx, h, o, req, in)
	}
}

// bridgeTyped is apart from [Bridge] so that the modern path does not pay for
// the variables that escape here.
func bridgeTyped[In, Out any](ctx context.Context, h mcp.ToolHandlerFor[In, Out], o BridgeOptions, req *mcp.CallToolRequest, in In) (res *mcp.CallToolResult, out Out, err error) {
	failed := newRounds(ctx, req, o).run(req.Params.InputResponses, req.Params.RequestState, func(a answers) needs {
		res, out, err = h(ctx, copyTool(req, a), snapshot.Of(in))
		return toolNeeds(res, err)
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
	o := opts.resolve()
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if era.Of(req) == era.Modern {
			return h(ctx, req)
		}
		return bridgeTool(ctx, h, o, req)
	}
}

func bridgeTool(ctx context.Context, h mcp.ToolHandler, o BridgeOptions, req *mcp.CallToolRequest) (res *mcp.CallToolResult, err error) {
	failed := newRounds(ctx, req, o).run(req.Params.InputResponses, req.Params.RequestState, func(a answers) needs {
		res, err = h(ctx, copyTool(req, a))
		return toolNeeds(res, err)
	})
	if failed != nil {
		res = &mcp.CallToolResult{}
		res.SetError(failed)
		return res, nil
	}
	return res, err
}

// BridgePrompt is [Bridge] for a prompt handler. Where the questions cannot be
// answered it returns an error that is both an [*Error] and a JSON-RPC error.
func BridgePrompt(h mcp.PromptHandler, opts *BridgeOptions) mcp.PromptHandler {
	o := opts.resolve()
	return func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		if era.Of(req) == era.Modern {
			return h(ctx, req)
		}
		return bridgePrompt(ctx, h, o, req)
	}
}

func bridgePrompt(ctx context.Context, h mcp.PromptHandler, o BridgeOptions, req *mcp.GetPromptRequest) (res *mcp.GetPromptResult, err error) {
	failed := newRounds(ctx, req, o).run(req.Params.InputResponses, req.Params.RequestState, func(a answers) needs {
		p := *req.Params
		p.Meta = snapshot.Of(p.Meta)
		p.Arguments = maps.Clone(p.Arguments)
		p.InputResponses, p.RequestState = a.responses, a.state
		res, err = h(ctx, &mcp.GetPromptRequest{Session: req.Session, Params: &p, Extra: copyExtra(req.Extra)})
		if err != nil || res == nil {
			return needs{}
		}
		return needs{res.InputRequests, res.RequestState, len(res.Messages) > 0}
	})
	if failed != nil {
		return nil, asProtocolError(failed)
	}
	return res, err
}

// BridgeResource is [Bridge] for a resource handler, and fails as
// [BridgePrompt] does.
func BridgeResource(h mcp.ResourceHandler, opts *BridgeOptions) mcp.ResourceHandler {
	o := opts.resolve()
	return func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		if era.Of(req) == era.Modern {
			return h(ctx, req)
		}
		return bridgeResource(ctx, h, o, req)
	}
}

func bridgeResource(ctx context.Context, h mcp.ResourceHandler, o BridgeOptions, req *mcp.ReadResourceRequest) (res *mcp.ReadResourceResult, err error) {
	failed := newRounds(ctx, req, o).run(req.Params.InputResponses, req.Params.RequestState, func(a answers) needs {
		p := *req.Params
		p.Meta = snapshot.Of(p.Meta)
		p.InputResponses, p.RequestState = a.responses, a.state
		res, err = h(ctx, &mcp.ReadResourceRequest{Session: req.Session, Params: &p, Extra: copyExtra(req.Extra)})
		if err != nil || res == nil {
			return needs{}
		}
		return needs{res.InputRequests, res.RequestState, len(res.Contents) > 0}
	})
	if failed != nil {
		return nil, asProtocolError(failed)
	}
	return res, err
}

func toolNeeds(res *mcp.CallToolResult, err error) needs {
	if err != nil || res == nil {
		return needs{}
	}
	return needs{res.InputRequests, res.RequestState, len(res.Content) > 0 || res.StructuredContent != nil}
}

func copyTool(req *mcp.CallToolRequest, a answers) *mcp.CallToolRequest {
	p := *req.Params
	p.Meta = snapshot.Of(p.Meta)
	p.Arguments = bytes.Clone(p.Arguments)
	p.InputResponses, p.RequestState = a.responses, a.state
	return &mcp.CallToolRequest{Session: req.Session, Params: &p, Extra: copyExtra(req.Extra)}
}

func copyExtra(extra *mcp.RequestExtra) *mcp.RequestExtra {
	if extra == nil {
		return nil
	}
	e := *extra
	e.Header = extra.Header.Clone()
	return &e
}

package boundary

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	methodCallTool  = "tools/call"
	methodListTools = "tools/list"
)

// An endpoint answers one tool call. Whatever it returns is final: a result or
// an error, never both and never neither.
type endpoint func(ctx context.Context, c *call) (*mcp.CallToolResult, error)

// A layer wraps what is inside it.
type layer struct {
	name string
	wrap func(b *boundary, next endpoint) endpoint
}

// layers, outermost first. Audit is outermost because it records what the client
// gets, whichever layer decided it. Isolation is next, so that the deadline and
// the recovery also cover the marshalling of what a tool returned: a MarshalJSON
// method is the tool's code too.
func layers() []layer {
	return []layer{
		{"audit", (*boundary).audit},
		{"isolation", (*boundary).isolation},
		{"limits", (*boundary).limits},
		{"normalising", (*boundary).normalising},
		{"tiers", (*boundary).tiers},
		{"arguments", (*boundary).arguments},
	}
}

// Layers names the layers around a tool, outermost first.
func Layers() []string {
	var names []string
	for _, l := range layers() {
		names = append(names, l.name)
	}
	return names
}

// boundary is what the layers of one server share.
type boundary struct {
	opts      Options
	catalog   *catalog
	abandoned abandoned
	answer    endpoint
}

// Middleware is the outer layer alone, for servers that order their middleware
// themselves. It belongs outermost. [Install] is Middleware plus the notice of
// questions to clients from before 2026-07-28, without which a retry inside
// [Handler] could ask its user twice.
//
// An error means that the options are invalid.
func Middleware(opts *Options) (mcp.Middleware, error) {
	normalized, err := opts.normalized()
	if err != nil {
		return nil, err
	}
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		b := &boundary{
			opts:      normalized,
			catalog:   &catalog{next: next, logger: normalized.Logger},
			abandoned: abandoned{limit: normalized.MaxAbandoned},
		}
		b.answer = b.tool(next)
		all := layers()
		for i := len(all) - 1; i >= 0; i-- {
			b.answer = all[i].wrap(b, b.answer)
		}
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			return b.receive(ctx, next, method, req)
		}
	}, nil
}

func (b *boundary) receive(ctx context.Context, next mcp.MethodHandler, method string, req mcp.Request) (mcp.Result, error) {
	if c := callFrom(ctx); c != nil && c.session == req.GetSession() {
		return next(ctx, method, req) // a boundary further out has this call
	}
	tool, ok := req.(*mcp.CallToolRequest)
	if !ok || method != methodCallTool {
		res, err := b.contain(ctx, next, method, req)
		if list, ok := res.(*mcp.ListToolsResult); ok && err == nil && method == methodListTools {
			return b.withoutDenied(list), nil
		}
		return res, err
	}
	c := newCall(tool)
	res, err := b.answer(context.WithValue(ctx, callKey{}, c), c)
	if err != nil {
		return nil, err
	}
	return res, nil
}

// tool is the innermost endpoint: it crosses into the server's other middleware
// and the tool itself. What comes back there may be malformed in any way, and is
// passed on as a raw outcome for normalising to judge.
func (b *boundary) tool(next mcp.MethodHandler) endpoint {
	return func(ctx context.Context, c *call) (*mcp.CallToolResult, error) {
		c.enter()
		res, err := next(ctx, methodCallTool, c.req)
		if err != nil {
			return nil, err
		}
		tool, ok := res.(*mcp.CallToolResult)
		if !ok || tool == nil {
			return nil, errNoResult
		}
		return tool, nil
	}
}

var errNoResult = errors.New("the handler returned neither a result nor an error")

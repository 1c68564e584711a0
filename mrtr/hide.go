package mrtr

import (
	"context"
	"errors"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/sse/era"
)

// HideUnaskable leaves out of each tools/list the tools that its client could not use: those
// with a [HandlerOptions] Name whose every call asks what this client cannot be asked, and
// has no default to go on with. [HandlerOptions] Needs say so, and so does [AskQuestion]. The
// observer gets a [ToolHidden] for each of them. Any other tool is listed, and so is one of
// several under a name that can be used.
//
// A hidden tool is not removed: a client that calls it gets the error that it would get
// without this. Pages keep their cursors, and may be shorter than the others. The list says
// that it is for this client alone, since an intermediary may otherwise cache it for all.
//
// Call it once for a server, after boundary.Install, which would else take a hidden tool for
// an unknown one.
func (rt *Runtime) HideUnaskable(server *mcp.Server) {
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			list, isList := res.(*mcp.ListToolsResult)
			asks, _ := req.(*mcp.ListToolsRequest)
			if err != nil || !isList || list == nil || asks == nil {
				return res, err
			}
			client, err := rt.narrowed(era.ClientOf(asks), req, asks.Session)
			if err != nil {
				return nil, asProtocolError(ctx, err)
			}
			own := *list // the server's own stays whole
			own.Tools = slices.DeleteFunc(append([]*mcp.Tool{}, list.Tools...), func(tool *mcp.Tool) bool {
				return tool != nil && rt.hides(ctx, exchange{method: method, name: tool.Name, client: client, request: req})
			})
			if own.CacheScope == "public" {
				own.CacheScope = "private"
			}
			return &own, nil
		}
	})
}

// hides reports whether no handler of a tool could ask this client, and tells the observer.
func (rt *Runtime) hides(ctx context.Context, ex exchange) bool {
	var c *Call
	var unaskable error
	for _, t := range rt.registrations.ofName(ex.name) {
		c = &Call{rt: rt, target: t, ex: ex}
		if _, unaskable = c.unaskable(); unaskable == nil {
			return false
		}
	}
	if unaskable == nil {
		return false
	}
	c.identify()
	var wire *jsonrpc.Error
	reason := unaskable.Error()
	if errors.As(unaskable, &wire) {
		reason += ": " + string(wire.Data)
	}
	c.observe(ctx, Event{Kind: ToolHidden, Reason: reason})
	return true
}

// name notes a tool that says its name.
func (r *registrations) name(t *target) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.named == nil {
		r.named = map[string][]*target{}
	}
	r.named[t.name] = append(r.named[t.name], t)
}

func (r *registrations) ofName(name string) []*target {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.named[name]
}

// Package gate asks the user before a destructive tool is called, without touching the tool.
//
//	g, err := gate.Install(server, rt, nil) // rt is an mrtr.Runtime
//
// Every tool counts as destructive unless its annotations say otherwise; [Options.Ask] may
// decide differently. The user reads the tool's title and its arguments in words. Unless they
// approve, the tool is not called. Modern clients are asked by a round trip, legacy ones over
// their session, and a task in the task. A client that cannot be asked is refused.
//
// An approval is for one call, in the words that were read: this tool, these arguments, this
// principal. A tool that is replaced under its name by one of another title, or of which
// [Options.Message] says something else, is asked about anew. If the approval comes again,
// it gets the first result with a store, and without one an error from the instance that made
// the call. A tool with questions of its own asks them afterwards, and what a repeat of those
// rounds does is up to the tool. The gate trusts the client to ask its user.
//
// "Do not ask again" is [Options.Remember], for callers with a principal.
package gate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/usage"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/keep"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// Options configure a gate. Nil, and the zero value, ask before every call of a destructive
// tool.
type Options struct {
	// Ask reports whether a call has to be approved; Tiers(boundary.Destructive) if nil. Its
	// answer for one call must not change from round to round. A call is gated if Ask panics.
	Ask func(tool *mcp.Tool, arguments json.RawMessage) bool
	// Message is the question; [Describe] if nil. Set it to keep secrets out of the question,
	// which shows the arguments as they are. Like Ask, it gives one call the same text each time.
	Message func(tool *mcp.Tool, arguments json.RawMessage) string
	// Remember lets the user say "do not ask again".
	Remember Remember
	// Within bounds an approved call with a store, which runs to its end even if its client
	// leaves or cancels it; 5 minutes if zero.
	Within time.Duration
	// Audience names the server if several servers with different tools share a Runtime.
	// Without it, the second of their gates refuses the tools that both have.
	Audience string
}

// Remember says how long a tool stays approved for a principal who asked for it.
type Remember struct {
	// For is how long; never if zero.
	For time.Duration
	// PerArguments remembers a call with the same arguments alone, instead of every call of
	// the tool.
	PerArguments bool
}

// Tiers asks before calls of the tools of these tiers.
func Tiers(tiers ...boundary.Tier) func(*mcp.Tool, json.RawMessage) bool {
	return func(tool *mcp.Tool, _ json.RawMessage) bool { return slices.Contains(tiers, boundary.TierOf(tool)) }
}

// A Gate stands before the tools of one server, or of several that serve the same tools.
type Gate struct {
	o       Options
	rt      *mrtr.Runtime
	handler mcp.ToolHandler // asks, and calls the tool
	passes  keep.Sealer
	// approvals is nil if none are remembered.
	approvals *approvals
	// spent has the calls that were approved, nil if the runtime's store knows them.
	spent store.Store
}

// Install puts a gate around a server's tools, also those that are added later. Install the
// boundary after the gate, and invalid arguments are refused before anybody is asked.
//
// Tasks that are installed after the gate, as package serve does, ask in the task if
// tasks.Options name the tool. A tool with a policy of its own (mrtr.HandlerOptions) is
// approved first, and its call becomes a task if it takes long enough. So is every call if the
// tasks are installed before the gate.
func Install(server *mcp.Server, rt *mrtr.Runtime, opts *Options) (*Gate, error) {
	if server == nil {
		return nil, misuse("Install on a nil server")
	}
	g, err := New(rt, opts)
	if err != nil {
		return nil, err
	}
	g.Install(server)
	return g, nil
}

// New makes a gate for a program that makes a server for each session, or each request:
// install it in all of them.
func New(rt *mrtr.Runtime, opts *Options) (*Gate, error) {
	if rt == nil {
		return nil, misuse("it needs an mrtr.Runtime")
	}
	g := &Gate{rt: rt}
	if opts != nil {
		g.o = *opts
	}
	switch remembered := g.o.Remember.For; {
	case g.o.Within < 0:
		return nil, misuse("Options.Within is negative: %v", g.o.Within)
	case remembered != 0 && (remembered < store.MinTTL || remembered > store.MaxTTL):
		return nil, misuse("Options.Remember.For is %v: it is %v to %v, or zero", remembered, store.MinTTL, store.MaxTTL)
	}
	var err error
	if g.passes, err = rt.Sealer("gate_pass", rt.StateTTL(), statecodec.MaxMaxToken); err != nil {
		return nil, err
	}
	if g.o.Remember.For > 0 {
		if g.approvals, err = g.newApprovals(); err != nil {
			return nil, err
		}
	}
	if durable.Of(rt.Keeper()) == nil {
		g.spent = store.NewMemory(nil)
	}
	g.handler = rt.RawTool(mrtr.Native(g.decide), &mrtr.HandlerOptions{Audience: g.o.Audience, Within: g.o.Within})
	return g, nil
}

// Install puts the gate around the tools of one more server.
func (g *Gate) Install(server *mcp.Server) {
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			call, ok := req.(*mcp.CallToolRequest)
			if method != toolsCall || !ok || call.Params == nil {
				return next(ctx, method, req)
			}
			tool, err := find(ctx, next, call)
			if err != nil {
				return nil, err
			}
			if !g.asks(tool, call.Params.Arguments) {
				return next(ctx, method, req)
			}
			return g.serve(ctx, &attempt{req: call, tool: tool, next: next})
		}
	})
}

const (
	toolsCall = "tools/call"
	toolsList = "tools/list"
)

// asks reports whether a call has to be approved. Arguments that could be read in two ways, by
// Ask in one and by the tool in the other, are refused with the question.
func (g *Gate) asks(tool *mcp.Tool, arguments json.RawMessage) (asks bool) {
	if g.o.Ask == nil {
		return boundary.TierOf(tool) == boundary.Destructive
	}
	defer func() {
		if recover() != nil {
			asks = true
		}
	}()
	return statecodec.CheckArguments(arguments) != nil || g.o.Ask(tool, arguments)
}

// maxPages bounds a list that does not end.
const maxPages = 1000

// find is the definition of the tool that is called. The list is read for each call, since a
// tool may have been replaced by a more dangerous one. A tool that the list does not show is
// unknown: middleware may hide it.
func find(ctx context.Context, next mcp.MethodHandler, call *mcp.CallToolRequest) (*mcp.Tool, error) {
	params := &mcp.ListToolsParams{Meta: call.Params.Meta}
	for range maxPages {
		res, err := next(ctx, toolsList, &mcp.ListToolsRequest{Session: call.Session, Params: params, Extra: call.Extra})
		list, ok := res.(*mcp.ListToolsResult)
		if err != nil || !ok || list == nil {
			break
		}
		for _, tool := range list.Tools {
			if tool != nil && tool.Name == call.Params.Name {
				return tool, nil
			}
		}
		if list.NextCursor == "" {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown tool %q", call.Params.Name)}
		}
		params = &mcp.ListToolsParams{Meta: call.Params.Meta, Cursor: list.NextCursor}
	}
	return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "The tool was not called: this server cannot tell at the moment what it may do."}
}

func misuse(format string, args ...any) error { return usage.New("gate", format, args...) }

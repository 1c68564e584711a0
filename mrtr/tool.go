package mrtr

import (
	"context"
	"reflect"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/era"
	"github.com/mrtr-go/sdk/internal/snapshot"
	"github.com/mrtr-go/sdk/sse"
)

// HandlerOptions configure one tool, prompt or resource. The zero value, and
// nil, mean the runtime's settings.
type HandlerOptions struct {
	// Legacy overrides the runtime's policy for old clients.
	Legacy LegacyPolicy
	// Version names this version of the handler, for people who read why a call
	// did not go on after a deployment. If empty, it is that of the build.
	Version string
}

// target is what is registered with these options, which it checks.
func (rt *Runtime) target(opts *HandlerOptions, hasStyle, replays bool) *target {
	if !hasStyle {
		panic(misuse("the zero Style handles nothing"))
	}
	var o HandlerOptions
	if opts != nil {
		o = *opts
	}
	if !o.Legacy.valid() {
		panic(misuse("HandlerOptions.Legacy is not a policy: %d", o.Legacy))
	}
	t := &target{policy: o.Legacy, version: o.Version, replays: replays}
	if t.policy == LegacyInherit {
		t.policy = rt.opts.Legacy
	}
	if t.version == "" {
		t.version = buildVersion
	}
	return t
}

// A Texter is an output that says its own text, for people and models. The
// structured output stands beside it.
type Texter interface{ Text() string }

// Tool makes a style into a tool handler, for mcp.AddTool. Like that it panics on
// what is wrong with the program: the zero Style, or a policy that is none. So
// do [RawTool], [Prompt] and [Resource].
func Tool[In, Out any](rt *Runtime, s Style[In, Out], opts *HandlerOptions) mcp.ToolHandlerFor[In, Out] {
	t := rt.target(opts, s.valid(), s.replays)
	mutable := snapshot.Shares(reflect.TypeFor[In]())
	h := func(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		var out, none Out
		var res *mcp.CallToolResult
		inputs := inputs[In]{next: in, mutable: mutable}
		need, err := rt.round(ctx, toolExchange(req), t, func(ctx context.Context, c *Call) (ir *IncompleteResult, err error) {
			if ir, out, err = s.run(ctx, c, inputs.take()); ir == nil && err == nil {
				res = textResult(&out)
			}
			return ir, err
		})
		switch {
		case err != nil:
			return nil, none, err
		case need != nil:
			return &mcp.CallToolResult{InputRequests: need.requests, RequestState: need.token}, none, nil
		}
		return res, out, nil
	}
	if t.policy.loops() {
		bridged := sse.Bridge(h, rt.opts.Bridge)
		return func(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
			if era.Of(req) != era.Legacy {
				return bridged(ctx, req, in)
			}
			ctx, last := withLastRound(ctx)
			res, out, err := bridged(ctx, req, in)
			last.ended(ctx, err)
			return res, out, err
		}
	}
	return h
}

// inputs hands out the input of a handler that may be entered several times in a
// round: every entry gets it as it arrived.
type inputs[In any] struct {
	next    In
	mutable bool // an entry can change what next points to
}

func (i *inputs[In]) take() In {
	in := i.next
	if i.mutable {
		i.next = snapshot.Of(in)
	}
	return in
}

// textResult is the content of an output that says its own text, nil for
// others, whose content go-sdk makes from the structured output. The method may
// be that of the output's pointer, which has those of the output too, unless
// that is a pointer or an interface itself.
func textResult[Out any](out *Out) *mcp.CallToolResult {
	text, ok := any(out).(Texter)
	if !ok {
		switch reflect.TypeFor[Out]().Kind() {
		case reflect.Pointer, reflect.Interface:
			text, ok = any(*out).(Texter)
		}
	}
	if !ok {
		return nil
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text.Text()}}}
}

func toolExchange(req *mcp.CallToolRequest) exchange {
	return exchange{
		method: "tools/call", name: req.Params.Name, arguments: req.Params.Arguments,
		token: req.Params.RequestState, answers: req.Params.InputResponses,
		client: era.ClientOf(req), session: req.Session, request: req,
	}
}

package mrtr

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"reflect"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/era"
	"github.com/mrtr-go/sdk/internal/snapshot"
	"github.com/mrtr-go/sdk/sse"
)

// A Texter is an output that says its own text, for people and models. The
// structured output stands beside it.
type Texter interface{ Text() string }

// Tool makes a style into a tool handler, for mcp.AddTool. As that does, it panics
// where the program is wrong: on the zero Style, and on an unknown policy. So do
// [RawTool], [Prompt] and [Resource].
func Tool[In, Out any](rt *Runtime, s Style[In, Out], opts *HandlerOptions) mcp.ToolHandlerFor[In, Out] {
	t := rt.target(opts, s.facts())
	mutable := snapshot.Shares(reflect.TypeFor[In]())
	t.held = func() (kept, enterFunc) {
		result := &typedResult[Out]{}
		return result, func(ctx context.Context, c *Call) (ir *IncompleteResult, err error) {
			var in In // the frame has it
			if ir, result.out, err = s.run(ctx, c, in); ir == nil && err == nil {
				result.res = textResult(&result.out)
			}
			return ir, err
		}
	}
	h := func(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		var none Out
		var own typedResult[Out]
		result := &own
		inputs := inputs[In]{next: in, mutable: mutable}
		var to kept
		if rt.memory != nil { // else it stays on the stack
			shared := &typedResult[Out]{}
			result, to = shared, shared
		}
		need, err := rt.round(ctx, toolExchange(req), t, to, func(ctx context.Context, c *Call) (ir *IncompleteResult, err error) {
			if ir, result.out, err = s.run(ctx, c, inputs.take()); ir == nil && err == nil {
				result.res = textResult(&result.out)
			}
			return ir, err
		})
		switch {
		case err != nil:
			return nil, none, err
		case need != nil:
			return &mcp.CallToolResult{InputRequests: need.requests, RequestState: need.token}, none, nil
		}
		return result.res, result.out, nil
	}
	if !t.policy.loops() {
		return h
	}
	bridged := sse.Bridge(h, rt.opts.Bridge)
	return func(ctx context.Context, req *mcp.CallToolRequest, in In) (res *mcp.CallToolResult, out Out, err error) {
		watch(ctx, era.Of(req), func(ctx context.Context) error {
			res, out, err = bridged(ctx, req, in)
			return err
		})
		return res, out, err
	}
}

// RawTool makes a style into a raw tool handler, for mcp.Server.AddTool and
// schemas made at run time: the arguments come as they arrived, unchecked
// but for what no state can be bound to ([statecodec.Binding]), and the result goes
// out as it is. An error becomes an error result.
func RawTool(rt *Runtime, s Style[json.RawMessage, *mcp.CallToolResult], opts *HandlerOptions) mcp.ToolHandler {
	t := rt.target(opts, s.facts())
	t.held = func() (kept, enterFunc) {
		result := &rawResult{}
		return result, func(ctx context.Context, c *Call) (ir *IncompleteResult, err error) {
			ir, result.out, err = s.run(ctx, c, nil)
			return ir, err
		}
	}
	h := func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var own rawResult
		result := &own
		var to kept
		if rt.memory != nil {
			shared := &rawResult{}
			result, to = shared, shared
		}
		need, err := rt.round(ctx, toolExchange(req), t, to, func(ctx context.Context, c *Call) (ir *IncompleteResult, err error) {
			ir, result.out, err = s.run(ctx, c, bytes.Clone(req.Params.Arguments))
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
		case result.out == nil:
			return &mcp.CallToolResult{}, nil
		}
		sent := *result.out // go-sdk writes to the result that it sends
		sent.Meta = maps.Clone(sent.Meta)
		return &sent, nil
	}
	if !t.policy.loops() {
		return h
	}
	return watched(sse.BridgeTool(h, rt.opts.Bridge), (*mcp.CallToolResult).GetError)
}

func toolExchange(req *mcp.CallToolRequest) exchange {
	return exchange{
		method: toolsCall, name: req.Params.Name, arguments: req.Params.Arguments,
		token: req.Params.RequestState, answers: req.Params.InputResponses,
		client: era.ClientOf(req), session: req.Session, request: req,
	}
}

// inputs hands out the input of a handler that may be entered several times in a
// round: every entry gets it as it arrived.
type inputs[In any] struct {
	next    In
	mutable bool // an entry can change memory that next points to
}

func (i *inputs[In]) take() In {
	in := i.next
	if i.mutable {
		i.next = snapshot.Of(in)
	}
	return in
}

// textResult is the content of an output that says its own text, nil for others,
// whose content go-sdk makes from the structured output. The method may be that of
// the output's pointer, which has those of the output too, unless that is a pointer
// or an interface itself.
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

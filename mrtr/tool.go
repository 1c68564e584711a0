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

// ContentProvider is an output with content of its own: images, audio, links, embedded
// resources. It follows the text of a [Texter]. The structured output, made of the
// fields that encode as JSON, stands beside it.
type ContentProvider interface{ Content() []mcp.Content }

// MetaProvider is an output with the _meta of its result.
type MetaProvider interface{ Meta() mcp.Meta }

// Tool makes a style into a tool handler, for mcp.AddTool. As that does, it panics
// where the program is wrong: on the zero Style, on an unknown policy, and where Out is
// a whole result, which would be nested in the structured output of another: such a
// style is for [RawTool], and [ContentProvider] for more than text. [RawTool], [Prompt]
// and [Resource] panic likewise.
func Tool[In, Out any](rt *Runtime, s Style[In, Out], opts *HandlerOptions) mcp.ToolHandlerFor[In, Out] {
	if whole := reflect.TypeFor[mcp.CallToolResult](); reflect.TypeFor[Out]() == whole || reflect.TypeFor[Out]() == reflect.PointerTo(whole) {
		panic(misuse("Tool: the output is an mcp.CallToolResult, which would be nested in itself: use RawTool, or an output with a method Content() []mcp.Content"))
	}
	t := rt.target(opts, s.facts())
	mutable := snapshot.Shares(reflect.TypeFor[In]())
	tells := tellsItself[Out]()
	t.held = func() (recordable, enterFunc) {
		result := &typedResult[Out]{}
		return result, func(ctx context.Context, c *Call) (ir *IncompleteResult, err error) {
			var in In // the frame has it
			if ir, result.out, err = s.run(ctx, c, in); tells && ir == nil && err == nil {
				err = result.tell()
			}
			return ir, err
		}
	}
	h := func(ctx context.Context, req *mcp.CallToolRequest, in In, client era.Client) (*mcp.CallToolResult, Out, error) {
		var none Out
		var own typedResult[Out]
		result := &own
		inputs := inputs[In]{next: in, mutable: mutable}
		var to recordable
		ex := toolExchange(req, client)
		if rt.memory != nil && ex.token != "" { // else it stays on the stack
			shared := &typedResult[Out]{}
			result, to = shared, shared
		}
		need, err := rt.round(ctx, ex, t, to, func(ctx context.Context, c *Call) (ir *IncompleteResult, err error) {
			if ir, result.out, err = s.run(ctx, c, inputs.take()); tells && ir == nil && err == nil {
				err = result.tell()
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
	unbridged := func(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		return h(ctx, req, in, era.ClientOf(req))
	}
	if !t.policy.loops() {
		return unbridged
	}
	bridged := sse.Bridge(unbridged, rt.opts.bridgeOptions())
	return func(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		if client := era.ClientOf(req); client.Era == era.Modern {
			return h(ctx, req, in, client)
		}
		return watchTyped(ctx, req, in, bridged)
	}
}

// watchTyped is a function of its own so that the modern path does not pay for the
// variables that escape here.
func watchTyped[In, Out any](ctx context.Context, req *mcp.CallToolRequest, in In, bridged mcp.ToolHandlerFor[In, Out]) (res *mcp.CallToolResult, out Out, err error) {
	watch(ctx, era.Of(req), func(ctx context.Context) error {
		res, out, err = bridged(ctx, req, in)
		return err
	})
	return res, out, err
}

// RawTool makes a style into a raw tool handler, for mcp.Server.AddTool and
// schemas made at run time: the arguments come as they arrived, unchecked
// but for what no state can be bound to ([statecodec.Binding]), and the result goes
// out as it is. An error becomes an error result.
func RawTool(rt *Runtime, s Style[json.RawMessage, *mcp.CallToolResult], opts *HandlerOptions) mcp.ToolHandler {
	t := rt.target(opts, s.facts())
	t.held = func() (recordable, enterFunc) {
		result := &rawResult{}
		return result, func(ctx context.Context, c *Call) (ir *IncompleteResult, err error) {
			ir, result.out, err = s.run(ctx, c, nil)
			return ir, err
		}
	}
	h := func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var own rawResult
		result := &own
		var to recordable
		if rt.memory != nil {
			shared := &rawResult{}
			result, to = shared, shared
		}
		need, err := rt.round(ctx, toolExchange(req, era.ClientOf(req)), t, to, func(ctx context.Context, c *Call) (ir *IncompleteResult, err error) {
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
	return watched(sse.BridgeTool(h, rt.opts.bridgeOptions()), (*mcp.CallToolResult).GetError)
}

func toolExchange(req *mcp.CallToolRequest, client era.Client) exchange {
	return exchange{
		method: toolsCall, name: req.Params.Name, arguments: req.Params.Arguments,
		token: req.Params.RequestState, answers: req.Params.InputResponses,
		client: client, session: req.Session, request: req,
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

// tellsItself reports whether an output can have text, content or _meta of its own.
func tellsItself[Out any]() bool {
	t := reflect.TypeFor[Out]()
	if t.Kind() == reflect.Interface { // its values decide
		return true
	}
	for _, way := range []reflect.Type{reflect.TypeFor[Texter](), reflect.TypeFor[ContentProvider](), reflect.TypeFor[MetaProvider]()} {
		if t.Implements(way) || reflect.PointerTo(t).Implements(way) {
			return true
		}
	}
	return false
}

// tell lets the output make its own result. The output is copied for that, so that one
// that tells nothing need not be on the heap.
func (k *typedResult[Out]) tell() (err error) {
	out := k.out
	k.res, err = ownResult(&out)
	k.out = out
	return err
}

// ownResult holds the text, content and _meta of an output that has any, else nil:
// go-sdk makes the content from the structured output where there is none.
func ownResult[Out any](out *Out) (*mcp.CallToolResult, error) {
	texter, speaks := provider[Texter](out)
	contents, shows := provider[ContentProvider](out)
	meta, annotates := provider[MetaProvider](out)
	if !speaks && !shows && !annotates {
		return nil, nil
	}
	res := &mcp.CallToolResult{}
	if speaks {
		res.Content = []mcp.Content{&mcp.TextContent{Text: texter.Text()}}
	}
	if shows {
		for _, content := range contents.Content() {
			if v := reflect.ValueOf(content); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
				return nil, misuse("the content of a %T has an element that is nil", *out)
			}
			res.Content = append(res.Content, content)
		}
	}
	if annotates {
		res.Meta = maps.Clone(meta.Meta()) // go-sdk writes to it
	}
	return res, nil
}

// provider is the output as an interface that it implements. The method may be that of
// the output's pointer, which has those of the output too, unless that is a pointer or
// an interface itself.
func provider[I, Out any](out *Out) (_ I, ok bool) {
	if own, ok := any(out).(I); ok {
		return own, true
	}
	switch reflect.TypeFor[Out]().Kind() {
	case reflect.Pointer, reflect.Interface:
		own, ok := any(*out).(I)
		return own, ok
	}
	var none I
	return none, false
}

package mrtr

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"reflect"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/sse"
)

// HandlerOptions configure one tool, prompt or resource. The zero value, and
// nil, mean the runtime's settings.
type HandlerOptions struct {
	// Legacy overrides the runtime's policy for old clients.
	Legacy Legacy
	// Version names this version of the handler, for people who read why a call
	// did not go on after a deployment. If empty, it is that of the build.
	Version string
}

// target checks the options. What is wrong with them is wrong with the
// program, so, as with mcp.AddTool, it panics.
func (rt *Runtime) target(opts *HandlerOptions, hasStyle bool) *target {
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
	t := &target{policy: o.Legacy, version: o.Version}
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

// Tool makes a style into a tool handler, for mcp.AddTool.
func Tool[In, Out any](rt *Runtime, s Style[In, Out], opts *HandlerOptions) mcp.ToolHandlerFor[In, Out] {
	t := rt.target(opts, s.valid())
	mutable := hasReferences(reflect.TypeFor[In]())
	h := func(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		var out, none Out
		var res *mcp.CallToolResult
		again := repeat(in, mutable)
		need, err := rt.round(ctx, toolExchange(req), t, func(ctx context.Context, c *Call) (ir *IncompleteResult, err error) {
			in, err := again()
			if err != nil {
				return nil, err
			}
			if ir, out, err = s.run(ctx, c, in); ir == nil && err == nil {
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
		return sse.Bridge(h, rt.opts.Bridge)
	}
	return h
}

// textResult is the content of an output that says its own text, nil for
// others, whose content go-sdk makes from the structured output. The method may
// be that of a pointer.
func textResult[Out any](out *Out) *mcp.CallToolResult {
	text, ok := any(*out).(Texter)
	if !ok {
		if text, ok = any(out).(Texter); !ok {
			return nil
		}
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text.Text()}}}
}

// RawTool makes a style into a raw tool handler, for mcp.Server.AddTool and
// schemas made at run time: the arguments come as they arrived, unchecked, and
// the result goes out as it is. An error becomes an error result.
func RawTool(rt *Runtime, s Style[json.RawMessage, *mcp.CallToolResult], opts *HandlerOptions) mcp.ToolHandler {
	t := rt.target(opts, s.valid())
	h := func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var out *mcp.CallToolResult
		need, err := rt.round(ctx, toolExchange(req), t, func(ctx context.Context, c *Call) (ir *IncompleteResult, err error) {
			ir, out, err = s.run(ctx, c, bytes.Clone(req.Params.Arguments))
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
		case out == nil:
			return &mcp.CallToolResult{}, nil
		}
		own := *out // the SDK writes to what it sends
		own.Meta = maps.Clone(out.Meta)
		return &own, nil
	}
	if t.policy.loops() {
		return sse.BridgeTool(h, rt.opts.Bridge)
	}
	return h
}

func toolExchange(req *mcp.CallToolRequest) exchange {
	return exchange{
		method: "tools/call", name: req.Params.Name, arguments: req.Params.Arguments,
		token: req.Params.RequestState, answers: req.Params.InputResponses,
		client: sse.ClientOf(req), session: req.Session, request: req,
	}
}

// repeat hands out the input of a handler that may be entered more than once
// in a round, so that no entry sees what another did to it.
func repeat[In any](in In, mutable bool) func() (In, error) {
	if !mutable {
		return func() (In, error) { return in, nil }
	}
	snapshot, err := json.Marshal(in)
	first := true
	return func() (again In, _ error) {
		if first {
			first = false
			return in, nil
		}
		if err == nil {
			err = json.Unmarshal(snapshot, &again)
		}
		return again, err
	}
}

// hasReferences reports whether a copy of a value shares memory with it.
func hasReferences(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Struct:
		for f := range fieldsOf(t) {
			if hasReferences(f.Type) {
				return true
			}
		}
		return false
	case reflect.Array:
		return hasReferences(t.Elem())
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Interface, reflect.Func, reflect.Chan, reflect.UnsafePointer:
		return true
	}
	return false
}

package mrtr

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"reflect"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/snapshot"
	"github.com/mrtr-go/sdk/sse/era"
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

// Tool makes a style into a tool handler, for [AddTool] or mcp.AddTool. As those do, it panics
// where the program is wrong: on the zero Style, on an unknown policy, and where Out is
// a whole result, which would be nested in the structured output of another: such a
// style is for [RawTool], and [ContentProvider] for more than text. [RawTool], [Prompt]
// and [Resource] panic likewise.
func Tool[In, Out any](rt *Runtime, s Style[In, Out], opts *HandlerOptions) mcp.ToolHandlerFor[In, Out] {
	if whole := reflect.TypeFor[mcp.CallToolResult](); reflect.TypeFor[Out]() == whole || reflect.TypeFor[Out]() == reflect.PointerTo(whole) {
		panic(misuse("Tool: the output is an mcp.CallToolResult, which would be nested in itself: use RawTool, or an output with a method Content() []mcp.Content"))
	}
	f := newFront(rt, s, opts, typedFormat[Out]{hasOwnContent[Out]()})
	return func(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		var none Out
		round, questions, err := f.serve(ctx, toolExchange(req), in)
		switch {
		case err != nil:
			return nil, none, err
		case questions != nil:
			return &mcp.CallToolResult{InputRequests: questions.requests, RequestState: questions.token}, none, nil
		}
		return round.own, round.out, nil
	}
}

// RawTool makes a style into a raw tool handler, for mcp.Server.AddTool and
// schemas made at run time: the arguments come as they arrived, unchecked
// but for what no state can be bound to ([statecodec.Binding]), and the result goes
// out as it is. An error becomes an error result. A result that asks, as a gateway may get
// from another server, is a [UsageError]: its questions are asked with [Need].
func RawTool(rt *Runtime, s Style[json.RawMessage, *mcp.CallToolResult], opts *HandlerOptions) mcp.ToolHandler {
	f := newFront(rt, s, opts, rawFormat{})
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		round, questions, err := f.serve(ctx, toolExchange(req), bytes.Clone(req.Params.Arguments))
		switch {
		case isProtocolError(err):
			return nil, err
		case err != nil:
			res := &mcp.CallToolResult{}
			res.SetError(err)
			return res, nil
		case questions != nil:
			return &mcp.CallToolResult{InputRequests: questions.requests, RequestState: questions.token}, nil
		case round.out == nil:
			return &mcp.CallToolResult{}, nil
		}
		return snapshot.Result(round.out), nil
	}
}

func toolExchange(req *mcp.CallToolRequest) exchange {
	return exchange{
		method: toolsCall, name: req.Params.Name, arguments: req.Params.Arguments,
		token: req.Params.RequestState, answers: req.Params.InputResponses,
		client: era.ClientOf(req), request: req,
	}
}

// hasOwnContent reports whether an output can have text, content or _meta of its own.
func hasOwnContent[Out any]() bool {
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

// Prompt makes a style into a prompt handler. Its input is the prompt's arguments.
// Prompts have no error results, so that every error is a JSON-RPC error.
func Prompt(rt *Runtime, s Style[map[string]string, *mcp.GetPromptResult], opts *HandlerOptions) mcp.PromptHandler {
	f := newFront(rt, s, opts, wholeFormat[mcp.GetPromptResult]{})
	f.target.forToolsAlone()
	return func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		var arguments json.RawMessage // no arguments are the same, present or not
		if len(req.Params.Arguments) > 0 {
			arguments, _ = json.Marshal(req.Params.Arguments) // strings always encode
		}
		round, questions, err := f.serve(ctx, exchange{
			method: promptsGet, name: req.Params.Name, arguments: arguments,
			token: req.Params.RequestState, answers: req.Params.InputResponses,
			client: era.ClientOf(req), request: req,
		}, maps.Clone(req.Params.Arguments))
		switch {
		case err != nil:
			return nil, asProtocolError(ctx, err)
		case questions != nil:
			return &mcp.GetPromptResult{InputRequests: questions.requests, RequestState: questions.token}, nil
		case round.out == nil:
			return &mcp.GetPromptResult{}, nil
		}
		return snapshot.Result(round.out), nil
	}
}

// Resource makes a style into a resource handler. Its input is the address that is
// read. As with [Prompt], every error is a JSON-RPC error. The result of a call that asked
// goes out uncached.
func Resource(rt *Runtime, s Style[string, *mcp.ReadResourceResult], opts *HandlerOptions) mcp.ResourceHandler {
	f := newFront(rt, s, opts, wholeFormat[mcp.ReadResourceResult]{})
	f.target.forToolsAlone()
	return func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		round, questions, err := f.serve(ctx, exchange{
			method: resourcesRead, name: req.Params.URI,
			token: req.Params.RequestState, answers: req.Params.InputResponses,
			client: era.ClientOf(req), request: req,
		}, req.Params.URI)
		switch {
		case err != nil:
			return nil, asProtocolError(ctx, err)
		case questions != nil:
			return &mcp.ReadResourceResult{InputRequests: questions.requests, RequestState: questions.token}, nil
		case round.out == nil:
			return &mcp.ReadResourceResult{}, nil
		}
		made := snapshot.Result(round.out)
		if round.call.Round() > 1 { // it was made of somebody's answers
			made.Cacheable = mcp.Cacheable{CacheScope: "private"}
		}
		return made, nil
	}
}

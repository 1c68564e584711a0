package mrtr

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/internal/snapshot"
	"github.com/mrtr-go/sdk/mrtr/internal/typed"
	"github.com/mrtr-go/sdk/sse"
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

// AddTool adds a tool to a server. It does what mcp.AddTool does, at less than half the cost
// of a call: arguments and output are decoded from their bytes instead of through buffers of
// 32 KiB, and mcphttp can serve the tool past go-sdk's HTTP layer. It takes any typed handler,
// that of [Tool] like one of your own.
func AddTool[In, Out any](s *mcp.Server, t *mcp.Tool, h mcp.ToolHandlerFor[In, Out]) {
	described, handler := typed.Handler(t, h)
	AddRawTool(s, described, handler)
}

// AddRawTool adds a tool to a server as mcp.Server.AddTool does. Like [AddTool] it lets mcphttp
// serve the tool past go-sdk's HTTP layer.
func AddRawTool(s *mcp.Server, t *mcp.Tool, h mcp.ToolHandler) {
	rendezvous.AddTool(s, t, h)
}

// front is a registered handler: the one way from a request to a round, whichever of the
// three methods it is for.
type front[In, Out any] struct {
	rt      *Runtime
	style   Style[In, Out]
	target  *target
	mutable bool // an entry can change memory that its input shares with the next one
	format  resultFormat[Out]
}

func newFront[In, Out any](rt *Runtime, s Style[In, Out], opts *HandlerOptions, format resultFormat[Out]) *front[In, Out] {
	if !s.valid() {
		panic(misuse("the zero Style handles nothing: its handler is nil, or Build failed"))
	}
	return &front[In, Out]{rt: rt, style: s, target: rt.target(opts, s.styleFacts), mutable: snapshot.Shares(reflect.TypeFor[In]()), format: format}
}

// serve runs the round that a request asks for. The questions are nil where the call is
// complete. A legacy client never calls again: unless its handler stands in a bridge of
// its own, it is asked here while its one request is open, and gets no questions.
func (f *front[In, Out]) serve(ctx context.Context, ex exchange, in In) (*roundOf[In, Out], *asked, error) {
	if err := f.rt.enter(ctx, &ex, f.target); err != nil {
		return nil, nil, err
	}
	defer f.rt.door.leave()
	if f.rt.opts.Narrow != nil {
		var err error
		if ctx, err = f.rt.narrow(ctx, &ex, f.target); err != nil {
			return nil, nil, err
		}
	}
	if ex.client.Era == era.Modern || !f.target.policy.loops() {
		return f.round(ctx, ex, in)
	}
	rounds := sse.NewRounds(ex.client, ex.session(), ex.request.GetParams().(mcp.RequestParams), f.rt.opts.bridgeOptions())
	ctx, ex.legacy = rendezvous.CollectMisfits(ctx), &legacyRounds{}
	for {
		r, questions, err := f.round(ctx, ex, in)
		if err != nil || questions == nil {
			return r, nil, err
		}
		*ex.legacy, in = legacyRounds{last: &r.call, asked: time.Now()}, r.in
		answered := f.rt.asking.begins(ex.legacy)
		ex.answers, err = rounds.Ask(ctx, questions.requests, r.call.st.deadlines())
		answered()
		if err != nil {
			return r, nil, r.call.abandon(ctx, err)
		}
	}
}

// round runs one round: one of the server's, or one that lives with its request.
func (f *front[In, Out]) round(ctx context.Context, ex exchange, in In) (*roundOf[In, Out], *asked, error) {
	if f.rt.detaches(&ex, f.target) {
		return f.detach(ctx, ex, in)
	}
	r := &roundOf[In, Out]{front: f, in: in}
	questions, err := f.rt.run(ctx, ex, f.target, r)
	return r, questions, err
}

// legacyRounds are those of a legacy client's call, whose state stays here.
type legacyRounds struct {
	last  *Call     // the round before, nil in the first
	asked time.Time // when its questions went out
}

// abandon ends a call whose client was asked and has not answered: without another round
// that could, it unwinds the handler and runs the functions of OnStop. The error reports
// the call's effects.
func (c *Call) abandon(ctx context.Context, err error) error {
	stops, _ := c.unwind(ctx, nil, err)
	c.stop(ctx, stops, err)
	err = c.reportEffects(err)
	c.observe(ctx, Event{Kind: CallStopped, Err: err})
	return err
}

// round is the part of a round that knows the types of its handler.
type round interface {
	// begin makes the round's call.
	begin() *Call
	// enter runs the author's code. No result and no error means that the call is complete.
	enter(ctx context.Context, c *Call) (*IncompleteResult, error)
	// save is the result as JSON, for a store. load makes a result of that JSON again
	// which is the same, byte for byte on the wire. A result that would not be the same
	// is replaced by save with one that is.
	save() (json.RawMessage, error)
	load(saved json.RawMessage) error
}

// roundOf is the round of one request: its call, its input and its result, in one piece.
type roundOf[In, Out any] struct {
	front  *front[In, Out]
	call   Call
	ledger ledger
	in     In // as the next entry gets it
	result[Out]
}

func (r *roundOf[In, Out]) begin() *Call {
	r.call.ledger = &r.ledger
	return &r.call
}

// enter gives each entry the input as it arrived: a handler may be entered several times
// in a round.
func (r *roundOf[In, Out]) enter(ctx context.Context, c *Call) (*IncompleteResult, error) {
	in := r.in
	if r.front.mutable {
		r.in = snapshot.Of(in)
	}
	need, out, err := r.front.style.run(ctx, c, in)
	if need == nil && err == nil {
		r.out = out
		err = r.front.format.complete(&r.result)
	}
	return need, err
}

func (r *roundOf[In, Out]) save() (json.RawMessage, error) { return r.front.format.save(&r.result) }

func (r *roundOf[In, Out]) load(saved json.RawMessage) error {
	return r.front.format.load(&r.result, saved)
}

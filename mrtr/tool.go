package mrtr

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"reflect"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/callerror"
	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/internal/snapshot"
	"github.com/mrtr-go/sdk/mrtr/internal/question"
	"github.com/mrtr-go/sdk/mrtr/internal/report"
	"github.com/mrtr-go/sdk/mrtr/internal/result"
	"github.com/mrtr-go/sdk/mrtr/internal/typed"
	"github.com/mrtr-go/sdk/mrtr/listen"
	"github.com/mrtr-go/sdk/sse/era"
)

// Add adds a tool. Like mcp.AddTool it panics where the program is wrong. An output may have
// methods Text() string, Content() []mcp.Content and Meta() mcp.Meta, for more than data.
func Add[In, Out any](s *mcp.Server, r *Runtime, t *mcp.Tool, h Style[In, Out], o ...*HandlerOptions) {
	var own HandlerOptions
	if len(o) > 1 {
		panic(misuse("Add has %d HandlerOptions: put all of them into one", len(o)))
	}
	if len(o) == 1 && o[0] != nil {
		own = *o[0]
	}
	own.Name = t.Name
	if raw, ok := any(h).(Style[json.RawMessage, *mcp.CallToolResult]); ok {
		rendezvous.AddTool(s, t, r.RawTool(raw, &own))
		return
	}
	AddTool(s, t, Tool(r, h, &own))
}

// Tool makes a handler for mcp.AddTool. [Add] is shorter, and a call costs half.
func Tool[In, Out any](rt *Runtime, s Style[In, Out], opts *HandlerOptions) mcp.ToolHandlerFor[In, Out] {
	if whole := reflect.TypeFor[mcp.CallToolResult](); reflect.TypeFor[Out]() == whole || reflect.TypeFor[Out]() == reflect.PointerTo(whole) {
		panic(misuse("Tool: the output is an mcp.CallToolResult, which would be nested in itself: use RawTool, or an output with a method Content() []mcp.Content"))
	}
	f := newFront(rt, s, opts, result.Typed[Out]())
	return func(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		var none Out
		done, asks, err := f.serve(ctx, toolExchange(req), in)
		switch {
		case err != nil:
			return nil, none, err
		case asks.requests != nil:
			return &mcp.CallToolResult{InputRequests: asks.requests, RequestState: asks.token}, none, nil
		}
		return done.Own, done.Out, nil
	}
}

// RawTool makes a handler for mcp.Server.AddTool: arguments come, and results go, as they are.
func (rt *Runtime) RawTool(s Style[json.RawMessage, *mcp.CallToolResult], o *HandlerOptions) mcp.ToolHandler {
	f := newFront(rt, s, o, result.Raw{})
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		done, asks, err := f.serve(ctx, toolExchange(req), bytes.Clone(req.Params.Arguments))
		switch {
		case isProtocolError(asWire(err)):
			return nil, asWire(err)
		case err != nil:
			res := &mcp.CallToolResult{}
			res.SetError(err)
			return res, nil
		case asks.requests != nil:
			return &mcp.CallToolResult{InputRequests: asks.requests, RequestState: asks.token}, nil
		}
		return whole(done.Out), nil
	}
}

func toolExchange(req *mcp.CallToolRequest) exchange {
	return exchange{
		method: toolsCall, name: req.Params.Name, arguments: req.Params.Arguments,
		token: req.Params.RequestState, answers: req.Params.InputResponses,
		client: era.ClientOf(req), request: req,
	}
}

// Prompt makes a prompt handler. Every error of a prompt or resource is a JSON-RPC error.
func (rt *Runtime) Prompt(s Style[map[string]string, *mcp.GetPromptResult], o *HandlerOptions) mcp.PromptHandler {
	f := newFront(rt, s, o, result.Whole[mcp.GetPromptResult]{})
	f.target.forToolsAlone()
	return func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		var arguments json.RawMessage // no arguments are the same, present or not
		if len(req.Params.Arguments) > 0 {
			arguments, _ = json.Marshal(req.Params.Arguments) // strings always encode
		}
		done, asks, err := f.serve(ctx, exchange{
			method: promptsGet, name: req.Params.Name, arguments: arguments,
			token: req.Params.RequestState, answers: req.Params.InputResponses,
			client: era.ClientOf(req), request: req,
		}, maps.Clone(req.Params.Arguments))
		switch {
		case err != nil:
			return nil, report.AsProtocol(ctx, err)
		case asks.requests != nil:
			return &mcp.GetPromptResult{InputRequests: asks.requests, RequestState: asks.token}, nil
		}
		return whole(done.Out), nil
	}
}

// Resource makes a resource handler, whose input is the address.
func (rt *Runtime) Resource(s Style[string, *mcp.ReadResourceResult], opts *HandlerOptions) mcp.ResourceHandler {
	f := newFront(rt, s, opts, result.Whole[mcp.ReadResourceResult]{})
	f.target.forToolsAlone()
	return func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		done, asks, err := f.serve(ctx, exchange{
			method: resourcesRead, name: req.Params.URI,
			token: req.Params.RequestState, answers: req.Params.InputResponses,
			client: era.ClientOf(req), request: req,
		}, req.Params.URI)
		switch {
		case err != nil:
			return nil, report.AsProtocol(ctx, err)
		case asks.requests != nil:
			return &mcp.ReadResourceResult{InputRequests: asks.requests, RequestState: asks.token}, nil
		}
		made := whole(done.Out)
		if done.asked { // it was made of one user's answers
			made.Cacheable = mcp.Cacheable{CacheScope: "private"}
		}
		return made, nil
	}
}

// whole is a result of its own for a request whose handler made all of it, or none.
func whole[R any, P interface {
	*R
	mcp.Result
}](out P) P {
	if out == nil {
		return new(R)
	}
	return snapshot.Result(out)
}

// AddTool is mcp.AddTool at less than half the cost of a call, for any handler: package mcphttp serves
// the tool past go-sdk's layers.
func AddTool[In, Out any](s *mcp.Server, t *mcp.Tool, h mcp.ToolHandlerFor[In, Out]) {
	described, handler := typed.Handler(t, h)
	rendezvous.AddTool(s, described, handler)
}

// front is a registered handler: the one way from a request to a round, whichever of the three
// methods it is for.
type front[In, Out any] struct {
	rt      *Runtime
	style   Style[In, Out]
	target  *target
	mutable bool // an entry can change memory that its input shares with the next one
	format  result.Format[Out]
}

func newFront[In, Out any](rt *Runtime, s Style[In, Out], opts *HandlerOptions, format result.Format[Out]) *front[In, Out] {
	f := &front[In, Out]{rt: rt, style: s, mutable: snapshot.Shares(reflect.TypeFor[In]()), format: format}
	f.target = newTarget(rt, &s, opts, format)
	return f
}

// complete is the result of a call that is complete, and whether it asked.
type complete[Out any] struct {
	*result.Result[Out]
	asked bool
}

// asks are the questions of a call that is not complete.
type asks struct {
	requests mcp.InputRequestMap // nil where the call is complete
	token    string
	until    map[string]time.Time // of the questions that have a deadline
}

// serve runs the round that a request asks for. The questions are nil where the call is
// complete. A legacy client never calls again: it is asked here, while its one request is
// open, and gets no questions.
func (f *front[In, Out]) serve(ctx context.Context, ex exchange, in In) (complete[Out], asks, error) {
	var none complete[Out]
	rt := f.rt
	if later := ex.client.Era == era.Legacy && ex.token != ""; !rt.door.Enter(later) {
		newRound(f.target, ex).turnedAway(ctx)
		return none, asks{}, callerror.ShuttingDown()
	}
	defer rt.door.Leave()
	if rt.opts.Narrow != nil {
		var err error
		if ctx, err = rt.narrow(ctx, &ex, f.target); err != nil {
			return none, asks{}, err
		}
	}
	if ex.client.Era == era.Modern || f.target.policy == LegacyPassThrough {
		return f.round(ctx, ex, in)
	}
	return f.askLegacy(ctx, ex, in)
}

// round runs one round.
func (f *front[In, Out]) round(ctx context.Context, ex exchange, in In) (done complete[Out], _ asks, _ error) {
	f.rt.rounds.Add(1)
	defer f.rt.rounds.Add(-1)
	r := &roundOf[In, Out]{front: f, in: in}
	r.target, r.ex, r.handler = f.target, ex, r
	o := r.serve(ctx)
	switch {
	case o.Err != nil:
		return done, asks{}, r.forClient(asWire(o.Err))
	case o.Token != "":
		requests, err := r.requests(o.Token)
		until := question.Deadlines(r.sent.asks, r.target.rt.skew)
		if r.park != nil { // the handler is held, and needs the request no more
			r.locked(r.rest)
		}
		return done, asks{requests, o.Token, until}, err
	}
	done.Result, _ = o.Value.(*result.Result[Out])
	done.asked = r.ex.token != "" || o.Joins != nil
	if done.Result == nil {
		done.Result = &result.Result[Out]{}
	}
	return done, asks{}, nil
}

// roundOf is a round with its input and its result, in one piece of memory.
type roundOf[In, Out any] struct {
	round
	front *front[In, Out]
	in    In // as the next entry gets it
	made  result.Result[Out]
}

// enter gives each entry the input as it arrived: a handler may be entered several times.
func (r *roundOf[In, Out]) enter(ctx context.Context, p *Pass) (*IncompleteResult, any, error) {
	in := r.in
	if r.front.mutable {
		r.in = snapshot.Of(in)
	}
	need, out, err := r.front.style.Enter(ctx, p, in)
	if need != nil || err != nil {
		return need, nil, err
	}
	r.made.Out = out
	return nil, &r.made, r.front.format.Complete(&r.made)
}

// turnedAway tells the listener of a request that came while the server shuts down.
func (r *round) turnedAway(ctx context.Context) {
	r.life = ctx
	r.refusedWith(ctx, r.reject(listen.RefusedRound, string(ShuttingDown), nil, callerror.ShuttingDown()))
}

// forClient is the error of a call as its client gets it.
func (r *round) forClient(err error) error {
	var misused *UsageError
	if !errors.As(err, &misused) {
		return err
	}
	if r.target.rt.opts.Listener == nil { // only the log can tell
		slog.ErrorContext(r.life, err.Error(), "method", r.ex.method, "name", r.ex.nameInLog())
	}
	return report.Hide(err)
}

// exchange is one request, whichever of the three methods it is for.
type exchange struct {
	method    string
	name      string // of the tool or prompt, or the resource's address
	arguments json.RawMessage
	token     string
	answers   mcp.InputResponseMap
	client    era.Client
	request   mcp.Request
	asked     bool          // over its session, while this request is open
	waited    time.Duration // since the questions of the round before went out
}

// session is that of the request, nil where it has none.
func (ex *exchange) session() *mcp.ServerSession {
	if ex.request == nil {
		return nil
	}
	session, _ := ex.request.GetSession().(*mcp.ServerSession)
	return session
}

// The methods of an exchange.
const (
	toolsCall     = "tools/call"
	promptsGet    = "prompts/get"
	resourcesRead = "resources/read"
)

// isTask reports whether a context is that of a task's round.
func isTask(ctx context.Context) bool { return rendezvous.TaskRoundOf(ctx).IsTask() }

// nameInLog is the name as a log may show it.
func (ex *exchange) nameInLog() string {
	return (&listen.Round{Method: ex.method, Name: ex.name}).NameInLog()
}

type clientKey struct{}

// ledgerKey is the key of the ledger in the context of its round, for a listener's sake alone.
type ledgerKey struct{}

package mrtr

import (
	"context"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/sse/era"
)

// An Observer receives the events of calls. The call waits for it, so it must be quick,
// and it must be safe for concurrent use. Its panics are ignored, and its Goexit.
//
// ctx has the values of the round's request. An event of a held handler that no
// request goes on with comes without them.
type Observer interface {
	Observe(ctx context.Context, e Event)
}

// A ContextObserver is an [Observer] that gives each round its context, such as a tracer
// that begins a span there. RoundContext is called once for each request whose state
// opened, with its [RoundStarted] event, before Observe. The handler and the later
// events of the round get the context that it returns, which must come from ctx.
type ContextObserver interface {
	Observer
	RoundContext(ctx context.Context, e Event) context.Context
}

// A TraceObserver is a [ContextObserver] whose rounds have places in a trace. That of round
// one is sealed into the state, so that later rounds have it in [Event.Trace], at whatever
// instance they run. A state without it is as long as without an observer.
type TraceObserver interface {
	ContextObserver
	// RoundTrace is the place of the round whose context it made; the zero value seals none.
	RoundTrace(ctx context.Context) Trace
}

// EventKind is the kind of an [Event].
type EventKind string

const (
	// RoundStarted comes with every request, once its state has opened.
	RoundStarted EventKind = "round started"
	// AnswerRefused is an answer that is missing or does not fit, so that its question is
	// asked again, within limits. Question names it, and Reason says why.
	AnswerRefused EventKind = "answer refused"
	// QuestionAnswered is a question that has its answer, or that gets none: Question names
	// it, Answer says how, and Wording identifies the words shown. The event never has the
	// value. It comes each time the answer's round runs: again if the round is taken over, or
	// is repeated without a store.
	QuestionAnswered EventKind = "question answered"
	// HandlerEntered comes each time a function of the author's is started.
	HandlerEntered EventKind = "handler entered"
	// EffectStarted comes before the function of a [Once], or of a step that does
	// something, is called. A remembered effect has no events.
	EffectStarted EventKind = "effect started"
	// EffectDone is an effect that happened. Reason tells where a step was skipped, and
	// where a Check found that the effect had happened before.
	EffectDone EventKind = "effect done"
	// EffectFailed is an effect whose function returned an error, which is Err, or did
	// not return.
	EffectFailed EventKind = "effect failed"
	// EffectInDoubt is an effect that may or may not have happened, in this run or in an
	// earlier one that was cut off, and no Check could decide. Somebody has to look. An
	// instance reports it once for each effect of a call.
	EffectInDoubt EventKind = "effect in doubt"
	// QuestionsAsked ends a round that is not the last.
	QuestionsAsked EventKind = "questions asked"
	// CallCompleted ends a call with a result.
	CallCompleted EventKind = "call completed"
	// CallStopped ends a call without a result. Err is the error that its client gets.
	CallStopped EventKind = "call stopped"
	// StateRefused is a request whose state did not open. Reason tells why; the
	// client does not learn it.
	StateRefused EventKind = "state refused"
	// PrincipalRefused is a request whose sender could not be identified. Reason and Err
	// tell why; the client does not learn it.
	PrincipalRefused EventKind = "principal refused"
	// RequestRefused is a request that was refused before its call began: its arguments
	// have no canonical form, or its handler is registered wrongly. Reason and Err tell
	// why; the client does not learn it.
	RequestRefused EventKind = "request refused"
	// ToolHidden is a tool that [Runtime.HideUnaskable] left out of a tools/list. Reason tells
	// what its client lacks.
	ToolHidden EventKind = "tool hidden"
	// CallAbandoned is a held handler unwound without an answer, whose call ends with it: its
	// time was up, the runtime closed, or another instance ran its round. HasEffects tells
	// whether its effects may need undoing.
	CallAbandoned EventKind = "call abandoned"
	// FrameReleased is a held handler unwound whose call goes on: from its journal, or at
	// another instance. Reason tells why.
	FrameReleased EventKind = "frame released"
	// EffectUndone is an effect that a function of [Call.OnStop] has undone.
	EffectUndone EventKind = "effect undone"
	// StopFailed is an effect that a function of [Call.OnStop] could not undo, or of which
	// nobody knows whether it did. Reason tells which, and Err is its error or panic.
	StopFailed EventKind = "on stop failed"

	// The rest come with a store alone.

	// RoundClaimed is a round that this request runs, and no other.
	RoundClaimed EventKind = "round claimed"
	// RoundTakenOver is one that was cut off before, and that this request goes on with.
	RoundTakenOver EventKind = "round taken over"
	// RoundOrphaned is a round whose client has left, and that goes on.
	RoundOrphaned EventKind = "round orphaned"
	// RoundRepeated is a request that got the outcome of an earlier one. Err is its
	// error, if that is an error.
	RoundRepeated EventKind = "round repeated"
	// RoundUnknown is a request that was told that nobody knows what an earlier one
	// has done. Err names the effects. One that is told so again at the same instance is a
	// RoundRepeated.
	RoundUnknown EventKind = "round of unknown outcome"
	// RoundRefused is a request for which nothing was run: an equal one is still
	// running, the round was answered otherwise, the store could not be asked, or the
	// server is shutting down.
	// Reason tells which, and Err is the store's error.
	RoundRefused EventKind = "round refused"
	// RoundNotRecorded is a round that ran, and whose outcome the store did not take.
	// Its client got it; a repeat may be told that the outcome is unknown.
	RoundNotRecorded EventKind = "round not recorded"
	// StoreAsked is an operation of the store that has ended. Err is that of one that settled
	// nothing. The memory store has none of these events.
	StoreAsked EventKind = "store asked"
)

// Event describes one event of a call. Apart from Err, whose text is the handler's
// own, and Principal, which may name a person, it holds no answers and no secrets, and
// can be logged as it is. Its size is bounded, whatever the client sent, apart from
// Principal, which the operator's own function makes.
type Event struct {
	Kind   EventKind
	Call   string // the call's id; "" before its state has opened
	Round  int
	Method string // tools/call, prompts/get, resources/read
	// Name is that of the tool or prompt, or the resource's address: without its user,
	// query and fragment, which may hold secrets, and cut after 256 bytes.
	Name string
	Era  era.Era
	// Task: the round runs for a task, and in no request.
	Task bool
	// Revision is the protocol revision of the request, and Client the name and version
	// that its client gives itself: each as the client spells it, and cut.
	Revision, Client string
	// Principal is the caller as Options.Principal names it. [LogObserver] leaves it out of all
	// records but those of a doubt.
	Principal string
	// Trace is the trace of round one of the call. If the observer is a [TraceObserver] it is
	// the one that RoundTrace gave, from round two on; otherwise it came with the request.
	Trace Trace
	// Came is the trace context that came with this round's request, in _meta or in the
	// headers of HTTP. A client writes there what it likes.
	Came Trace
	// Waited is the time from the round before to this one, in RoundStarted: that of the
	// user, with the way to the client and back.
	Waited     time.Duration
	Question   string        // QuestionAnswered, AnswerRefused: its key
	Answer     string        // QuestionAnswered: [AnswerAccepted] and so on
	Wording    string        // QuestionAnswered: identifies the words that were shown, see [Wording]
	Effect     string        // EffectStarted, -Done, -Failed, -InDoubt, -Undone, StopFailed: its key, or that of the step
	Handler    string        // HandlerEntered: the key of the step or the Given; "end" for that of a list, "" for a handler
	Operation  string        // StoreAsked: epoch, create, update, get, wait or sweep
	Answers    []string      // the end of a round: how its questions were answered, each as "key: accepted"
	Questions  []string      // QuestionsAsked: their keys, none if it only carries state
	StateBytes int           // QuestionsAsked: the size of the token
	Duration   time.Duration // of the round, effect or operation, when it ends
	// Reason tells why something was refused, is unknown or was abandoned, and of a
	// CallStopped that Diverged which version of the handler the call began with.
	Reason     string
	HasEffects bool // whether effects are remembered in this call
	// Err is that of CallStopped, PrincipalRefused, RequestRefused, EffectFailed and
	// StopFailed, and of the rounds with a store.
	Err error
}

// observe is small enough to be inlined: without an observer no event is made.
func (l *ledger) observe(ctx context.Context, e Event) {
	if l.rt.observer != nil {
		l.tellObserver(ctx, e)
	}
}

func (l *ledger) tellObserver(ctx context.Context, e Event) {
	l.describe(ctx, &e)
	_ = guard(func() error { l.rt.observer.Observe(ctx, e); return nil })
}

// startRound tells the observer that a round has started, and takes its context.
func (c *Call) startRound(ctx context.Context) (round context.Context) {
	if c.rt.observer == nil {
		return ctx
	}
	e := Event{Kind: RoundStarted}
	if s := c.st.seen; s != nil {
		e.Waited = s.waited
	}
	if o, ok := c.rt.observer.(ContextObserver); ok {
		ctx = roundContext(ctx, c, o, e)
		if o, ok := o.(TraceObserver); ok && c.st.round == 1 {
			c.st.useTrace(roundTrace(ctx, o))
		}
	}
	c.observe(ctx, e)
	ctx = context.WithValue(ctx, ledgerKey{}, c.ledger)
	if c.remembered() {
		c.describe(ctx, &e)
		ctx = context.WithValue(ctx, roundKey{}, &e)
	}
	return ctx
}

// roundTrace is the observer's trace of a round, the zero value if RoundTrace panics.
func roundTrace(ctx context.Context, o TraceObserver) (t Trace) {
	if guard(func() error { t = o.RoundTrace(ctx); return nil }) != nil || !isTraceParent(t.Parent) {
		return Trace{}
	}
	t.State = bounded(t.State)
	return t
}

// roundContext is the observer's context of a round, or ctx if RoundContext panics.
func roundContext(ctx context.Context, c *Call, o ContextObserver, e Event) context.Context {
	c.describe(ctx, &e)
	var round context.Context
	if guard(func() error { round = o.RoundContext(ctx, e); return nil }) != nil || round == nil {
		return ctx
	}
	return round
}

// describe fills in the facts of the call.
func (l *ledger) describe(ctx context.Context, e *Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.Call, e.Method, e.Name = l.st.id, l.ex.method, nameInLog(l.ex.method, l.ex.name)
	e.Era, e.Revision = l.ex.client.Era, cut(l.ex.client.Version, maxRevisionInLog)
	e.Principal, e.Round = l.principal, l.st.round
	e.Task = rendezvous.TaskRoundOf(ctx).IsTask()
	e.HasEffects = l.running.any() || l.st.done.hasEffects()
	if s := l.st.seen; s != nil {
		e.Client, e.Trace, e.Came = s.client, s.trace, s.came
	}
}

// maxNameInLog bounds the name in an event: the address of a resource is as long as
// its client likes.
const maxNameInLog = 256

// maxClientInLog and maxRevisionInLog bound the other texts of an event that a client
// wrote.
const (
	maxClientInLog   = 128
	maxRevisionInLog = 32
)

// nameInLog is the name of the target as an event may show it.
func nameInLog(method, name string) string {
	if method == resourcesRead {
		if end := strings.IndexAny(name, "?#"); end >= 0 {
			name = name[:end]
		}
		name = withoutUser(name)
	}
	return cut(name, maxNameInLog)
}

// cut bounds a text that a client wrote.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}

// withoutUser takes user and password out of an address.
func withoutUser(address string) string {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		return address
	}
	host, _, _ := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		return scheme + "://" + rest[at+1:]
	}
	return address
}

// A Trace is a W3C trace context: the place of a request or round in a trace. The zero value
// is no place.
type Trace struct {
	// Parent is a traceparent of version 00, or "".
	Parent string
	// State is the tracestate beside it: of 512 bytes at most, or "".
	State string
}

// maxTraceState is the length up to which the specification asks everybody to pass a
// tracestate on. A longer one is left out.
const maxTraceState = 512

// traceOf is the trace context of a request, in its _meta or in the headers of HTTP.
func traceOf(req mcp.Request) Trace {
	meta := requestMeta(req)
	if parent, ok := meta["traceparent"].(string); ok && isTraceParent(parent) {
		state, _ := meta["tracestate"].(string)
		return Trace{Parent: parent, State: bounded(state)}
	}
	if req == nil {
		return Trace{}
	}
	if extra := req.GetExtra(); extra != nil {
		if parent := extra.Header.Get("Traceparent"); isTraceParent(parent) {
			return Trace{Parent: parent, State: bounded(strings.Join(extra.Header.Values("Tracestate"), ","))}
		}
	}
	return Trace{}
}

// bounded returns a tracestate that a state may carry, or "" if it is too long or not
// printable ASCII. The tracer judges its grammar.
func bounded(state string) string {
	if len(state) > maxTraceState || strings.ContainsFunc(state, func(r rune) bool { return r < ' ' || r > '~' }) {
		return ""
	}
	return state
}

// isTraceParent reports whether a text is the trace parent of version 00, which has one
// length: version, trace id, parent id and flags, in lower case hexadecimal.
func isTraceParent(text string) bool {
	const form = "00-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx-xxxxxxxxxxxxxxxx-xx"
	if len(text) != len(form) {
		return false
	}
	for i := range len(form) {
		switch c := text[i]; form[i] {
		case 'x':
			if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
				return false
			}
		default:
			if c != form[i] {
				return false
			}
		}
	}
	return strings.Trim(text[3:35], "0") != "" && strings.Trim(text[36:52], "0") != ""
}

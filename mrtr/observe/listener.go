package observe

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/listen"
)

// An Observer receives the events of calls. The call waits for it, so it must be quick, and it
// must be safe for concurrent use. Its panics are ignored, and its Goexit.
//
// ctx has the values of the round's request. An event of a held handler that no request goes on
// with comes without them.
type Observer interface {
	Observe(ctx context.Context, e Event)
}

// A ContextObserver is an [Observer] that gives each round its context, such as a tracer that
// begins a span there. RoundContext is called once for each request whose state opened, with its
// [RoundStarted] event, before Observe. The handler and the later events of the round get the
// context that it returns, which must come from ctx.
type ContextObserver interface {
	Observer
	RoundContext(ctx context.Context, e Event) context.Context
}

// A TraceObserver is a [ContextObserver] whose rounds have places in a trace. That of round one is
// sealed into the state, so that later rounds have it in [Event.Trace], at whatever instance they
// run. A state without it is as long as without an observer.
type TraceObserver interface {
	ContextObserver
	// RoundTrace is the place of the round whose context it made; the zero value seals none.
	RoundTrace(ctx context.Context) Trace
}

// With is a listener that tells an observer, for [mrtr.Options].
func With(o Observer) listen.Listener {
	l := &listener{observer: o}
	if o, ok := o.(TraceObserver); ok {
		return &tracer{l, o}
	}
	return l
}

type listener struct {
	observer Observer
	doubts   doubts
}

// roundKey is the context key of the *round that is observed.
type roundKey struct{}

type round struct {
	began time.Time
	came  string // the trace parent of its request, "" if that has none

	mu      sync.Mutex
	answers []string // as Event.Answers has them
}

// Began implements [listen.Listener].
func (l *listener) Began(ctx context.Context, r listen.Round) context.Context {
	e := eventOf(r, RoundStarted)
	e.Waited = r.Waited
	own := l.contextOf(ctx, e)
	l.observer.Observe(own, e)
	return context.WithValue(own, roundKey{}, &round{began: time.Now(), came: e.Came.Parent})
}

// contextOf is the observer's for a round. A panic costs the round its context and no event.
func (l *listener) contextOf(ctx context.Context, e Event) (own context.Context) {
	o, ok := l.observer.(ContextObserver)
	if !ok {
		return ctx
	}
	defer func() {
		if recover() != nil || own == nil {
			own = ctx
		}
	}()
	return o.RoundContext(ctx, e)
}

// Trace implements [listen.Tracer]: later rounds know the trace that the call began in.
func (l *listener) Trace(ctx context.Context) string {
	if own, ok := ctx.Value(roundKey{}).(*round); ok {
		return own.came
	}
	return ""
}

// eventOf is an event of a round.
func eventOf(r listen.Round, k Kind) Event {
	e := Event{
		Kind: k, Call: r.Call, Intent: r.Intent, Round: r.Number, Method: r.Method, Name: r.NameInLog(), Era: r.Client.Era,
		Task: r.Task, Revision: cut(r.Client.Version, maxRevision), Client: clientName(&r), Principal: r.Principal,
		Trace: readTrace(r.Trace), Came: traceOf(r.Request), Baggage: baggageOf(r.Request), HasEffects: r.HasEffects,
	}
	if e.Trace == (Trace{}) && r.Number <= 1 {
		e.Trace = e.Came
	}
	return e
}

// The bounds of the texts in an event that a client wrote.
const (
	maxClient   = 128
	maxRevision = 32
)

// clientName is the name and version that the client gives itself.
func clientName(r *listen.Round) string {
	info := r.ClientInfo()
	return cut(strings.TrimSpace(cut(info.Name, maxClient)+" "+cut(info.Version, maxClient)), maxClient)
}

// kinds are those of entries that have an event of their own.
var kinds = map[listen.EntryKind]Kind{
	listen.Refused: AnswerRefused, listen.Entered: HandlerEntered, listen.Begun: EffectStarted, listen.InDoubt: EffectInDoubt,
	listen.Happened: EffectDone, listen.Nested: EffectDone, listen.Failed: EffectFailed, listen.Tried: EffectFailed,
	listen.Undone: EffectUndone, listen.Stands: EffectNotUndone, listen.Answered: QuestionAnswered,
	listen.Released: FrameReleased, listen.GaveUp: CallAbandoned, listen.Panicked: CallStopped, listen.Hidden: ToolHidden,
	durable.Claimed: RoundClaimed, durable.TakenOver: RoundTakenOver, durable.Orphaned: RoundOrphaned, durable.Repeated: RoundRepeated,
	listen.Split: CallSplit, durable.Joined: CallJoined, durable.KeyRefused: KeyRefused,
	durable.Unknown: RoundUnknown, durable.NotRecorded: RoundNotRecorded, durable.Asked: StoreAsked,
}

// Heard implements [listen.Listener].
func (l *listener) Heard(ctx context.Context, r listen.Round, entry listen.Entry) {
	kind, told := kinds[entry.Kind]
	if !told {
		return
	}
	e := eventOf(r, kind)
	e.Reason, e.Err, e.Duration = entry.Reason, entry.Err, entry.Took
	switch kind {
	case AnswerRefused:
		e.Question = entry.Key
	case QuestionAnswered:
		e.Question, e.Answer, e.Wording = entry.Key, entry.How, entry.Words
		if own, ok := ctx.Value(roundKey{}).(*round); ok {
			own.mu.Lock()
			own.answers = append(own.answers, entry.Key+": "+entry.How)
			own.mu.Unlock()
		}
	case HandlerEntered:
		e.Handler = entry.Key
	case CallJoined, CallSplit:
		e.Other = entry.Key
	case StoreAsked:
		e.Operation = entry.Key
	case EffectStarted, EffectDone, EffectFailed, EffectInDoubt, EffectUndone, EffectNotUndone:
		l.effect(ctx, &e, entry)
		return
	case RoundUnknown:
		if e.Reason = "its instance fell silent"; !l.doubts.first(r.Call, "round") {
			e.Kind, e.Reason = RoundRepeated, ""
		}
		l.unknown(ctx, r, entry.Err)
	}
	l.observer.Observe(ctx, e)
}

// effect tells of an effect. One in doubt is told once.
func (l *listener) effect(ctx context.Context, e *Event, entry listen.Entry) {
	e.Effect = entry.Key
	switch {
	case e.Kind == EffectFailed && entry.Err == nil && entry.Reason == "skipped":
		e.Kind = EffectDone
	case e.Kind == EffectFailed && entry.Doubt:
		l.observer.Observe(ctx, *e)
		l.inDoubt(ctx, *e)
		return
	case e.Kind == EffectInDoubt:
		l.inDoubt(ctx, *e)
		return
	case e.Kind == EffectUndone && entry.Doubt:
		if e.Kind = EffectNotUndone; !l.doubts.first(e.Call, "undoing "+entry.Key) {
			return
		}
	}
	l.observer.Observe(ctx, *e)
}

func (l *listener) inDoubt(ctx context.Context, e Event) {
	if l.doubts.first(e.Call, "effect "+e.Effect) {
		e.Kind, e.Err, e.Reason, e.Duration = EffectInDoubt, nil, "", 0
		l.observer.Observe(ctx, e)
	}
}

// unknown tells of the effects in doubt that an error names.
func (l *listener) unknown(ctx context.Context, r listen.Round, err error) {
	var stopped *mrtr.Error
	if !errors.As(err, &stopped) {
		return
	}
	for _, key := range stopped.Unknown {
		e := eventOf(r, EffectInDoubt)
		e.Effect = key
		l.inDoubt(ctx, e)
	}
}

// refusals are the kinds of events of requests that were refused.
var refusals = map[listen.RefusedPart]Kind{
	listen.RefusedState: StateRefused, listen.RefusedPrincipal: PrincipalRefused, listen.RefusedRequest: RequestRefused, listen.RefusedRound: RoundRefused,
}

// Ended implements [listen.Listener].
func (l *listener) Ended(ctx context.Context, r listen.Round, end listen.End) {
	if end.Repeated { // the Keeper has told
		return
	}
	e := eventOf(r, CallCompleted)
	switch {
	case end.Refused != "":
		e.Kind, e.Reason, e.Err = refusals[end.Refused], end.Why, end.Cause
		if e.Reason == durable.Forgotten {
			e.Kind = StateRefused
		}
	case end.Err != nil:
		e.Kind, e.Err = CallStopped, end.Err
		if ended := (*mrtr.Error)(nil); errors.As(end.Err, &ended) && ended.Reason == mrtr.Diverged {
			e.Reason = "begun with version " + r.Version
		}
	case end.Stopped:
		e.Kind, e.Reason = CallStopped, "its handler stopped it"
	case end.StateBytes > 0:
		e.Kind, e.Questions, e.StateBytes = QuestionsAsked, end.Asks, end.StateBytes
	}
	if own, ok := ctx.Value(roundKey{}).(*round); ok && end.Refused == "" {
		own.mu.Lock()
		e.Answers = slices.Clone(own.answers)
		own.mu.Unlock()
		e.Duration = time.Since(own.began)
	}
	l.observer.Observe(ctx, e)
}

// tracer is the listener of a [TraceObserver].
type tracer struct {
	*listener
	observer TraceObserver
}

// Trace implements [listen.Tracer].
func (t *tracer) Trace(ctx context.Context) string {
	at := t.observer.RoundTrace(ctx)
	if !isTraceParent(at.Parent) {
		return ""
	}
	if at.State = bounded(at.State, maxTraceState); at.State == "" {
		return at.Parent
	}
	return at.Parent + " " + at.State
}

// readTrace is what Trace wrote.
func readTrace(text string) Trace {
	parent, state, _ := strings.Cut(text, " ")
	return Trace{Parent: parent, State: state}
}

// doubts remembers which doubts the observer has been told: a client that repeats a round gets the
// same answer again, but operators hear of each doubt once.
type doubts struct {
	mu   sync.Mutex
	told map[string]struct{}
}

// maxDoubts bounds the memory. When it is full, all doubts are forgotten and may be told again.
const maxDoubts = 10_000

// first reports whether the observer has not been told this doubt yet, and remembers it.
func (d *doubts) first(call, what string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := call + " " + what
	if _, known := d.told[key]; known {
		return false
	}
	if d.told == nil || len(d.told) == maxDoubts {
		d.told = map[string]struct{}{}
	}
	d.told[key] = struct{}{}
	return true
}

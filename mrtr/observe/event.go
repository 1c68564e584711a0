// Package observe turns what a [listen.Listener] hears into events, and events into a log.
//
//	rt, err := mrtr.New(&mrtr.Options{Listener: observe.With(observe.Log(nil))})
package observe

import (
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/sse/era"
)

// Kind is the kind of an [Event].
type Kind string

const (
	// RoundStarted comes with every request, once its state has opened.
	RoundStarted Kind = "round started"
	// AnswerRefused is an answer that is missing or does not fit, so that its question is
	// asked again, within limits. Question names it, and Reason says why.
	AnswerRefused Kind = "answer refused"
	// QuestionAnswered is a question that has its answer, or that gets none: Question names
	// it, Answer says how, and Wording identifies the words shown. The event never has the
	// value. It comes each time the answer's round runs: again if the round is taken over, or
	// is repeated without a store.
	QuestionAnswered Kind = "question answered"
	// HandlerEntered comes each time a function of the author's is started.
	HandlerEntered Kind = "handler entered"
	// EffectStarted comes before the function of a [mrtr.Once], or of a step that does
	// something, is called. A remembered effect has no events.
	EffectStarted Kind = "effect started"
	// EffectDone is an effect that happened. Reason tells where a step was skipped, and
	// where a Check found that the effect had happened before.
	EffectDone Kind = "effect done"
	// EffectFailed is an effect whose function returned an error, which is Err, or did
	// not return.
	EffectFailed Kind = "effect failed"
	// EffectInDoubt is an effect that may or may not have happened, in this run or in an
	// earlier one that was cut off, and no Check could decide. Somebody has to look. An
	// instance reports it once for each effect of a call.
	EffectInDoubt Kind = "effect in doubt"
	// QuestionsAsked ends a round that is not the last.
	QuestionsAsked Kind = "questions asked"
	// CallCompleted ends a call with a result.
	CallCompleted Kind = "call completed"
	// CallStopped ends a call without a result. Err is the error that its client gets.
	CallStopped Kind = "call stopped"
	// StateRefused is a request whose state did not open. Reason tells why; the
	// client does not learn it.
	StateRefused Kind = "state refused"
	// PrincipalRefused is a request whose sender could not be identified. Reason and Err
	// tell why; the client does not learn it.
	PrincipalRefused Kind = "principal refused"
	// RequestRefused is a request that was refused before its call began: its arguments
	// have no canonical form, or its handler is registered wrongly. Reason and Err tell
	// why; the client does not learn it.
	RequestRefused Kind = "request refused"
	// ToolHidden is a tool that [mrtr.Runtime.HideUnaskable] left out of a tools/list. Reason tells
	// what its client lacks.
	ToolHidden Kind = "tool hidden"
	// CallAbandoned is a call that nobody went on with: its held handler was let go, or its time
	// was up. HasEffects tells whether its effects may need undoing.
	CallAbandoned Kind = "call abandoned"
	// FrameReleased is a held handler unwound whose call is not given up: it goes on from its
	// journal, or at another instance, or is looked after when its states have expired. Reason
	// tells why.
	FrameReleased Kind = "frame released"
	// EffectUndone is an effect that was undone.
	EffectUndone Kind = "effect undone"
	// EffectNotUndone is an effect that could not be undone, or may not have been. Reason tells which,
	// and Err is its error or panic.
	EffectNotUndone Kind = "effect not undone"

	// The rest come with a store alone.

	// RoundClaimed is a round that this request runs, and no other.
	RoundClaimed Kind = "round claimed"
	// RoundTakenOver is one that was cut off before, and that this request goes on with.
	RoundTakenOver Kind = "round taken over"
	// RoundOrphaned is a round whose client has left, and that goes on.
	RoundOrphaned Kind = "round orphaned"
	// RoundRepeated is a request that got the outcome of an earlier one. Err is its
	// error, if that is an error.
	RoundRepeated Kind = "round repeated"
	// RoundUnknown is a request that was told that nobody knows what an earlier one
	// has done. Err names the effects. One that is told so again at the same instance is a
	// RoundRepeated.
	RoundUnknown Kind = "round of unknown outcome"
	// RoundRefused is a request for which nothing was run: an equal one is still
	// running, the round was answered otherwise, the store could not be asked, or the
	// server is shutting down.
	// Reason tells which, and Err is the store's error.
	RoundRefused Kind = "round refused"
	// RoundNotRecorded is a round that ran, and whose outcome the store did not take.
	// Its client got it; a repeat may be told that the outcome is unknown.
	RoundNotRecorded Kind = "round not recorded"
	// CallJoined is a first request that began nothing: it got the questions of the call in
	// Other, which an equal one began, or the end of it.
	CallJoined Kind = "call joined"
	// CallSplit is a call that its user answered in two ways, or twice: this request goes on as
	// a call of its own, and Other is the one that it was.
	CallSplit Kind = "call split"
	// KeyRefused is a first request whose key stands for a call with other arguments.
	KeyRefused Kind = "key refused"
	// StoreAsked is an operation of the store that has ended. Err is that of one that settled
	// nothing. The memory store has none of these events.
	StoreAsked Kind = "store asked"
)

// Event describes one event of a call. Apart from Err, whose text is the handler's
// own, and Principal, which may name a person, it holds no answers and no secrets, and
// can be logged as it is. Its size is bounded, whatever the client sent, apart from
// Principal, which the operator's own function makes.
type Event struct {
	Kind   Kind
	Call   string // the call's id; "" before its state has opened
	Intent string // all calls that an equal first request could mean have the same
	Other  string // CallJoined, CallSplit: the id of the other call
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
	// Principal is the caller as Options.Principal names it. [Log] leaves it out of all
	// records but those of a doubt.
	Principal string
	// Trace is the trace of round one of the call. If the observer is a [TraceObserver] it is
	// the one that RoundTrace gave, from round two on; otherwise it came with the request.
	Trace Trace
	// Came is the trace context that came with this round's request, in _meta or in the
	// headers of HTTP. A client writes there what it likes.
	Came Trace
	// Baggage is the W3C baggage beside it. otelmrtr puts it into the context of the handler.
	Baggage string
	// Waited is the time from the round before to this one, in RoundStarted: that of the
	// user, with the way to the client and back.
	Waited     time.Duration
	Question   string        // QuestionAnswered, AnswerRefused: its key
	Answer     string        // QuestionAnswered: [listen.HowAccepted] and so on
	Wording    string        // QuestionAnswered: identifies the words that were shown, see [mrtr.Question.Words]
	Effect     string        // EffectStarted, -Done, -Failed, -InDoubt, -Undone, EffectNotUndone: its key, or that of the step
	Handler    string        // HandlerEntered: the key of the step or the given answer; "end" for that of a list, "" for a handler
	Operation  string        // StoreAsked: epoch, create, update, get, wait, due or sweep
	Answers    []string      // the end of a round: how its questions were answered, each as "key: accepted"
	Questions  []string      // QuestionsAsked: their keys
	StateBytes int           // QuestionsAsked: the size of the token
	Duration   time.Duration // of the round, effect or operation, when it ends
	// Reason tells why something was refused, is unknown or was abandoned, and of a
	// CallStopped that Diverged which version of the handler the call began with.
	Reason     string
	HasEffects bool // whether effects are remembered in this call
	// Err is that of CallStopped, PrincipalRefused, RequestRefused, EffectFailed and
	// EffectNotUndone, and of the rounds with a store.
	Err error
}

// cut bounds a text that a client wrote.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
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

// maxBaggage is the same for baggage.
const maxBaggage = 8192

// traceOf is the trace context of a request, in its _meta or in the headers of HTTP.
func traceOf(req mcp.Request) Trace {
	var meta map[string]any
	if req != nil && req.GetParams() != nil {
		meta = req.GetParams().GetMeta()
	}
	if parent, ok := meta["traceparent"].(string); ok && isTraceParent(parent) {
		state, _ := meta["tracestate"].(string)
		return Trace{Parent: parent, State: bounded(state, maxTraceState)}
	}
	if req == nil {
		return Trace{}
	}
	if extra := req.GetExtra(); extra != nil {
		if parent := extra.Header.Get("Traceparent"); isTraceParent(parent) {
			return Trace{Parent: parent, State: bounded(strings.Join(extra.Header.Values("Tracestate"), ","), maxTraceState)}
		}
	}
	return Trace{}
}

// baggageOf is the W3C baggage of a request, from the same places.
func baggageOf(req mcp.Request) string {
	if req == nil {
		return ""
	}
	if params := req.GetParams(); params != nil {
		if text, ok := params.GetMeta()["baggage"].(string); ok {
			return bounded(text, maxBaggage)
		}
	}
	if extra := req.GetExtra(); extra != nil {
		return bounded(strings.Join(extra.Header.Values("Baggage"), ","), maxBaggage)
	}
	return ""
}

// bounded returns a text that may travel on, or "" if it is too long or not printable ASCII. The
// tracer judges its grammar.
func bounded(text string, most int) string {
	if len(text) > most || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		return ""
	}
	return text
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

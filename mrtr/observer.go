package mrtr

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/mrtr-go/sdk/era"
)

// An Observer receives the events of calls. It runs on the goroutine of the call,
// so it must be quick, and it must be safe for concurrent use. Its panics are
// ignored.
type Observer interface {
	Observe(ctx context.Context, e Event)
}

// EventKind is the kind of an [Event].
type EventKind string

const (
	// RoundStarted comes with every request, once its state has opened.
	RoundStarted EventKind = "round started"
	// HandlerEntered comes each time a function of the author's is started.
	HandlerEntered EventKind = "handler entered"
	// QuestionsAsked ends a round that is not the last.
	QuestionsAsked EventKind = "questions asked"
	// CallCompleted ends a call with a result.
	CallCompleted EventKind = "call completed"
	// CallStopped ends a call without a result. Err is the error that its client gets.
	CallStopped EventKind = "call stopped"
	// StateRefused is a request whose state did not open. Reason tells why; the
	// client does not learn it.
	StateRefused EventKind = "state refused"
	// RequestRefused is a request that was refused before its call began: its sender
	// could not be identified, its arguments have no canonical form, or its handler is
	// registered wrongly. Reason and Err tell why; the client does not learn it.
	RequestRefused EventKind = "request refused"
	// CallAbandoned is a held handler unwound without an answer: its time was up, or
	// the runtime closed. HasEffects tells whether its effects may need undoing.
	CallAbandoned EventKind = "call abandoned"
	// StopFailed is a function of [Call.OnStop] that panicked, so that an effect may not
	// be undone. Err is the panic.
	StopFailed EventKind = "on stop failed"

	// The rest come with a store alone.

	// RoundClaimed is a round that this request runs, and no other.
	RoundClaimed EventKind = "round claimed"
	// RoundTakenOver is one that was cut off before, and that this request goes on with.
	RoundTakenOver EventKind = "round taken over"
	// RoundForwarded is a request whose frame another instance holds, and that was sent
	// there. Reason tells why that one did not take it, "" if it did.
	RoundForwarded EventKind = "round forwarded"
	// RoundRepeated is a request that got the outcome of an earlier one. Err is its
	// error, if that is an error.
	RoundRepeated EventKind = "round repeated"
	// RoundUnknown is a request that was told that nobody knows what an earlier one
	// has done. Err names the effects.
	RoundUnknown EventKind = "round of unknown outcome"
	// RoundRefused is a request for which nothing was run: an equal one is still
	// running, the round was answered otherwise, or the store could not be asked.
	// Reason tells which, and Err is the store's error.
	RoundRefused EventKind = "round refused"
	// RoundNotRecorded is a round that ran, and whose outcome the store did not take.
	// Its client got it; a repeat may be told that the outcome is unknown.
	RoundNotRecorded EventKind = "round not recorded"
)

// Event describes one event of a call. Apart from Err, whose text is the handler's
// own, it holds no answers and no secrets, and can be logged as it is. Its size is
// bounded, whatever the client sent.
type Event struct {
	Kind   EventKind
	Call   string // the call's id; "" before its state has opened
	Round  int
	Method string // tools/call, prompts/get, resources/read
	// Name is that of the tool or prompt, or the resource's address: without its user,
	// query and fragment, which may hold secrets, and cut after 256 bytes.
	Name       string
	Era        era.Era
	Handler    string        // HandlerEntered: the step's key, or "end"; "" in other styles
	Questions  []string      // QuestionsAsked: their keys, none if it only carries state
	StateBytes int           // QuestionsAsked: the size of the token
	Duration   time.Duration // of the round, when it ends
	// Reason tells of StateRefused, RequestRefused, RoundRefused, RoundForwarded, RoundUnknown and
	// CallAbandoned why, and of a CallStopped that Diverged which version of the handler the call began with.
	Reason     string
	HasEffects bool  // whether effects are remembered in this call
	Err        error // CallStopped, RequestRefused, StopFailed, and those of rounds with a store
}

// observe is small enough to be inlined: without an observer no event is made.
func (c *Call) observe(ctx context.Context, e Event) {
	if c.rt.observer != nil {
		c.tellObserver(ctx, e)
	}
}

func (c *Call) tellObserver(ctx context.Context, e Event) {
	defer func() { _ = recover() }() // watching a call must not end it, nor the process
	e.Call, e.Method, e.Name, e.Era = c.id, c.ex.method, nameInLog(c.ex.method, c.ex.name), c.ex.client.Era
	e.Round = c.st.round
	e.HasEffects = c.hasEffects()
	c.rt.observer.Observe(ctx, e)
}

// maxNameInLog bounds the name in an event: the address of a resource is as long as
// its client likes.
const maxNameInLog = 256

// nameInLog is the name of the target as an event may show it.
func nameInLog(method, name string) string {
	if method == resourcesRead {
		if end := strings.IndexAny(name, "?#"); end >= 0 {
			name = name[:end]
		}
		name = withoutUser(name)
	}
	if len(name) <= maxNameInLog {
		return name
	}
	return strings.ToValidUTF8(name[:maxNameInLog], "") + "..."
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

// LogObserver logs events: calls that stop for a fault as errors; refused requests
// and other calls that end early as warnings; declines, and the ends of rounds and
// calls, as information; the rest as debugging. A nil logger is the default one.
//
// Of an error it logs the type, and of a panic the stack too, but never the
// text, which may hold anything.
func LogObserver(logger *slog.Logger) Observer {
	if logger == nil {
		logger = slog.Default()
	}
	return logObserver{logger}
}

type logObserver struct{ logger *slog.Logger }

func (o logObserver) Observe(ctx context.Context, e Event) {
	level := o.level(e)
	if !o.logger.Enabled(ctx, level) {
		return
	}
	attrs := make([]slog.Attr, 0, 10)
	attrs = append(attrs, slog.String("method", e.Method), slog.String("name", e.Name), slog.String("era", e.Era.String()))
	if e.Call != "" {
		attrs = append(attrs, slog.String("call", e.Call), slog.Int("round", e.Round))
	}
	if e.Handler != "" {
		attrs = append(attrs, slog.String("step", e.Handler))
	}
	if e.Kind == QuestionsAsked {
		attrs = append(attrs, slog.Any("questions", e.Questions), slog.Int("state_bytes", e.StateBytes))
	}
	if e.Duration > 0 {
		attrs = append(attrs, slog.Duration("duration", e.Duration))
	}
	if e.Reason != "" {
		attrs = append(attrs, slog.String("reason", e.Reason))
	}
	if e.HasEffects {
		attrs = append(attrs, slog.Bool("effects", true))
	}
	if e.Err != nil {
		kind := errorType(e.Err)
		if lacksCapability(e.Err) { // the same as of a legacy client
			kind = string(CannotBeAsked)
		}
		attrs = append(attrs, slog.String("error_type", kind))
		var panicked *PanicError
		if errors.As(e.Err, &panicked) {
			attrs = append(attrs, slog.String("stack", string(panicked.Stack)))
		}
	}
	o.logger.LogAttrs(ctx, level, string(e.Kind), attrs...)
}

func (o logObserver) level(e Event) slog.Level {
	switch e.Kind {
	case QuestionsAsked, CallCompleted, RoundRepeated:
		return slog.LevelInfo
	case StateRefused, CallAbandoned, RoundTakenOver, RoundRefused:
		return slog.LevelWarn
	case StopFailed, RoundUnknown, RoundNotRecorded:
		return slog.LevelError
	case RequestRefused:
		if isFault(e.Err) {
			return slog.LevelError
		}
		return slog.LevelWarn
	case CallStopped:
		switch {
		case isQuiet(e.Err):
			return slog.LevelInfo
		case isExpected(e.Err), lacksCapability(e.Err):
			return slog.LevelWarn
		}
		return slog.LevelError
	}
	return slog.LevelDebug
}

// isFault reports whether the program has to be mended.
func isFault(err error) bool {
	var usage *UsageError
	var panicked *PanicError
	return errors.As(err, &usage) || errors.As(err, &panicked)
}

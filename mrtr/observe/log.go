package observe

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/listen"
	"github.com/mrtr-go/sdk/sse/era"
)

// LogOptions configure a [Log]. The zero value is the default.
type LogOptions struct {
	// Principals names the caller in every record. Otherwise only the records of a doubt do.
	Principals bool
}

// Log is an [Observer] that logs events. A nil logger is the default one.
//
//   - INFO: one record for each round, when it ends: what was asked or how the call ended, how
//     the questions of the round were answered, and how long it took. Also a repeated round, an
//     effect that was undone, and an effect that took over 5 seconds.
//   - WARN: refused requests; effects that failed or are in doubt; rounds taken over; calls that
//     end early for another reason than their user's; operations of the store that took over
//     half a second, or failed outside of a round.
//   - ERROR: calls that stop for a fault; effects that could not be undone; rounds of unknown
//     outcome, and those that could not be recorded.
//   - DEBUG: the rest.
//
// Inside a boundary (package boundary) that logs, the event that ends a request gets no record
// of its own: its attributes go into the boundary's record.
//
// It logs the type of an error, and the stack of a panic, but never their text, which may hold
// secrets. The store's own errors are logged with their text.
func Log(to *slog.Logger, opts ...*LogOptions) Observer {
	if to == nil {
		to = slog.Default()
	}
	o := logger{logger: to}
	for _, opt := range opts {
		if opt != nil {
			o.LogOptions = *opt
		}
	}
	return o
}

type logger struct {
	logger *slog.Logger
	LogOptions
}

// What is slow enough for the log.
const (
	slowEffect = 5 * time.Second
	slowStore  = 500 * time.Millisecond
)

func (o logger) Observe(ctx context.Context, e Event) {
	level := o.level(&e)
	if e.endsRequest(level) && rendezvous.AddToRecord(ctx, level, func() []slog.Attr { return o.ofEnd(&e) }) {
		return
	}
	if !o.logger.Enabled(ctx, level) {
		return
	}
	attrs := make([]slog.Attr, 0, 16)
	attrs = append(attrs, slog.String("method", e.Method), slog.String("name", e.Name), slog.String("era", e.Era.String()))
	if e.Method == "" { // beside any round
		attrs = attrs[:0]
	}
	attrs = o.ofRound(attrs, &e)
	if e.Duration > 0 {
		attrs = append(attrs, slog.Float64("durationMs", rendezvous.Milliseconds(e.Duration)))
	}
	attrs = ofEvent(attrs, &e)
	if e.Err != nil {
		attrs = append(attrs, slog.String("error_type", errorTypeInLog(e.Err)))
		var panicked *mrtr.PanicError
		if errors.As(e.Err, &panicked) {
			attrs = append(attrs, slog.String("stack", string(panicked.Stack)))
		}
	}
	o.logger.LogAttrs(ctx, level, string(e.Kind), attrs...)
}

const maxStoreErrorInLog = 512

// ofEnd are the attributes that the end of a round adds to the record of a boundary, which has
// the tool, the duration and the error.
func (o logger) ofEnd(e *Event) []slog.Attr {
	attrs := []slog.Attr{slog.String("round_end", string(e.Kind)), slog.String("era", e.Era.String())}
	return ofEvent(o.ofRound(attrs, e), e)
}

// ofRound adds the facts of a round.
func (o logger) ofRound(attrs []slog.Attr, e *Event) []slog.Attr {
	if e.Task {
		attrs = append(attrs, slog.Bool("task", true))
	}
	attrs = withTexts(attrs, "revision", e.Revision, "client", e.Client, "traceparent", e.Trace.Parent, "call", e.Call)
	if e.Call != "" {
		attrs = append(attrs, slog.Int("round", e.Round))
	}
	if e.Principal != "" && (o.Principals || e.Kind.isDoubt()) {
		attrs = append(attrs, slog.String("principal", e.Principal))
	}
	if e.Waited > 0 {
		attrs = append(attrs, slog.Float64("waitedMs", rendezvous.Milliseconds(e.Waited)))
	}
	return attrs
}

// ofEvent adds what one kind of event has.
func ofEvent(attrs []slog.Attr, e *Event) []slog.Attr {
	attrs = withTexts(attrs, "question", e.Question, "answer", e.Answer, "wording", e.Wording, "effect", e.Effect, "handler", e.Handler, "operation", e.Operation)
	if len(e.Answers) > 0 {
		attrs = append(attrs, slog.Any("answered", e.Answers))
	}
	if e.Kind == QuestionsAsked {
		attrs = append(attrs, slog.Any("questions", e.Questions), slog.Int("state_bytes", e.StateBytes))
	}
	attrs = withTexts(attrs, "reason", e.Reason)
	if e.HasEffects {
		attrs = append(attrs, slog.Bool("effects", true))
	}
	if e.Err != nil && e.Kind.isOfStore() {
		attrs = append(attrs, slog.String("store_error", cut(e.Err.Error(), maxStoreErrorInLog)))
	}
	return attrs
}

// withTexts adds the texts that are not empty, each behind its key.
func withTexts(attrs []slog.Attr, texts ...string) []slog.Attr {
	for i := 0; i < len(texts); i += 2 {
		if texts[i+1] != "" {
			attrs = append(attrs, slog.String(texts[i], texts[i+1]))
		}
	}
	return attrs
}

func (o logger) level(e *Event) slog.Level {
	switch e.Kind {
	case QuestionsAsked, CallCompleted, RoundRepeated, EffectUndone:
		return slog.LevelInfo
	case StateRefused, CallAbandoned, RoundTakenOver, EffectFailed, EffectInDoubt:
		return slog.LevelWarn
	case EffectNotUndone, RoundUnknown, RoundNotRecorded:
		return slog.LevelError
	case RoundRefused:
		if e.Reason == listen.ClientLeft {
			return slog.LevelInfo
		}
		return slog.LevelWarn
	case PrincipalRefused, RequestRefused:
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
	case StoreAsked:
		switch { // in a round, another event has the error
		case e.Err != nil && e.Call == "", e.Duration > slowStore && e.Operation != "wait":
			return slog.LevelWarn
		}
	case EffectDone:
		if e.Duration > slowEffect {
			return slog.LevelInfo
		}
	}
	return slog.LevelDebug
}

// endsRequest reports whether an event says how its request ends, as the record of a boundary
// does: the questions of a legacy client are asked in one request, and a boundary does not know
// which refusal is a fault.
func (e *Event) endsRequest(level slog.Level) bool {
	switch e.Kind {
	case CallCompleted, CallStopped, RoundRepeated:
		return true
	case QuestionsAsked:
		return e.Era == era.Modern
	case StateRefused, RoundRefused, PrincipalRefused, RequestRefused:
		return level < slog.LevelError
	}
	return false
}

// isDoubt reports whether somebody has to look after a call.
func (k Kind) isDoubt() bool {
	switch k {
	case EffectInDoubt, EffectNotUndone, RoundTakenOver, RoundUnknown, RoundNotRecorded:
		return true
	}
	return false
}

// isOfStore reports whether the error of an event is one of the store's.
func (k Kind) isOfStore() bool {
	return k == StoreAsked || k == RoundRefused || k == RoundNotRecorded
}

// errorTypeInLog is the same for a client that cannot be asked in either era.
func errorTypeInLog(err error) string {
	if lacksCapability(err) {
		return string(mrtr.CannotBeAsked)
	}
	return errorType(err)
}

// isFault reports whether an error is a bug of the program.
func isFault(err error) bool {
	var usage *mrtr.UsageError
	var panicked *mrtr.PanicError
	return errors.As(err, &usage) || errors.As(err, &panicked)
}

func isExpected(err error) bool {
	var e interface{ ToolErrorExpected() bool }
	return errors.As(err, &e) && e.ToolErrorExpected()
}

func isQuiet(err error) bool {
	var e interface{ ToolErrorQuiet() bool }
	return errors.As(err, &e) && e.ToolErrorQuiet()
}

func errorType(err error) string {
	var e interface{ ToolErrorType() string }
	if errors.As(err, &e) && e.ToolErrorType() != "" {
		return e.ToolErrorType()
	}
	return "execution"
}

// lacksCapability reports whether a modern client was refused because it lacks a capability.
func lacksCapability(err error) bool {
	wire, ok := err.(*jsonrpc.Error)
	return ok && wire.Code == mcp.CodeMissingRequiredClientCapabilities
}

// Package report tells a client how its call ended: in one sentence which effects stand, and in errors
// that carry the sentence, hide a fault behind it, or have the code of a JSON-RPC error.
package report

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mrtr-go/sdk/internal/callerror"
	"github.com/mrtr-go/sdk/sse"
)

// The effects that an error can report, as the worst of all.
const (
	Applied = "applied"
	Unknown = "unknown"
	Undone  = "undone"
)

// CheckFirst ends every sentence on effects that stand.
const CheckFirst = "do not call the tool again without checking."

const fault = "This tool has a fault: its server's log says more."

// Fates has the effects of a call by their keys.
type Fates struct {
	Applied []string // they happened
	Kept    []string // of those, the ones that could not be undone
	Unknown []string // nobody knows whether they happened, or whether they were undone
	Undone  []string
}

// Effect is the worst of the fates, "" if there are none.
func (f Fates) Effect() string {
	switch {
	case len(f.Unknown) > 0:
		return Unknown
	case len(f.Applied) > 0:
		return Applied
	case len(f.Undone) > 0:
		return Undone
	}
	return ""
}

// Sentence says which effects stand, which were undone, and which are in doubt. It is the one
// sentence about effects, in every reason, style and way; "" if there were none.
func (f Fates) Sentence() (text string) {
	if len(f.Undone) > 0 {
		text = " " + Were(f.Undone, "undone") + "."
	}
	var left []string
	applied := slices.DeleteFunc(slices.Clone(f.Applied), func(key string) bool { return slices.Contains(f.Kept, key) })
	if len(applied) > 0 {
		left = append(left, Were(applied, "done"))
	}
	if len(f.Kept) > 0 {
		left = append(left, Were(f.Kept, "done")+" and could not be undone")
	}
	if len(f.Unknown) > 0 {
		whether := "whether "
		if len(left) == 0 {
			whether = "Whether "
		}
		left = append(left, whether+Were(f.Unknown, "done")+" is unknown")
	}
	if len(left) > 0 {
		text += " " + strings.Join(left, "; ") + ": " + CheckFirst
	}
	return text
}

// Were says what became of some effects, without the full stop.
func Were(keys []string, done string) string {
	quoted := make([]string, len(keys))
	for i, key := range keys {
		quoted[i] = fmt.Sprintf("%q", key)
	}
	if len(keys) == 1 {
		return quoted[0] + " was " + done
	}
	return strings.Join(quoted, ", ") + " were " + done
}

// With is an error that ends a call, with the effect that it reports. The sentence is "" where the
// error says it itself.
func With(err error, effect, sentence string) error { return &reported{err, effect, sentence} }

type reported struct {
	error
	effect string
	stands string
}

func (e *reported) Error() string {
	text := e.error.Error()
	if e.stands == "" {
		return text
	}
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text + e.stands
}

func (e *reported) Unwrap() error { return e.error }

// ToolErrorEffect is "applied" where effects are known to have happened, "unknown" where one
// may have, and "undone" where all of them were undone.
func (e *reported) ToolErrorEffect() string { return e.effect }

// ToolErrorHints are those of the error.
func (e *reported) ToolErrorHints() []string {
	var inner interface{ ToolErrorHints() []string }
	if errors.As(e.error, &inner) {
		return inner.ToolErrorHints()
	}
	return nil
}

// EffectOf is the effect that an error reports, "" if it reports none.
func EffectOf(err error) string {
	var reports callerror.Effect
	if !errors.As(err, &reports) {
		return ""
	}
	return reports.ToolErrorEffect()
}

// Hide has a client read one sentence in place of a mistake of the program, whose text is for the log.
func Hide(err error) error {
	f := &faulty{error: err}
	var done *reported
	if errors.As(err, &done) {
		f.stands = done.stands
	}
	return f
}

type faulty struct {
	error
	stands string
}

func (f *faulty) Error() string { return fault + f.stands }

func (f *faulty) Unwrap() error { return f.error }

// Layers outside show a client the text of the outermost typed error, and log its cause.
func (f *faulty) ToolErrorType() string   { return TypeOf(f.error) }
func (f *faulty) ToolErrorExpected() bool { return false }
func (f *faulty) ToolErrorCause() string  { return f.error.Error() }

// TypeOf is the type that an error says it has.
func TypeOf(err error) string {
	var e interface{ ToolErrorType() string }
	if errors.As(err, &e) && e.ToolErrorType() != "" {
		return e.ToolErrorType()
	}
	return "execution"
}

// A Refusal ends a request before its call begins, for a reason that is no business of its
// client. The cause goes to the listener. It is not unwrapped, so that no layer outside takes a
// text, a hint or a JSON-RPC code from it.
type Refusal struct {
	Text, Kind string
	Expected   bool
	Cause      error
}

func (e *Refusal) Error() string { return e.Text }

// ToolErrorType is the kind.
func (e *Refusal) ToolErrorType() string { return e.Kind }

// ToolErrorExpected reports whether no operator has to act.
func (e *Refusal) ToolErrorExpected() bool { return e.Expected }

// ToolErrorCause is for the log.
func (e *Refusal) ToolErrorCause() string { return e.Cause.Error() }

// AsProtocol gives an error the code that go-sdk sends for prompts and resources. A code
// that the handler chose stays.
func AsProtocol(ctx context.Context, err error) error {
	var expected interface{ ToolErrorExpected() bool }
	switch {
	case choseCode(err):
		return err
	case errors.As(err, &expected) && expected.ToolErrorExpected():
		return callerror.Stopped(err, TypeOf(err))
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return callerror.Stopped(err, "interrupted")
	}
	return callerror.Fault(err, TypeOf(err))
}

// choseCode reports whether the handler itself wrapped a JSON-RPC error. One inside an
// [sse.Error] is the answer of a client that was asked something, and its code means nothing to
// this call.
func choseCode(err error) bool {
	var wire *jsonrpc.Error
	if !errors.As(err, &wire) {
		return false
	}
	var failed *sse.Error
	return !errors.As(err, &failed) || !errors.Is(failed, wire)
}

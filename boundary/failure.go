package boundary

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mrtr-go/sdk/internal/callerror"
)

// A failure is an error as the boundary understands it: the public part for the
// client, err, cause and stack for the log.
type failure struct {
	kind, code, text string
	expected, quiet  bool
	hints            []string
	fields           []FieldError
	operation        string
	selector         string
	candidates       []string
	effect           string

	// undelivered means that the tool succeeded, effects included, and that only
	// its result could not be sent.
	undelivered bool

	// beforeHandler means that the arguments were refused before the handler ran.
	beforeHandler bool

	err   error // as it was raised; nil if the boundary found the failure itself
	cause string
	stack []byte
}

// failureOf reads an error by the methods it carries. It calls the author's
// methods and walks the author's chain, so it runs inside isolation.
func failureOf(ctx context.Context, c *call, err error) *failure {
	if endless(err) {
		err = errors.New(err.Error())
	}
	f := &failure{kind: "execution", text: c.publicText(err), err: err, cause: causes(err)}
	if strings.TrimSpace(f.text) == "" {
		f.text = silentText(c)
	}
	readSDKError(f, c, err)
	if wire := protocolError(err); wire != nil && withdrawn(wire) {
		f.kind = "withdrawn_code"
		f.cause = fmt.Sprintf("JSON-RPC error %d, which revision 2026-07-28 withdrew: %s", wire.Code, f.cause)
	}
	r := callerror.ReadingOf(err)
	byDeadline := context.Cause(ctx) == errDeadline
	switch {
	case ctx.Err() != nil && !r.Typed && c.kind != nil && (r.Found || byDeadline):
		late := overdue(ctx, c)
		f.kind, f.expected, f.quiet, f.effect = late.kind, late.expected, late.quiet, late.effect
		f.text = r.Text(late.text)
	case errors.Is(err, context.Canceled) && ctx.Err() != nil && !byDeadline:
		f.kind, f.expected, f.quiet, f.effect = "cancelled", true, true, c.unknownEffect()
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, errDeadline):
		f.kind = "timeout"
	}
	if _, ok := carried[*outputError](err); ok {
		f.undelivered = true
	}
	f.kind = cmp.Or(said(err, callerror.Type.ToolErrorType), f.kind)
	f.cause = cmp.Or(said(err, callerror.Cause.ToolErrorCause), f.cause)
	f.code = said(err, callerror.Code.ToolErrorCode)
	f.hints = said(err, callerror.Hints.ToolErrorHints)
	f.operation = said(err, callerror.Operation.ToolErrorOperation)
	if e, ok := carried[callerror.Expected](err); ok {
		f.expected = e.ToolErrorExpected()
	}
	if said(err, callerror.Quiet.ToolErrorQuiet) {
		f.quiet, f.expected = true, true
	}
	if e, ok := carried[callerror.Selector](err); ok {
		f.selector, f.candidates = e.ToolErrorSelector()
	}
	if e, ok := carried[callerror.Fields](err); ok {
		f.fields = fieldErrors(err, e.ToolErrorFields())
	}
	switch effect := said(err, callerror.Effect.ToolErrorEffect); effect {
	case effectApplied, effectUnknown, effectUndone:
		f.effect = effect
	case effectNone:
		f.beforeHandler = true
	}
	return f
}

// publicText is the text of an error that a client may read.
func (c *call) publicText(err error) string {
	r := callerror.ReadingOf(err)
	switch {
	case !r.Found:
		return err.Error()
	case c.kind == nil: // an item of a batch, outside a boundary
		return r.Text("It failed because of a fault in the server.")
	}
	return r.Text(c.subject() + " failed because of a fault in the server.")
}

// fieldErrors takes the fields of a Validation with their hints, and those of any
// other error from its ToolErrorFields method.
func fieldErrors(err error, byPointer map[string][]string) []FieldError {
	var v *Validation
	if errors.As(err, &v) {
		return v.sorted()
	}
	var fields []FieldError
	for pointer, problems := range byPointer {
		for _, text := range problems {
			fields = append(fields, FieldError{Pointer: pointer, Problem: text})
		}
	}
	return (&Validation{Fields: slices.Clip(fields)}).sorted()
}

const maxChain = 1000

// endless reports whether the chain has more than maxChain errors. errors.As would
// never return for an error that unwraps to itself.
func endless(err error) bool {
	seen := 0
	var walk func(error) bool
	walk = func(err error) bool {
		for err != nil {
			if seen++; seen > maxChain {
				return true
			}
			switch u := err.(type) {
			case interface{ Unwrap() error }:
				err = u.Unwrap()
			case interface{ Unwrap() []error }:
				return slices.ContainsFunc(u.Unwrap(), walk)
			default:
				return false
			}
		}
		return false
	}
	return walk(err)
}

// carried is the outermost error in the chain that has the methods of T, one of
// package callerror.
func carried[T any](err error) (T, bool) {
	var t T
	ok := errors.As(err, &t)
	return t, ok
}

// said is the answer of the outermost error in the chain that has the method, or the zero value.
func said[T, V any](err error, method func(T) V) (answer V) {
	if e, ok := carried[T](err); ok {
		answer = method(e)
	}
	return answer
}

// readSDKError recognizes the errors with which go-sdk's typed handlers refuse
// their input or output. They have no type, only these words, and they quote
// values.
func readSDKError(f *failure, c *call, err error) {
	switch text := err.Error(); {
	case strings.HasPrefix(text, `validating "arguments": `):
		f.kind, f.expected, f.beforeHandler = "validation", true, true
		f.text = "The arguments do not satisfy the tool's input schema."
		f.fields = []FieldError{{Problem: "do not satisfy the tool's input schema"}}
	case strings.HasPrefix(text, "validating tool output: "), strings.HasPrefix(text, "marshaling output: "):
		f.kind, f.undelivered = "invalid_output", true
		f.text = undeliverableText
	}
	if misread, ok := err.(*json.UnmarshalTypeError); ok && c.misread(misread) {
		refused := &Validation{Fields: []FieldError{{Pointer: "/" + strings.ReplaceAll(misread.Field, ".", "/"), Problem: demand(misread.Type)}}}
		f.kind, f.expected, f.beforeHandler = "validation", true, true
		f.text, f.fields = refused.Error(), refused.Fields
	}
}

// isSDKBugReport recognizes go-sdk's error for a result that holds content and
// questions at once. The tool is at fault, so the model should read it as an error
// result.
func isSDKBugReport(wire *jsonrpc.Error) bool {
	return wire.Code == jsonrpc.CodeInternalError && strings.HasPrefix(wire.Message, "server bug: ")
}

// The effects that an error can report.
const (
	effectApplied = "applied"
	effectUnknown = "unknown"
	effectUndone  = "undone"
	effectNone    = "none" // nothing to report, as of an error of middleware that ran no tool
)

// Applied records that the tool has had an effect which must not happen twice.
// A later error of this call reports effect "applied", and the tool is not run
// again. Outside a boundary Applied does nothing.
func Applied(ctx context.Context) {
	if c := callFrom(ctx); c != nil {
		c.leave(applied)
	}
}

// effect is the effect to report with a failure of a tool that is not read-only.
// The error's own word counts first. A result that could not be delivered means
// that the effect happened; a fault leaves it unknown. A refusal before the tool
// ran, and an expected error, report none.
func (c *call) effect(f *failure) string {
	if f.effect != "" {
		return f.effect
	}
	phase, left := c.state()
	switch {
	case phase == received || c.definition().readOnly():
		return ""
	case f.beforeHandler && left != applied:
		return ""
	case left == applied || f.undelivered:
		return effectApplied
	case !f.expected:
		return effectUnknown
	}
	return ""
}

// unknownEffect is the effect to report for a call that was cut off, unless the
// tool did not run or is read-only.
func (c *call) unknownEffect() string { return c.effect(&failure{}) }

package boundary

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mrtr-go/sdk/internal/errormethods"
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
	f := &failure{kind: "execution", text: err.Error(), err: err, cause: causes(err)}
	if strings.TrimSpace(f.text) == "" {
		f.text = "The tool failed and gave no reason."
	}
	readSDKError(f, c, err)
	if wire := protocolError(err); wire != nil && withdrawn(wire) {
		f.kind = "withdrawn_code"
		f.cause = fmt.Sprintf("JSON-RPC error %d, which revision 2026-07-28 withdrew: %s", wire.Code, f.cause)
	}
	switch {
	case errors.Is(err, context.Canceled) && ctx.Err() != nil && context.Cause(ctx) != errDeadline:
		f.kind, f.expected, f.quiet, f.effect = "cancelled", true, true, c.unknownEffect()
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, errDeadline):
		f.kind = "timeout"
	}
	if _, ok := carried[*outputError](err); ok {
		f.undelivered = true
	}
	if e, ok := carried[errormethods.Type](err); ok && e.ToolErrorType() != "" {
		f.kind = e.ToolErrorType()
	}
	if e, ok := carried[errormethods.Code](err); ok {
		f.code = e.ToolErrorCode()
	}
	if e, ok := carried[errormethods.Expected](err); ok {
		f.expected = e.ToolErrorExpected()
	}
	if e, ok := carried[errormethods.Cause](err); ok && e.ToolErrorCause() != "" {
		f.cause = e.ToolErrorCause()
	}
	if e, ok := carried[errormethods.Quiet](err); ok && e.ToolErrorQuiet() {
		f.quiet, f.expected = true, true
	}
	if e, ok := carried[errormethods.Hints](err); ok {
		f.hints = e.ToolErrorHints()
	}
	if e, ok := carried[errormethods.Operation](err); ok {
		f.operation = e.ToolErrorOperation()
	}
	if e, ok := carried[errormethods.Selector](err); ok {
		selector, candidates := e.ToolErrorSelector()
		f.selector, f.candidates = selector, capped(candidates)
	}
	if e, ok := carried[errormethods.Fields](err); ok {
		f.fields = fieldErrors(err, e.ToolErrorFields())
	}
	if e, ok := carried[errormethods.Effect](err); ok {
		switch effect := e.ToolErrorEffect(); effect {
		case effectApplied, effectUnknown:
			f.effect = effect
		case effectNone:
			f.beforeHandler = true
		}
	}
	return f
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

package boundary

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A problem is an error as the boundary understands it: the public part for the
// wire, the rest for the log.
type problem struct {
	kind, code, text string
	expected, quiet  bool
	hints            []string
	fields           []FieldError
	operation        string
	selector         string
	candidates       []string
	effect           string

	// undelivered means the tool itself succeeded and only its result could not
	// be sent: whatever it was to do is done.
	undelivered bool

	err   error // what was raised, if anything
	cause string
	stack []byte
}

// describe reads what err says about itself. It calls the author's methods and
// walks the author's chain, so it runs inside isolation.
func describe(ctx context.Context, c *call, err error) *problem {
	if endless(err) {
		err = errors.New(err.Error())
	}
	p := &problem{kind: "execution", text: err.Error(), err: err, cause: causes(err)}
	if strings.TrimSpace(p.text) == "" {
		p.text = "The tool failed and gave no reason."
	}
	sdkProblem(p, err)
	if wire := protocolError(err); wire != nil && withdrawn(wire) {
		p.kind = "withdrawn_code"
		p.cause = fmt.Sprintf("JSON-RPC error %d, which revision 2026-07-28 withdrew: %s", wire.Code, p.cause)
	}
	switch {
	case errors.Is(err, context.Canceled) && ctx.Err() != nil && context.Cause(ctx) != errDeadline:
		p.kind, p.expected, p.quiet, p.effect = "cancelled", true, true, c.unknownEffect()
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, errDeadline):
		p.kind = "timeout"
	}
	if _, ok := carried[*outputError](err); ok {
		p.undelivered = true
	}
	if e, ok := carried[carriesType](err); ok && e.ToolErrorType() != "" {
		p.kind = e.ToolErrorType()
	}
	if e, ok := carried[carriesCode](err); ok {
		p.code = e.ToolErrorCode()
	}
	if e, ok := carried[carriesExpected](err); ok {
		p.expected = e.ToolErrorExpected()
	}
	if e, ok := carried[carriesCause](err); ok && e.ToolErrorCause() != "" {
		p.cause = e.ToolErrorCause()
	}
	if e, ok := carried[carriesQuiet](err); ok && e.ToolErrorQuiet() {
		p.quiet, p.expected = true, true
	}
	if e, ok := carried[carriesHints](err); ok {
		p.hints = e.ToolErrorHints()
	}
	if e, ok := carried[carriesOperation](err); ok {
		p.operation = e.ToolErrorOperation()
	}
	if e, ok := carried[carriesSelector](err); ok {
		selector, candidates := e.ToolErrorSelector()
		p.selector, p.candidates = selector, capped(candidates)
	}
	if e, ok := carried[carriesFields](err); ok {
		p.fields = fieldErrors(err, e.ToolErrorFields())
	}
	if e, ok := carried[carriesEffect](err); ok {
		if effect := e.ToolErrorEffect(); effect == effectApplied || effect == effectUnknown {
			p.effect = effect
		}
	}
	return p
}

// fieldErrors keeps our own fields whole, hints included, and makes the same of
// what a foreign error says.
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

// endless reports whether the chain is too long to be one: an error that unwraps
// to itself would keep errors.As going for ever.
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

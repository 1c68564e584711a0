package boundary

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// The effects that an error can tell of.
const (
	effectApplied = "applied"
	effectUnknown = "unknown"
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

// sdkProblem recognises what go-sdk's typed handlers say when they refuse their
// own input or output. Those errors have no type, only these words, and they echo
// values.
func sdkProblem(p *problem, err error) {
	switch text := err.Error(); {
	case strings.HasPrefix(text, `validating "arguments": `):
		p.kind, p.expected = "validation", true
		p.text = "The arguments do not satisfy the tool's input schema."
		p.fields = []FieldError{{Problem: "do not satisfy the tool's input schema"}}
	case strings.HasPrefix(text, "validating tool output: "), strings.HasPrefix(text, "marshaling output: "):
		p.kind, p.undelivered = "invalid_output", true
		p.text = undeliverableText
	}
}

const undeliverableText = "The tool ran, but its result is malformed and cannot be shown. The arguments are not the reason."

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

const maxCauses = 32

// causes is the text of the whole chain, outermost first, without repeating what
// an outer text already says.
func causes(err error) string {
	var parts []string
	queue := []error{err}
	for len(queue) > 0 && len(parts) < maxCauses {
		next := queue[0]
		queue = queue[1:]
		if next == nil {
			continue
		}
		text := printed(next)
		if !slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(p, text) }) {
			parts = append(parts, text)
		}
		switch u := next.(type) {
		case interface{ Unwrap() error }:
			queue = append(queue, u.Unwrap())
		case interface{ Unwrap() []error }:
			queue = append(queue, u.Unwrap()...)
		}
	}
	return strings.Join(parts, ": ")
}

// printed is a value as the log shows it. Anything that is no error, string or
// simple value is shown by its type: formatting a map that holds itself ends the
// process.
func printed(v any) string {
	switch v := v.(type) {
	case error, fmt.Stringer, string:
		return fmt.Sprintf("%v", v)
	}
	switch reflect.ValueOf(v).Kind() {
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
		reflect.Float32, reflect.Float64, reflect.String:
		return fmt.Sprintf("%v", v)
	}
	return fmt.Sprintf("a value of type %T", v)
}

// isNil reports whether v is nil or holds a nil pointer, which is not the same.
func isNil(v any) bool {
	if v == nil {
		return true
	}
	r := reflect.ValueOf(v)
	return r.Kind() == reflect.Pointer && r.IsNil()
}

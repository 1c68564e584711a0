package failure

import (
	"context"
	"errors"

	"github.com/mrtr-go/sdk/internal/callerror"
)

// facts are an error's answers through its methods. Each is nil where the error
// has no such method.
type facts struct {
	Type      *string       `json:"type,omitempty"`
	Code      *string       `json:"code,omitempty"`
	Expected  *bool         `json:"expected,omitempty"`
	Quiet     *bool         `json:"quiet,omitempty"`
	Hints     *[]string     `json:"hints,omitempty"`
	Operation *string       `json:"operation,omitempty"`
	Selector  *selectorFact `json:"selector,omitempty"`
	Fields    *fieldsFact   `json:"fields,omitempty"`
	Effect    *string       `json:"effect,omitempty"`
	Retryable *bool         `json:"retryable,omitempty"`
	Protocol  *protocolFact `json:"protocol,omitempty"`
	Timeout   *bool         `json:"timeout,omitempty"`
}

type selectorFact struct {
	Selector   string   `json:"selector"`
	Candidates []string `json:"candidates"`
}

type fieldsFact map[string][]string

type protocolFact struct {
	Code    int64  `json:"code"`
	Message string `json:"message"`
	Data    []byte `json:"data,omitempty"`
}

func factsOf(err error) (f facts) {
	f.Type = factOf(err, callerror.Type.ToolErrorType)
	f.Code = factOf(err, callerror.Code.ToolErrorCode)
	f.Expected = factOf(err, callerror.Expected.ToolErrorExpected)
	f.Quiet = factOf(err, callerror.Quiet.ToolErrorQuiet)
	f.Hints = factOf(err, callerror.Hints.ToolErrorHints)
	f.Operation = factOf(err, callerror.Operation.ToolErrorOperation)
	f.Selector = factOf(err, func(e callerror.Selector) (s selectorFact) {
		s.Selector, s.Candidates = e.ToolErrorSelector()
		return s
	})
	f.Fields = factOf(err, func(e callerror.Fields) fieldsFact { return e.ToolErrorFields() })
	f.Effect = factOf(err, callerror.Effect.ToolErrorEffect)
	f.Retryable = factOf(err, callerror.Retryable.ToolErrorRetryable)
	f.Protocol = factOf(err, func(e callerror.Protocol) (p protocolFact) {
		p.Code, p.Message, p.Data = e.ToolErrorProtocol()
		return p
	})
	f.Timeout = factOf(err, callerror.Timeout.Timeout)
	return f
}

// Ask asks an error all that the engine and the layers around it ask of one, for the sake
// of a method that panics.
func Ask(err error) {
	walk(err, new(int), func(err error) { _ = err.Error() })
	_ = errors.Is(err, context.Canceled)
	_ = factsOf(err)
	_ = factOf(err, callerror.Cause.ToolErrorCause)
}

// factOf asks the first error in the chain that has the methods of C.
func factOf[C, V any](err error, ask func(C) V) *V {
	var carrier C
	if !errors.As(err, &carrier) {
		return nil
	}
	v := ask(carrier)
	return &v
}

// described are errors like e, each with one of the methods that the failure had.
func (f *Failure) described(e *effectError) (all []error) {
	for _, method := range []struct {
		had bool
		err error
	}{
		{f.Type != nil, typeFact{e}},
		{f.Code != nil, codeFact{e}},
		{f.Expected != nil, expectedFact{e}},
		{f.Quiet != nil, quietFact{e}},
		{f.Hints != nil, hintsFact{e}},
		{f.Operation != nil, operationFact{e}},
		{f.Selector != nil, selectorOf{e}},
		{f.Fields != nil, fieldsOf{e}},
		{f.Effect != nil, effectFact{e}},
		{f.Retryable != nil, retryableFact{e}},
		{f.Protocol != nil, protocolOf{e}},
		{f.Timeout != nil, timeoutFact{e}},
	} {
		if method.had {
			all = append(all, method.err)
		}
	}
	return all
}

type (
	typeFact      struct{ *effectError }
	codeFact      struct{ *effectError }
	expectedFact  struct{ *effectError }
	quietFact     struct{ *effectError }
	hintsFact     struct{ *effectError }
	operationFact struct{ *effectError }
	selectorOf    struct{ *effectError }
	fieldsOf      struct{ *effectError }
	effectFact    struct{ *effectError }
	retryableFact struct{ *effectError }
	protocolOf    struct{ *effectError }
	timeoutFact   struct{ *effectError }
)

func (e typeFact) ToolErrorType() string                { return *e.failure.Type }
func (e codeFact) ToolErrorCode() string                { return *e.failure.Code }
func (e expectedFact) ToolErrorExpected() bool          { return *e.failure.Expected }
func (e quietFact) ToolErrorQuiet() bool                { return *e.failure.Quiet }
func (e hintsFact) ToolErrorHints() []string            { return *e.failure.Hints }
func (e operationFact) ToolErrorOperation() string      { return *e.failure.Operation }
func (e fieldsOf) ToolErrorFields() map[string][]string { return *e.failure.Fields }
func (e effectFact) ToolErrorEffect() string            { return *e.failure.Effect }
func (e retryableFact) ToolErrorRetryable() bool        { return *e.failure.Retryable }
func (e timeoutFact) Timeout() bool                     { return *e.failure.Timeout }
func (e selectorOf) ToolErrorSelector() (string, []string) {
	return e.failure.Selector.Selector, e.failure.Selector.Candidates
}
func (e protocolOf) ToolErrorProtocol() (int64, string, []byte) {
	p := e.failure.Protocol
	return p.Code, p.Message, p.Data
}

package mrtr

import "errors"

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
	f.Type = factOf(err, carriesType.ToolErrorType)
	f.Code = factOf(err, carriesCode.ToolErrorCode)
	f.Expected = factOf(err, carriesExpected.ToolErrorExpected)
	f.Quiet = factOf(err, carriesQuiet.ToolErrorQuiet)
	f.Hints = factOf(err, carriesHints.ToolErrorHints)
	f.Operation = factOf(err, carriesOperation.ToolErrorOperation)
	f.Selector = factOf(err, func(e carriesSelector) (s selectorFact) {
		s.Selector, s.Candidates = e.ToolErrorSelector()
		return s
	})
	f.Fields = factOf(err, func(e carriesFields) fieldsFact { return e.ToolErrorFields() })
	f.Effect = factOf(err, carriesEffect.ToolErrorEffect)
	f.Retryable = factOf(err, carriesRetryable.ToolErrorRetryable)
	f.Protocol = factOf(err, func(e carriesProtocol) (p protocolFact) {
		p.Code, p.Message, p.Data = e.ToolErrorProtocol()
		return p
	})
	f.Timeout = factOf(err, carriesTimeout.Timeout)
	return f
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
func (f *failure) described(e *effectError) (all []error) {
	if f.Type != nil {
		all = append(all, typeFact{e})
	}
	if f.Code != nil {
		all = append(all, codeFact{e})
	}
	if f.Expected != nil {
		all = append(all, expectedFact{e})
	}
	if f.Quiet != nil {
		all = append(all, quietFact{e})
	}
	if f.Hints != nil {
		all = append(all, hintsFact{e})
	}
	if f.Operation != nil {
		all = append(all, operationFact{e})
	}
	if f.Selector != nil {
		all = append(all, selectorOf{e})
	}
	if f.Fields != nil {
		all = append(all, fieldsOf{e})
	}
	if f.Effect != nil {
		all = append(all, effectFact{e})
	}
	if f.Retryable != nil {
		all = append(all, retryableFact{e})
	}
	if f.Protocol != nil {
		all = append(all, protocolOf{e})
	}
	if f.Timeout != nil {
		all = append(all, timeoutFact{e})
	}
	return all
}

// The methods by which an error describes itself, to package boundary among others.
type (
	carriesType      interface{ ToolErrorType() string }
	carriesCode      interface{ ToolErrorCode() string }
	carriesExpected  interface{ ToolErrorExpected() bool }
	carriesQuiet     interface{ ToolErrorQuiet() bool }
	carriesHints     interface{ ToolErrorHints() []string }
	carriesOperation interface{ ToolErrorOperation() string }
	carriesSelector  interface {
		ToolErrorSelector() (selector string, candidates []string)
	}
	carriesFields    interface{ ToolErrorFields() map[string][]string }
	carriesEffect    interface{ ToolErrorEffect() string }
	carriesRetryable interface{ ToolErrorRetryable() bool }
	carriesProtocol  interface {
		ToolErrorProtocol() (code int64, message string, data []byte)
	}
	carriesTimeout interface{ Timeout() bool }
)

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

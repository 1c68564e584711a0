package boundary

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/callerror"
)

// A FieldError is one problem with the arguments.
type FieldError struct {
	Pointer string `json:"pointer"`        // JSON pointer into the arguments; "" for all of them
	Problem string `json:"problem"`        // such as "is required"; must not quote the value, which may be secret
	Hint    string `json:"hint,omitempty"` // what to send instead
}

// Validation is the error of wrong arguments, with every problem at once. It is
// expected. The boundary returns it for arguments that break the tool's schema; a
// tool returns it for rules that a schema cannot express.
type Validation struct {
	Fields []FieldError
	Hints  []string
}

func (e *Validation) Error() string {
	fields := e.sorted()
	parts := make([]string, 0, len(fields))
	for _, f := range fields {
		where := f.Pointer
		if where == "" {
			where = "the arguments"
		}
		parts = append(parts, where+" "+f.Problem)
	}
	noun := "argument problems"
	if len(parts) == 1 {
		noun = "argument problem"
	}
	return fmt.Sprintf("%d %s: %s.", len(parts), noun, strings.Join(parts, "; "))
}

func (e *Validation) sorted() []FieldError {
	fields := slices.Clone(e.Fields)
	slices.SortFunc(fields, func(a, b FieldError) int {
		return cmp.Or(strings.Compare(a.Pointer, b.Pointer), strings.Compare(a.Problem, b.Problem))
	})
	return fields
}

func (e *Validation) ToolErrorType() string   { return "validation" }
func (e *Validation) ToolErrorExpected() bool { return true }

// ToolErrorHints returns the fields' hints, sorted as the fields are, then Hints.
func (e *Validation) ToolErrorHints() []string {
	var hints []string
	for _, f := range e.sorted() {
		if f.Hint != "" {
			hints = append(hints, f.Hint)
		}
	}
	return append(hints, e.Hints...)
}

func (e *Validation) ToolErrorFields() map[string][]string {
	fields := map[string][]string{}
	for _, f := range e.sorted() {
		fields[f.Pointer] = append(fields[f.Pointer], f.Problem)
	}
	return fields
}

// The kinds of [Selector].
const (
	NotFound      = "not_found"
	Ambiguous     = "ambiguous"
	InvalidFormat = "invalid_format"
)

const maxCandidates = 10

// Selector is the error of an argument that selects something and matched nothing,
// matched several, or has the wrong form. It is expected. Its type on the wire is
// its Kind.
type Selector struct {
	Kind       string   // NotFound, Ambiguous or InvalidFormat
	Selector   string   // the argument, such as "location"
	Candidates []string // values that would match; clients see the first ten
	Tool       string   // the tool that lists all values; optional
	Hints      []string
}

func (e *Selector) Error() string {
	text := fmt.Sprintf("%q was not found.", e.Selector)
	switch e.Kind {
	case Ambiguous:
		text = fmt.Sprintf("%q fits more than one.", e.Selector)
	case InvalidFormat:
		text = fmt.Sprintf("%q has the wrong form.", e.Selector)
	}
	if c := capped(e.Candidates); len(c) > 0 {
		text += " Candidates: " + strings.Join(c, "; ") + "."
	}
	return text
}

func (e *Selector) ToolErrorType() string   { return e.Kind }
func (e *Selector) ToolErrorExpected() bool { return true }

func (e *Selector) ToolErrorSelector() (string, []string) {
	return e.Selector, capped(e.Candidates)
}

// ToolErrorHints returns Hints, then a hint to call Tool.
func (e *Selector) ToolErrorHints() []string {
	hints := append([]string(nil), e.Hints...)
	if e.Tool != "" {
		hints = append(hints, fmt.Sprintf("Call %q for the valid values of %q.", e.Tool, e.Selector))
	}
	return hints
}

func capped(candidates []string) []string {
	return candidates[:min(len(candidates), maxCandidates)]
}

// Execution is the error of an operation that failed. The client reads Message, or
// that Operation failed; the log of a fault has Err too.
type Execution struct {
	Operation string // such as "geocode"
	Message   string // for the client; optional
	Err       error  // the cause, for the log alone
	Code      string // a code of your own; optional
	Expected  bool   // the agent can correct it; false for a fault
	Retryable bool   // running the same call again may succeed
	Effect    string // "applied" or "unknown"; optional
	Hints     []string
}

func (e *Execution) Error() string {
	switch {
	case e.Message != "":
		return e.Message
	case e.Operation != "":
		return e.Operation + " failed."
	}
	return "The tool failed."
}

func (e *Execution) Unwrap() error              { return e.Err }
func (e *Execution) ToolErrorType() string      { return "execution" }
func (e *Execution) ToolErrorCode() string      { return e.Code }
func (e *Execution) ToolErrorExpected() bool    { return e.Expected }
func (e *Execution) ToolErrorRetryable() bool   { return e.Retryable }
func (e *Execution) ToolErrorEffect() string    { return e.Effect }
func (e *Execution) ToolErrorOperation() string { return e.Operation }
func (e *Execution) ToolErrorHints() []string   { return e.Hints }

// Protocol ends the call in a JSON-RPC error instead of an error result, for a
// request at fault that a model cannot correct. It keeps its code, message and data
// through any wrapping. A bare *jsonrpc.Error does the same; a wrapped one is an
// ordinary error of the tool, since it may come from another server that the tool
// called.
//
// Revision 2026-07-28 withdrew the codes -32002 and -32042. A modern client gets an
// error result of type "withdrawn_code" instead, with the same text, and the log a
// fault, since the tool has to be changed. A legacy client gets the error as it is.
type Protocol struct {
	Code    int64
	Message string
	Data    json.RawMessage // any JSON value; optional
	Err     error           // the cause, for the log
}

func (e *Protocol) Error() string { return e.Message }
func (e *Protocol) Unwrap() error { return e.Err }

func (e *Protocol) ToolErrorProtocol() (int64, string, []byte) {
	return e.Code, e.Message, e.Data
}

// protocolError is the JSON-RPC error to send for err, or nil if err is an ordinary
// error. One that cannot be sent, without a code or with data that is not JSON, is
// ordinary too.
func protocolError(err error) *jsonrpc.Error {
	if wire, ok := err.(*jsonrpc.Error); ok { // bare, as go-sdk itself asks
		if wire == nil {
			return nil
		}
		return ownError(wire.Code, wire.Message, wire.Data)
	}
	if p, ok := carried[callerror.Protocol](err); ok {
		return ownError(p.ToolErrorProtocol())
	}
	return nil
}

func ownError(code int64, message string, data []byte) *jsonrpc.Error {
	if code == 0 || !sendableData(data) {
		return nil
	}
	return &jsonrpc.Error{Code: code, Message: message, Data: bytes.Clone(data)}
}

// protocolError is the JSON-RPC error to send to this client for err, or nil. It
// keeps the cause for the log.
func (c *call) protocolError(err error) *jsonrpc.Error {
	wire := protocolError(err)
	if wire != nil && withdrawn(wire) && c.revision != legacy {
		return nil
	}
	if wire != nil && wire.Message == "" {
		wire = &jsonrpc.Error{Code: wire.Code, Message: silentText(c), Data: wire.Data}
	}
	if p, ok := carried[callerror.Protocol](err); wire != nil && ok {
		if e, ok := p.(error); ok {
			c.note(errors.Unwrap(e))
		}
	}
	return wire
}

func silentText(c *call) string {
	if c.kind == nil { // an item of a batch, outside a boundary
		return "It failed and gave no reason."
	}
	return "The " + c.kind.attr + " failed and gave no reason."
}

// withdrawn reports whether modern revisions no longer have the error's code: they
// have another one for a missing resource, and ask the user to open a URL by a
// question.
func withdrawn(wire *jsonrpc.Error) bool {
	const resourceNotFound = -32002
	return wire.Code == resourceNotFound || wire.Code == mcp.CodeURLElicitationRequired
}

// sendableData reports whether an error can carry the data. There may be none.
func sendableData(data json.RawMessage) bool {
	return len(data) == 0 || sendable(data) == nil
}

// note keeps the cause of a protocol error for the log. The JSON-RPC error has no
// place for it. It is printed here, where the author's code may still run.
func (c *call) note(cause error) {
	if cause == nil {
		return
	}
	text := printed(cause)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cause = text
}

// protocolCause is the noted cause as text, or "".
func (c *call) protocolCause() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause
}

// within cuts an error's message, and drops its data, if they would take more
// than a number of bytes on the wire.
func within(limit int, wire *jsonrpc.Error) *jsonrpc.Error {
	size := escapedSize(wire.Message)
	if size+jsonSize(wire.Data) <= limit {
		return wire
	}
	cut := *wire
	cut.Data = nil
	if size > limit {
		const longest = len(`\u0000`) // of one byte in JSON
		cut.Message = truncated(cut.Message, (limit-markerSize)/longest)
	}
	return &cut
}

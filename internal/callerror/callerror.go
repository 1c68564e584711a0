// Package callerror reads what a client is told by an error that ends its call: from the methods with
// which the error describes itself, to the text that may replace its own, and its JSON-RPC code.
//
// A call of a prompt or a resource that ends without a result has one of these codes, because those have
// no error results. The same cause has the same code whichever package finds it:
//
//	-31000  an outcome: the client or its user ended the call, or can cure it
//	        (declined, unanswered, cannot be asked, frame gone, busy, interrupted)
//	-31001  nothing was run: the same request may be sent again as it is, and data says
//	        "retryable" (in flight, the store is down or full). Tools have it too,
//	        since an error result would make a model begin another call
//	-32603  a fault: the server's program has to be mended
//	        (misuse, a panic, a limit exceeded, an error of the handler's own)
//
// All carry the reason in data, for middleware: of an error that also has to stay recognizable by its
// cause, go-sdk v1.8 sends code and message alone. The codes from -32768 to -32000 belong to JSON-RPC
// and to the Model Context Protocol, so that an application's own code lies outside. Refused requests
// keep the codes that the protocol gives them (-32602, -32021).
package callerror

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/jsontext"
)

// CodeStopped is the code of an outcome.
const CodeStopped = -31000

// CodeNotBegun is the code of a request that was not begun.
const CodeNotBegun = -31001

// StoreFull is the reason of a request that was not begun because the store has no room for its round.
const StoreFull = "store_full"

// NotBegun refuses a request that may be sent again as it is. A bare JSON-RPC error
// is one on tools too.
func NotBegun(message, reason string) *jsonrpc.Error {
	data := append(jsontext.AppendString([]byte(`{"reason":`), reason), `,"retryable":true}`...)
	return &jsonrpc.Error{Code: CodeNotBegun, Message: message, Data: json.RawMessage(data)}
}

// CodeUnknown is the code of a call that was begun, and of which nobody knows how it ended.
// WebSocket has the same number for a server that goes.
const CodeUnknown = 1001

// Unknown answers such a call. Whether to send it again is for its client to decide: where a
// store keeps its rounds, that is safe.
func Unknown(message, reason string) *jsonrpc.Error {
	data := append(jsontext.AppendString([]byte(`{"reason":`), reason), `,"retryable":false,"effects":"unknown"}`...)
	return &jsonrpc.Error{Code: CodeUnknown, Message: message, Data: json.RawMessage(data)}
}

// LeavesOpen reports whether an error is such an answer, which another server gave to a call of the
// handler's.
func LeavesOpen(err error) bool {
	var wire *jsonrpc.Error
	var says struct{ Effects string }
	return errors.As(err, &wire) && json.Unmarshal(wire.Data, &says) == nil && says.Effects == "unknown"
}

var shuttingDown = NotBegun("This server is shutting down and has not begun this request: send it again as it is.", "shutting_down")

// ShuttingDown refuses a request because the server shuts down. It has done nothing, and can be sent
// to another instance as it is. All of them are one value: what another server said in these words,
// and a handler hands on, is not it.
func ShuttingDown() *jsonrpc.Error { return shuttingDown }

// OtherArguments refuses a first request whose key stands for another call.
func OtherArguments() *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "This key was used otherwise: with other arguments, or as a task where this is none, or the reverse. Take a new key for a new call."}
}

// TasksExtension is the name of the tasks extension.
const TasksExtension = "io.modelcontextprotocol/tasks"

// NeedsTasks refuses a request of a client that does not declare the tasks extension.
func NeedsTasks() *jsonrpc.Error { return Lacks(`{"extensions":{"`+TasksExtension+`":{}}}`, "") }

// Lacks tells a modern client which capabilities it would have to declare, as a JSON object, and
// what for: many show their model the message alone. go-sdk's own type for the data always adds a
// roots member.
func Lacks(required, whatFor string) *jsonrpc.Error {
	return &jsonrpc.Error{
		Code: mcp.CodeMissingRequiredClientCapabilities, Message: "Missing required client capability" + whatFor,
		Data: json.RawMessage(`{"requiredCapabilities":` + required + `}`),
	}
}

// Stopped makes an outcome of cause.
func Stopped(cause error, reason string) error { return end(CodeStopped, cause, reason) }

// Fault makes a fault of cause.
func Fault(cause error, reason string) error { return end(jsonrpc.CodeInternalError, cause, reason) }

func end(code int64, cause error, reason string) error {
	data := append(jsontext.AppendString([]byte(`{"reason":`), reason), '}')
	return &ended{cause, &jsonrpc.Error{Code: code, Message: cause.Error(), Data: json.RawMessage(data)}}
}

// ended is an error that go-sdk sends with our code and middleware recognizes by
// its cause. go-sdk takes the first [jsonrpc.Error] in the chain, and there may be
// another one in the cause: that of a client which failed to answer.
type ended struct {
	cause error
	wire  *jsonrpc.Error
}

func (e *ended) Error() string   { return e.cause.Error() }
func (e *ended) Unwrap() []error { return []error{e.wire, e.cause} }

// The methods by which an error describes itself. Package boundary explains them to authors
// and reads them; package mrtr keeps their answers in a journal, so that a replayed error
// answers as the first one did.
type (
	Type      interface{ ToolErrorType() string }
	Code      interface{ ToolErrorCode() string }
	Expected  interface{ ToolErrorExpected() bool }
	Quiet     interface{ ToolErrorQuiet() bool }
	Hints     interface{ ToolErrorHints() []string }
	Operation interface{ ToolErrorOperation() string }
	Selector  interface {
		ToolErrorSelector() (selector string, candidates []string)
	}
	Fields    interface{ ToolErrorFields() map[string][]string }
	Effect    interface{ ToolErrorEffect() string }
	Retryable interface{ ToolErrorRetryable() bool }
	Cause     interface{ ToolErrorCause() string }
	Protocol  interface {
		ToolErrorProtocol() (code int64, message string, data []byte)
	}
	// Timeout is the method of net.Error and context.DeadlineExceeded.
	Timeout interface{ Timeout() bool }
)

// sentinels are those that no type tells from others.
var sentinels = []error{
	context.Canceled, context.DeadlineExceeded,
	io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, io.ErrNoProgress, io.ErrShortWrite,
	fs.ErrInvalid, fs.ErrPermission, fs.ErrExist, fs.ErrNotExist, fs.ErrClosed,
	sql.ErrNoRows, sql.ErrTxDone, sql.ErrConnDone, driver.ErrBadConn, driver.ErrSkip, driver.ErrRemoveArgument,
	http.ErrServerClosed, http.ErrHandlerTimeout, http.ErrBodyReadAfterClose, http.ErrLineTooLong, http.ErrUseLastResponse,
}

// packages have error types of their own.
var packages = []string{"net", "os", "io/fs", "syscall", "internal/poll", "crypto", "database/sql"}

// A Reading is what an error's chain holds of a tool's dependencies: the network, files, a
// database, a context. Their errors name hosts, paths and queries, so their texts are for the
// log. An author who has something to tell the client types the error: one with
// ToolErrorType, ToolErrorExpected, ToolErrorQuiet or ToolErrorProtocol speaks for all that it
// wraps.
type Reading struct {
	Found bool   `json:"found,omitempty"` // an error of a dependency
	Typed bool   `json:"typed,omitempty"` // a typed error
	Says  string `json:"says,omitempty"`  // the text of the outermost typed error
	Added string `json:"added,omitempty"` // what a wrapper with ToolErrorEffect adds to a text, such as not to call again
}

// A Reader is an error that was read before, and has no chain any more.
type Reader interface{ DependencyReading() Reading }

const maxChain = 1000

// ReadingOf reads an error.
func ReadingOf(err error) (r Reading) {
	seen := 0
	var walk func(error)
	walk = func(err error) {
		if seen++; seen > maxChain {
			return
		}
		switch e := err.(type) {
		case Type, Expected, Quiet, Protocol:
			r.add(Reading{Typed: true, Says: err.Error()})
			return
		case Reader:
			r.add(e.DependencyReading())
			return
		}
		r.Found = r.Found || is(err)
		_, reports := err.(Effect)
		for _, inner := range Unwrapped(err) {
			if added, ok := strings.CutPrefix(err.Error(), inner.Error()); ok && reports {
				r.add(Reading{Added: strings.TrimPrefix(added, ".")})
			}
			walk(inner)
		}
	}
	walk(err)
	return r
}

// add takes over what was not known yet: the outermost counts.
func (r *Reading) add(inner Reading) {
	if inner.Typed && !r.Typed {
		r.Typed, r.Says = true, inner.Says
	}
	if r.Added == "" {
		r.Added = inner.Added
	}
	r.Found = r.Found || inner.Found
}

// Text is the text that a client may read in place of the error's own: a typed error's, or
// the sentence.
func (r Reading) Text(sentence string) string {
	if r.Typed {
		sentence = r.Says
	}
	return sentence + r.Added
}

func is(err error) bool {
	switch err.(type) {
	case net.Error, interface{ SQLState() string }:
		return true
	}
	t := reflect.TypeOf(err)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if slices.ContainsFunc(packages, func(pkg string) bool {
		return t.PkgPath() == pkg || strings.HasPrefix(t.PkgPath(), pkg+"/")
	}) {
		return true
	}
	return t.Comparable() && slices.Contains(sentinels, err)
}

// Unwrapped are the errors that an error wraps.
func Unwrapped(err error) []error {
	switch u := err.(type) {
	case interface{ Unwrap() error }:
		if inner := u.Unwrap(); inner != nil {
			return []error{inner}
		}
	case interface{ Unwrap() []error }:
		return slices.DeleteFunc(slices.Clone(u.Unwrap()), func(err error) bool { return err == nil })
	}
	return nil
}

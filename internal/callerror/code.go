// The JSON-RPC code of a call that ends without a
// result, on prompts and resources, which have no error results. The same cause
// has the same code whichever package finds it:
//
//	-31000  an outcome: the client or its user ended the call, or can cure it
//	        (declined, unanswered, cannot be asked, frame gone, busy, interrupted)
//	-31001  nothing was run: the same request may be sent again as it is, and data says
//	        "retryable" (in flight, the store is down or full). Tools have it too,
//	        since an error result would make a model begin another call
//	-32603  a fault: the server's program has to be mended
//	        (misuse, a panic, a limit exceeded, an error of the handler's own)
//
// All carry the reason in data, for middleware: of an error that also has to stay
// recognizable by its cause, go-sdk v1.8 sends code and message alone. The codes from -32768 to -32000 belong to
// JSON-RPC and to the Model Context Protocol, so that an application's own code
// lies outside. Refused requests keep the codes that the protocol gives them
// (-32602, -32021).
package callerror

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/jsontext"
)

// CodeStopped is the code of an outcome.
const CodeStopped = -31000

// CodeNotBegun is the code of a request that was not begun.
const CodeNotBegun = -31001

// NotBegun refuses a request that may be sent again as it is. A bare JSON-RPC error
// is one on tools too.
func NotBegun(message, reason string) *jsonrpc.Error {
	data := append(jsontext.AppendString([]byte(`{"reason":`), reason), `,"retryable":true}`...)
	return &jsonrpc.Error{Code: CodeNotBegun, Message: message, Data: json.RawMessage(data)}
}

// TasksExtension is the name of the tasks extension.
const TasksExtension = "io.modelcontextprotocol/tasks"

// NeedsTasks refuses a request of a client that does not declare the tasks extension.
func NeedsTasks() *jsonrpc.Error { return Lacks(`{"extensions":{"` + TasksExtension + `":{}}}`) }

// Lacks tells a modern client which capabilities it would have to declare, as a JSON object.
// go-sdk's own type for the data always adds a roots member.
func Lacks(required string) *jsonrpc.Error {
	return &jsonrpc.Error{
		Code: mcp.CodeMissingRequiredClientCapabilities, Message: "Missing required client capability",
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

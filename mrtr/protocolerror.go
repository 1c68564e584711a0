package mrtr

import (
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/statecodec"
)

// badState is the one answer to every state that does not open, whatever was
// wrong with it. The reason goes to the observer.
func badState() error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: statecodec.Refusal}
}

// missingCapability tells a modern client what it would have to declare.
// go-sdk's own type for the data always adds a roots member, so it is
// written here.
func missingCapability(required string) error {
	return &jsonrpc.Error{
		Code:    mcp.CodeMissingRequiredClientCapabilities,
		Message: "Missing required client capability",
		Data:    json.RawMessage(`{"requiredCapabilities":` + required + `}`),
	}
}

// badArguments refuses arguments that a state cannot be bound to, such as an
// object that names a member twice.
func badArguments() error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Invalid arguments: they have no canonical form"}
}

// isProtocolError reports whether go-sdk sends err as a JSON-RPC error, rather
// than as the result of a tool.
func isProtocolError(err error) bool {
	_, ok := err.(*jsonrpc.Error)
	return ok
}

// asProtocolError is the public face of an error where results cannot be
// errors: prompts and resources. An error with a code of its own keeps it.
func asProtocolError(err error) error {
	var wire *jsonrpc.Error
	if errors.As(err, &wire) {
		return err
	}
	return &stopped{cause: err, wire: &jsonrpc.Error{Code: codeStopped, Message: err.Error()}}
}

// stopped carries a code for the wire, of which go-sdk takes the first in the
// chain, and stays recognisable for middleware.
type stopped struct {
	cause error
	wire  *jsonrpc.Error
}

func (s *stopped) Error() string   { return s.cause.Error() }
func (s *stopped) Unwrap() []error { return []error{s.wire, s.cause} }

// codeStopped is in the range that JSON-RPC leaves to implementations and the
// protocol does not reserve.
const codeStopped = -32000

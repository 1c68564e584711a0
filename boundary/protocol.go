package boundary

import (
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Protocol says that the call is to end in a JSON-RPC error and not in an error
// result: the request, not the tool, is at fault, and a model could do nothing
// with it. A bare *jsonrpc.Error does the same; wrapped, go-sdk loses its data or
// turns it into text, while a Protocol keeps code, message and data through any
// wrapping.
//
// A *jsonrpc.Error that is wrapped stays the tool's own error. It may have come
// from another server that the tool called, whose protocol is not this call's.
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

// protocolError is the JSON-RPC error that err means to be, or nil. One that
// could not be sent (no code, data that is no JSON) was not well meant: it is
// judged as the tool's own error.
func protocolError(err error) *jsonrpc.Error {
	if wire, ok := err.(*jsonrpc.Error); ok { // bare, as go-sdk itself asks
		if wire != nil && wire.Code != 0 && (len(wire.Data) == 0 || json.Valid(wire.Data)) {
			return wire
		}
		return nil
	}
	if p, ok := carried[carriesProtocol](err); ok {
		code, message, data := p.ToolErrorProtocol()
		if code != 0 && (len(data) == 0 || json.Valid(data)) {
			return &jsonrpc.Error{Code: code, Message: message, Data: data}
		}
	}
	return nil
}

// protocolCause is what the log says of a protocol error beyond its message.
func protocolCause(err error) string {
	if cause := errors.Unwrap(err); cause != nil {
		return printed(cause)
	}
	return ""
}

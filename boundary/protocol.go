package boundary

import (
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Protocol says that the call is to end in a JSON-RPC error and not in an error
// result: the request, not the tool, is at fault, and a model could do nothing
// with it. A bare *jsonrpc.Error does the same; wrapped, go-sdk loses its data or
// turns it into text, while a Protocol keeps code, message and data through any
// wrapping.
//
// The codes -32002 and -32042 are not to be sent since revision 2026-07-28. To a
// client of that revision an error with one of them goes as an error result of
// type "withdrawn_code", with the same text, and is a fault: the tool has to be
// changed, and the model can read meanwhile what it would have said. An older
// client gets it as it is.
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

// protocolError is the JSON-RPC error that err means to be and that this client
// may be sent, or nil.
func (c *call) protocolError(err error) *jsonrpc.Error {
	wire := protocolError(err)
	if wire != nil && withdrawn(wire) && c.modern() {
		return nil
	}
	if p, ok := carried[carriesProtocol](err); wire != nil && ok {
		if e, ok := p.(error); ok {
			c.note(errors.Unwrap(e))
		}
	}
	return wire
}

// withdrawn reports whether the modern revisions have no such error any more: a
// resource that was not found has another code, and a visit to an address is a
// question like any other.
func withdrawn(wire *jsonrpc.Error) bool {
	const resourceNotFound = -32002
	return wire.Code == resourceNotFound || wire.Code == mcp.CodeURLElicitationRequired
}

// note keeps the cause of a protocol error, which the error itself does not
// carry, for the log.
func (c *call) note(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cause = cause
}

// protocolCause is what the log says of a protocol error beyond its message.
func (c *call) protocolCause() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause == nil {
		return ""
	}
	return printed(c.cause)
}

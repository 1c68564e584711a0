package boundary

import (
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/errormethods"
)

// Protocol ends the call in a JSON-RPC error instead of an error result, for a
// request at fault that a model cannot mend. It keeps its code, message and data
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
		if wire != nil && wire.Code != 0 && (sendableData(wire.Data)) {
			return wire
		}
		return nil
	}
	if p, ok := carried[errormethods.Protocol](err); ok {
		code, message, data := p.ToolErrorProtocol()
		if code != 0 && (sendableData(data)) {
			return &jsonrpc.Error{Code: code, Message: message, Data: data}
		}
	}
	return nil
}

// protocolError is the JSON-RPC error to send to this client for err, or nil. It
// keeps the cause for the log.
func (c *call) protocolError(err error) *jsonrpc.Error {
	wire := protocolError(err)
	if wire != nil && withdrawn(wire) && c.modern {
		return nil
	}
	if wire != nil && wire.Message == "" {
		wire = &jsonrpc.Error{Code: wire.Code, Message: silentText(c), Data: wire.Data}
	}
	if p, ok := carried[errormethods.Protocol](err); wire != nil && ok {
		if e, ok := p.(error); ok {
			c.note(errors.Unwrap(e))
		}
	}
	return wire
}

func silentText(c *call) string { return "The " + c.kind.attr + " failed and gave no reason." }

// withdrawn reports whether modern revisions no longer have the error's code: they
// have another one for a missing resource, and ask the user to open a URL by a
// question.
func withdrawn(wire *jsonrpc.Error) bool {
	const resourceNotFound = -32002
	return wire.Code == resourceNotFound || wire.Code == mcp.CodeURLElicitationRequired
}

// sendableData reports whether an error can carry the data. There may be none.
func sendableData(data json.RawMessage) bool {
	return len(data) == 0 || json.Valid(data) && sendable(data) == nil
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

// within cuts an error's message, and drops its data, where they would take more
// than a number of bytes on the wire.
func within(limit int, wire *jsonrpc.Error) *jsonrpc.Error {
	size := escapedSize(wire.Message) + jsonSize(wire.Data)
	if size <= limit {
		return wire
	}
	cut := *wire
	cut.Data = nil
	if size := escapedSize(cut.Message); size > limit {
		const longest = len(`\u0000`) // of one byte in JSON
		cut.Message = truncated(cut.Message, (limit-markerSize)/longest)
	}
	return &cut
}

package mrtr

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/rpcerror"
	"github.com/mrtr-go/sdk/sse"
	"github.com/mrtr-go/sdk/statecodec"
)

// badState is the one answer to every state that does not open. The reason goes
// to the observer.
func badState() error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: statecodec.Refusal}
}

// badArguments refuses arguments that a state cannot be bound to, such as an
// object that names a member twice.
func badArguments() error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Invalid arguments: they have no canonical form"}
}

// answeredOtherwise refuses answers to a round that has run with others.
func answeredOtherwise() error {
	return &jsonrpc.Error{
		Code:    jsonrpc.CodeInvalidParams,
		Message: "This round was answered before, and otherwise. Send those answers again for its result, or begin a new call.",
	}
}

// missingCapability tells a modern client which capabilities it would have to
// declare, as a JSON object. go-sdk's own type for the data always adds a roots member.
func missingCapability(required string) error {
	return &jsonrpc.Error{
		Code:    mcp.CodeMissingRequiredClientCapabilities,
		Message: "Missing required client capability",
		Data:    json.RawMessage(`{"requiredCapabilities":` + required + `}`),
	}
}

// lacksCapability reports whether a call ended because its modern client lacks a
// capability.
func lacksCapability(err error) bool {
	wire, ok := err.(*jsonrpc.Error)
	return ok && wire.Code == mcp.CodeMissingRequiredClientCapabilities
}

// isProtocolError reports whether go-sdk sends the error of a tool as a JSON-RPC
// error, rather than as an error result.
func isProtocolError(err error) bool {
	_, ok := err.(*jsonrpc.Error)
	return ok
}

// asProtocolError gives an error the code that go-sdk sends for prompts and
// resources. A code that the handler chose stays.
func asProtocolError(ctx context.Context, err error) error {
	if choseCode(err) {
		return err
	}
	switch {
	case isExpected(err):
		return rpcerror.Stopped(err, errorType(err))
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return rpcerror.Stopped(err, "interrupted")
	}
	return rpcerror.Fault(err, errorType(err))
}

// choseCode reports whether the handler wrapped a JSON-RPC error of its own. One
// inside an [sse.Error] is the answer of a client that was asked something, and
// its code means nothing to this call.
func choseCode(err error) bool {
	var wire *jsonrpc.Error
	if !errors.As(err, &wire) {
		return false
	}
	var failed *sse.Error
	return !errors.As(err, &failed) || !errors.Is(failed, wire)
}

package sse

import (
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/era"
)

// canAnswer says why this client cannot be put the question, before anybody was
// asked anything. go-sdk checks this for elicitation alone.
func canAnswer(client era.Client, key string, q mcp.InputRequest) *Error {
	capability := era.CapabilityFor(q)
	switch {
	case capability == era.NoCapability:
		return &Error{Reason: Malformed, Key: key, text: fmt.Sprintf("the handler asked with a %T that cannot be sent", q)}
	case client.Era != era.Legacy:
		return &Error{Reason: Unreachable, Key: key, text: "this client cannot be asked: its requests come without a stream that could carry the question"}
	case !client.Declared(capability):
		return &Error{Reason: Undeclared, Key: key, text: "this client does not support " + capability.String()}
	}
	return nil
}

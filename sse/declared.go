package sse

import (
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// canAnswer says why this client cannot be put the question, before anybody was
// asked anything. go-sdk checks this for elicitation alone.
func (c Client) canAnswer(key string, q mcp.InputRequest) *Error {
	able, capability := false, ""
	switch q := q.(type) {
	case *mcp.ElicitParams:
		if q == nil {
			break
		}
		able, capability = c.Form, "form elicitation"
		if isURL(q) {
			able, capability = c.URL, "url elicitation"
		}
	case *mcp.CreateMessageParams:
		if q != nil {
			able, capability = c.Sampling, "sampling"
		}
	case *mcp.CreateMessageWithToolsParams:
		if q == nil {
			break
		}
		able, capability = c.Sampling, "sampling"
		if len(q.Tools) > 0 || q.ToolChoice != nil {
			able, capability = c.SamplingTools, "sampling with tools"
		}
	case *mcp.ListRootsParams:
		able, capability = c.Roots, "roots"
	}
	switch {
	case capability == "":
		return &Error{Reason: Malformed, Key: key, text: fmt.Sprintf("the handler asked with a %T that cannot be sent", q)}
	case c.Era != Legacy:
		return &Error{Reason: Unreachable, Key: key, text: "this client cannot be asked: its requests come without a stream that could carry the question"}
	case !able:
		return &Error{Reason: Undeclared, Key: key, text: "this client does not support " + capability}
	}
	return nil
}

func isURL(q *mcp.ElicitParams) bool {
	return q.Mode == "url" || q.Mode == "" && (q.URL != "" || q.ElicitationID != "")
}

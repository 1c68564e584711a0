package boundary

import (
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// errorResult is the error result of a failure.
func (c *call) errorResult(f *failure) *mcp.CallToolResult {
	res := c.newResult()
	res.Content = []mcp.Content{&mcp.TextContent{Text: f.text}}
	c.makeError(res, f)
	return res
}

// makeError turns res into an error result: its content stays as it is, the hints
// follow, and structured content is removed, since a strict client would judge it
// by the output schema.
func (c *call) makeError(res *mcp.CallToolResult, f *failure) {
	f.effect = c.effect(f)
	f.bound()
	res.IsError = true
	res.StructuredContent = nil
	res.InputRequests, res.RequestState = nil, ""
	if len(f.hints) > 0 {
		res.Content = append(res.Content[:len(res.Content):len(res.Content)],
			&mcp.TextContent{Text: strings.Join(f.hints, "\n")})
	}
	c.addReport(res, f)
	res.SetError(&resultError{f})
}

// resultError carries a failure to the log layer as the result's own error, which
// never leaves the server. Middleware outside the boundary finds the tool's error
// through Unwrap.
type resultError struct{ failure *failure }

func (r *resultError) Error() string { return r.failure.text }
func (r *resultError) Unwrap() error { return r.failure.err }

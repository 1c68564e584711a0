package boundary

import (
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// fail makes the error result of a problem.
func (c *call) fail(b *boundary, p *problem) *mcp.CallToolResult {
	res := c.blank()
	res.Content = []mcp.Content{&mcp.TextContent{Text: p.text}}
	c.finish(b, res, p)
	return res
}

// finish makes res an error result: its content stays first and as it was raised,
// the hints come last, and nothing structured remains, since a strict client
// would hold it against the output schema.
func (c *call) finish(b *boundary, res *mcp.CallToolResult, p *problem) {
	p.effect = c.effect(p)
	res.IsError = true
	res.StructuredContent = nil
	res.InputRequests, res.RequestState = nil, ""
	if len(p.hints) > 0 {
		res.Content = append(res.Content[:len(res.Content):len(res.Content)],
			&mcp.TextContent{Text: strings.Join(p.hints, "\n")})
	}
	c.face(res, p, b.opts.BareKeys)
	res.SetError(&rendered{p})
}

// rendered hands a problem to the audit layer, by way of the result's own error,
// which never leaves the server. Middleware outside the boundary still finds what
// the tool raised, through Unwrap.
type rendered struct{ p *problem }

func (r *rendered) Error() string { return r.p.text }
func (r *rendered) Unwrap() error { return r.p.err }

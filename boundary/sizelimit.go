package boundary

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sizeLimit shortens a result that is larger than the limit, and marks each place
// where something is missing. It keeps the end, where a command prints its outcome
// and an error its reason. isError and _meta are kept whole; text is cut between
// characters; images and resources are dropped whole. Questions are never cut.
func (b *boundary) sizeLimit(next endpoint) endpoint {
	return func(ctx context.Context, c *call) (*mcp.CallToolResult, error) {
		res, err := next(ctx, c)
		if err != nil || res.InputRequests != nil {
			return res, err
		}
		size := sizeOf(res)
		if size <= b.opts.MaxResultBytes {
			return res, nil
		}
		if !res.IsError && c.definition().hasOutput() {
			// A shortened output breaks the output schema, and a strict client
			// would reject it.
			return c.errorResult(b, &failure{
				kind:        "too_large",
				text:        fmt.Sprintf("The tool ran, but its result of %d bytes is larger than the %d this server sends.", size, b.opts.MaxResultBytes),
				expected:    true,
				hints:       []string{"Ask for less in one call, if the tool's arguments allow it."},
				undelivered: true,
				cause:       fmt.Sprintf("result of %d bytes", size),
			}), nil
		}
		copied := *res
		if res.StructuredContent == nil {
			copied.Content = keepEnd(res.Content, b.opts.MaxResultBytes)
			return &copied, nil
		}
		copied.StructuredContent = nil
		copied.Content = append(keepEnd(res.Content, b.opts.MaxResultBytes-markerSize),
			marker("[The structured content was dropped: the result was too large.]"))
		return &copied, nil
	}
}

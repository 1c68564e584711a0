package boundary

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// limits bounds what a result's content and structured content may weigh, the
// lines that say what is missing included. The tail is kept, as that is where a
// command's outcome and an error's reason stand; isError and _meta are kept
// whole; text is cut between characters; images and resources are dropped whole.
// Questions are never cut.
func (b *boundary) limits(next endpoint) endpoint {
	return func(ctx context.Context, c *call) (*mcp.CallToolResult, error) {
		res, err := next(ctx, c)
		if err != nil || res.InputRequests != nil || b.opts.MaxResultBytes < 0 {
			return res, err
		}
		size := weigh(res)
		if size <= b.opts.MaxResultBytes {
			return res, nil
		}
		if !res.IsError && c.definition().hasOutput() {
			// What would be left breaks the output schema, so a strict client
			// would reject it.
			return c.fail(b, &problem{
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
			copied.Content = tail(res.Content, b.opts.MaxResultBytes)
			return &copied, nil
		}
		copied.StructuredContent = nil
		copied.Content = append(tail(res.Content, b.opts.MaxResultBytes-markerWeight),
			marker("[The structured content was dropped: the result was too large.]"))
		return &copied, nil
	}
}

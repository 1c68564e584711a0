package boundary

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// freeMeta is how much of an author's _meta is not counted.
const freeMeta = 1 << 10

// sizeLimit shortens a result that is larger than the limit, and marks each place
// where something is missing. It keeps the end, where a command prints its outcome
// and an error its reason. isError and the [Report] are kept; text is cut between
// characters; images and resources are dropped whole, and so is a _meta of more than
// half the limit. Questions are never cut. A protocol error loses its data, and then
// the end of its message.
func (b *boundary) sizeLimit(next endpoint) endpoint {
	return func(ctx context.Context, c *call) (*mcp.CallToolResult, error) {
		res, err := next(ctx, c)
		if wire, ok := err.(*jsonrpc.Error); ok {
			return nil, within(b.opts.MaxResultBytes, wire)
		}
		if err != nil || res.InputRequests != nil {
			return res, err
		}
		budget := b.opts.MaxResultBytes
		res, weight := c.weighMeta(res, budget)
		budget -= weight
		if surelyWithin(res, budget) {
			return res, nil
		}
		size := sizeOf(res)
		if size <= budget {
			return res, nil
		}
		if !res.IsError && c.definition().hasOutput() {
			// A shortened output breaks the output schema, and a strict client
			// would reject it.
			return c.errorResult(&failure{
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
			copied.Content = keepEnd(res.Content, budget)
			return &copied, nil
		}
		copied.StructuredContent = nil
		copied.Content = append(keepEnd(res.Content, budget-markerSize),
			marker("[The structured content was dropped: the result was too large.]"))
		return &copied, nil
	}
}

// weighMeta returns how much of the budget the author's _meta takes. One that would
// take more than half is dropped.
func (c *call) weighMeta(res *mcp.CallToolResult, budget int) (*mcp.CallToolResult, int) {
	if len(res.Meta) <= 1 { // the report
		return res, 0
	}
	own := maps.Clone(res.Meta)
	for _, key := range []string{MetaKey, "error_type", "expected", "suggestion"} {
		delete(own, key)
	}
	size := metaSize(own)
	if size <= freeMeta {
		return res, 0
	}
	if size <= budget/2 {
		return res, size
	}
	copied := *res
	copied.Meta = maps.Clone(res.Meta)
	for key := range own {
		delete(copied.Meta, key)
	}
	copied.Content = append(slices.Clip(res.Content), marker("[The result's _meta of %d bytes was dropped.]", size))
	return &copied, 0
}

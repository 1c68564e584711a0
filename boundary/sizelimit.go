package boundary

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/jsontext"
)

// freeMeta is how much of an author's _meta is not counted.
const freeMeta = 1 << 10

// sizeLimit shortens a result that is larger than the limit, and marks each place
// that lost something. It keeps the end, where a command prints its outcome
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
		if other, ok := err.(*passed); ok && len(other.data) > b.opts.MaxResultBytes {
			return c.errorResult(b.tooLarge(len(other.data))), nil
		}
		if err != nil || res.InputRequests != nil {
			return res, err
		}
		budget := b.opts.MaxResultBytes
		res, weight := c.weighMeta(res, budget)
		budget -= weight
		size := sizeOf(res)
		if size <= budget {
			return res, nil
		}
		if !res.IsError && c.definition().hasOutput() {
			// A shortened output breaks the output schema, and a strict client
			// would reject it.
			return c.errorResult(b.tooLarge(size)), nil
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

// tooLarge is the failure of a result that cannot be shortened.
func (b *boundary) tooLarge(size int) *failure {
	return &failure{
		kind:        "too_large",
		text:        fmt.Sprintf("The tool ran, but its result of %d bytes is larger than the %d this server sends.", size, b.opts.MaxResultBytes),
		expected:    true,
		hints:       []string{"Ask for less in one call, if the tool's arguments allow it."},
		undelivered: true,
		cause:       fmt.Sprintf("result of %d bytes", size),
	}
}

// weighMeta returns how much of the budget the author's _meta takes. One that would
// take more than half is dropped.
func (c *call) weighMeta(res *mcp.CallToolResult, budget int) (*mcp.CallToolResult, int) {
	if len(res.Meta) <= 1 { // the report
		return res, 0
	}
	own := maps.Clone(res.Meta)
	delete(own, MetaKey)
	size := metaSize(own)
	if size <= freeMeta {
		return res, 0
	}
	if size <= budget/2 {
		return res, size
	}
	copied := *res
	copied.Meta = mcp.Meta{MetaKey: res.Meta[MetaKey]}
	copied.Content = append(slices.Clip(res.Content), marker("[The result's _meta of %d bytes was dropped.]", size))
	return &copied, 0
}

// markerSize is more than the size of any marker.
const markerSize = 128

// A marker is a text block in place of something that is missing.
func marker(format string, args ...any) mcp.Content {
	return &mcp.TextContent{Text: fmt.Sprintf(format, args...)}
}

// keepEnd returns the last blocks of the content that fit into budget, with one
// marker for each run of missing blocks.
func keepEnd(content []mcp.Content, budget int) []mcp.Content {
	budget -= markerSize   // for the blocks missing at the beginning
	var kept []mcp.Content // last first
	var gap run
	for i, block := range slices.Backward(content) {
		size, room := blockSize(block), budget
		if gap.blocks > 0 {
			room -= markerSize
		}
		if size > room {
			short := endOfText(block, room)
			if short == nil {
				gap = run{first: i, blocks: gap.blocks + 1, size: gap.size + size}
				continue
			}
			kept = append(gap.marked(kept, content), short...)
			gap, budget = run{}, 0
			continue
		}
		kept = append(gap.marked(kept, content), block)
		gap, budget = run{}, room-size
	}
	kept = gap.marked(kept, content)
	slices.Reverse(kept)
	return kept
}

// endOfText is the end of a text block and, since keepEnd collects the last block
// first, the marker of its beginning after it. It is nil for any other block and if
// not one character fits.
func endOfText(block mcp.Content, room int) []mcp.Content {
	text, ok := block.(*mcp.TextContent)
	if !ok {
		return nil
	}
	short := &mcp.TextContent{Annotations: text.Annotations}
	short.Text = endWithin(text.Text, room-markerSize-blockSize(short))
	if short.Text == "" {
		return nil
	}
	return []mcp.Content{short, marker("[The first %d of %d bytes of this text were cut.]", len(text.Text)-len(short.Text), len(text.Text))}
}

// endWithin is the longest end of s that takes at most n bytes in a JSON string.
func endWithin(s string, n int) string {
	from := len(s)
	for from > 0 {
		_, size := utf8.DecodeLastRuneInString(s[:from])
		if n -= escapedSize(s[from-size : from]); n < 0 {
			break
		}
		from -= size
	}
	return s[from:]
}

// A run is a series of neighboring blocks that were dropped.
type run struct{ first, blocks, size int }

func (r run) marked(kept, content []mcp.Content) []mcp.Content {
	switch r.blocks {
	case 0:
		return kept
	case 1:
		return append(kept, marker("[Content block %d, %s of %d bytes, was dropped.]", r.first, blockName(content[r.first]), r.size))
	}
	return append(kept, marker("[Content blocks %d to %d, %d bytes in all, were dropped.]", r.first, r.first+r.blocks-1, r.size))
}

func blockName(block mcp.Content) string {
	switch block.(type) {
	case *mcp.TextContent:
		return "text"
	case *mcp.ImageContent:
		return "an image"
	case *mcp.AudioContent:
		return "audio"
	case *mcp.EmbeddedResource:
		return "a resource"
	case *mcp.ResourceLink:
		return "a resource link"
	}
	return "content"
}

// sizeOf is the length of the content and the structured content as JSON.
// normalize has made both plain.
func sizeOf(res *mcp.CallToolResult) int {
	total := 0
	for _, block := range res.Content {
		total += blockSize(block)
	}
	if raw, ok := res.StructuredContent.(json.RawMessage); ok {
		total += jsonSize(raw)
	}
	return total
}

// blockSize is the length of a block's JSON and the comma after it.
func blockSize(block mcp.Content) int {
	const hull = len(`{"type":"text","text":""},`)
	if text, ok := block.(*mcp.TextContent); ok && text.Meta == nil && text.Annotations == nil {
		return hull + escapedSize(text.Text)
	}
	return encodedSize(block) + len(",")
}

// metaSize is the length of an author's _meta as JSON.
func metaSize(meta mcp.Meta) int {
	if len(meta) == 0 {
		return 0
	}
	return encodedSize(meta)
}

// jsonSize is the length of JSON after json.Marshal has escaped the characters in it
// that have a meaning in HTML and JavaScript.
func jsonSize(raw json.RawMessage) int {
	if len(raw) == 0 || !strings.ContainsAny(string(raw), escaped) {
		return len(raw)
	}
	return encodedSize(raw)
}

// escapedSize is the length of s inside a JSON string, as json.Marshal writes it.
func escapedSize(s string) int {
	if jsontext.IsPlain(s) && !strings.ContainsAny(s, escaped) {
		return len(s)
	}
	return encodedSize(s) - len(`""`)
}

// escaped are the characters that json.Marshal escapes though JSON does not.
const escaped = "<>&\u2028\u2029"

// encodedSize is the length of a plain value, which always marshals, as JSON.
func encodedSize(v any) int {
	text, _ := json.Marshal(v)
	return len(text)
}

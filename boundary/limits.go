package boundary

import (
	"context"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// limits bounds what a result may weigh. The tail is kept, as that is where a
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
		copied.StructuredContent = nil
		copied.Content = tail(res.Content, b.opts.MaxResultBytes)
		if res.StructuredContent != nil {
			copied.Content = append(copied.Content, &mcp.TextContent{Text: "[The structured content was dropped: the result was too large.]"})
		}
		return &copied, nil
	}
}

func (d *definition) hasOutput() bool { return d != nil && d.tool.OutputSchema != nil }

func weigh(res *mcp.CallToolResult) int {
	total := 0
	for _, block := range res.Content {
		total += weighBlock(block)
	}
	if raw, err := marshalled(res.StructuredContent); err == nil {
		total += len(raw)
	}
	return total
}

func weighBlock(block mcp.Content) int {
	switch c := block.(type) {
	case *mcp.TextContent:
		if c.Meta == nil {
			return len(c.Text)
		}
	case *mcp.ImageContent:
		return len(c.Data) * 4 / 3 // as base64
	case *mcp.AudioContent:
		return len(c.Data) * 4 / 3
	}
	data, err := block.MarshalJSON()
	if err != nil {
		return 0 // normalising has proved that it marshals
	}
	return len(data)
}

// tail keeps the last bytes of the content, with a line where something is
// missing.
func tail(content []mcp.Content, budget int) []mcp.Content {
	var kept []mcp.Content // last first
	for i, block := range slices.Backward(content) {
		size := weighBlock(block)
		text, isText := block.(*mcp.TextContent)
		switch {
		case size <= budget:
			kept = append(kept, block)
			budget -= size
		case isText:
			end := cut(text.Text, budget)
			kept = append(kept,
				&mcp.TextContent{Text: end, Annotations: text.Annotations},
				&mcp.TextContent{Text: fmt.Sprintf("[The first %d of %d bytes of this text were cut.]", len(text.Text)-len(end), len(text.Text))})
			budget = 0
		default:
			kept = append(kept, &mcp.TextContent{Text: fmt.Sprintf("[Content block %d, %s of %d bytes, was dropped.]", i, blockName(block), size)})
		}
		if budget == 0 && i > 0 {
			kept = append(kept, &mcp.TextContent{Text: fmt.Sprintf("[%d content blocks before this were dropped.]", i)})
			break
		}
	}
	slices.Reverse(kept)
	return kept
}

// cut is at most the last n bytes of s, beginning at a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = s[len(s)-n:]
	for i := 0; i < len(s) && i < utf8.UTFMax; i++ {
		if utf8.RuneStart(s[i]) {
			return s[i:]
		}
	}
	return s
}

func blockName(block mcp.Content) string {
	switch block.(type) {
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

package boundary

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// markerWeight is more than any marker weighs.
const markerWeight = 128

// A marker is a line where something is missing.
func marker(format string, args ...any) mcp.Content {
	return &mcp.TextContent{Text: fmt.Sprintf(format, args...)}
}

// tail is what of the content, from its end, weighs no more than budget, with one
// marker for each run of blocks that are missing.
func tail(content []mcp.Content, budget int) []mcp.Content {
	budget -= markerWeight // for what may be missing before all that is kept
	var kept []mcp.Content // last first
	var gap run
	for i, block := range slices.Backward(content) {
		size, room := weighBlock(block), budget
		if gap.blocks > 0 {
			room -= markerWeight
		}
		if size > room {
			short := shortened(block, room)
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

// shortened is the end of a text, then the marker of its beginning; nil for
// anything else, and where not even one character fits.
func shortened(block mcp.Content, room int) []mcp.Content {
	text, ok := block.(*mcp.TextContent)
	if !ok {
		return nil
	}
	short := &mcp.TextContent{Annotations: text.Annotations}
	short.Text = cut(text.Text, room-markerWeight-weighBlock(short))
	if short.Text == "" {
		return nil
	}
	return []mcp.Content{short, marker("[The first %d of %d bytes of this text were cut.]", len(text.Text)-len(short.Text), len(text.Text))}
}

// cut is the longest end of s that is no longer than n inside a JSON string.
func cut(s string, n int) string {
	from := len(s)
	for from > 0 {
		r, size := utf8.DecodeLastRuneInString(s[:from])
		if n -= escapedRune(r, size); n < 0 {
			break
		}
		from -= size
	}
	return s[from:]
}

// A run is of neighbouring blocks that were dropped.
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

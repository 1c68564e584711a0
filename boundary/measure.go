package boundary

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// weigh is what the content and the structured content are on the wire, in bytes.
// Structured content is JSON by now: normalising has marshalled it.
func weigh(res *mcp.CallToolResult) int {
	total := 0
	for _, block := range res.Content {
		total += weighBlock(block)
	}
	if raw, ok := res.StructuredContent.(json.RawMessage); ok {
		total += weighJSON(raw)
	}
	return total
}

// weighBlock is the block's own JSON and the comma after it. What is long in most
// blocks is measured without being marshalled.
func weighBlock(block mcp.Content) int {
	const comma = 1
	switch c := block.(type) {
	case *mcp.TextContent:
		if c.Meta == nil && c.Annotations == nil {
			return len(`{"type":"text","text":""}`) + escapedLen(c.Text) + comma
		}
	case *mcp.ImageContent:
		hull := *c
		hull.Data = nil
		return marshalledLen(&hull) + base64.StdEncoding.EncodedLen(len(c.Data)) + comma
	case *mcp.AudioContent:
		hull := *c
		hull.Data = nil
		return marshalledLen(&hull) + base64.StdEncoding.EncodedLen(len(c.Data)) + comma
	}
	return marshalledLen(block) + comma
}

func marshalledLen(block mcp.Content) int {
	data, err := block.MarshalJSON()
	if err != nil {
		return 0 // normalising has proved that it marshals
	}
	return len(data)
}

// weighJSON is the length of JSON once json.Marshal has escaped in it what HTML
// and JavaScript read differently.
func weighJSON(raw json.RawMessage) int {
	n := len(raw)
	for _, short := range []string{"<", ">", "&", "\u2028", "\u2029"} {
		n += bytes.Count(raw, []byte(short)) * (len(`\u003c`) - len(short))
	}
	return n
}

// escapedLen is the length of s inside a JSON string, as json.Marshal writes it.
func escapedLen(s string) int {
	n := 0
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		n += escapedRune(r, size)
		s = s[size:]
	}
	return n
}

func escapedRune(r rune, size int) int {
	switch r {
	case '"', '\\', '\b', '\f', '\n', '\r', '\t':
		return 2
	case '<', '>', '&', '\u2028', '\u2029':
		return len(`\u003c`)
	}
	if r < ' ' || r == utf8.RuneError && size == 1 {
		return len(`\u0000`)
	}
	return size
}

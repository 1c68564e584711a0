package boundary

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sizeOf is the length of the content and the structured content as JSON.
// normalize has marshalled the structured content.
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

// maxEscape is the most bytes that one byte of a text takes in JSON.
const maxEscape = len(`\u0000`)

// surelyWithin reports whether sizeOf is within a limit, by lengths alone. It is false
// if they do not decide it, as near the limit and for content other than plain text.
func surelyWithin(res *mcp.CallToolResult, limit int) bool {
	left := limit
	for _, block := range res.Content {
		text, ok := block.(*mcp.TextContent)
		if !ok || text.Meta != nil || text.Annotations != nil {
			return false
		}
		left -= textHull
		if len(text.Text) > left/maxEscape {
			return false
		}
		left -= maxEscape * len(text.Text)
	}
	raw, _ := res.StructuredContent.(json.RawMessage)
	return left >= 0 && len(raw) <= left/maxEscape
}

// textHull is the length of a block of text without the text, and of the comma after it.
const textHull = len(`{"type":"text","text":""},`)

// metaSize is the length of an author's _meta as JSON. Its values are plain.
func metaSize(meta mcp.Meta) int {
	if len(meta) == 0 {
		return 0
	}
	data, err := json.Marshal(meta)
	if err != nil {
		return 0 // normalize has proved that it marshals
	}
	return len(data)
}

// resourceSize is the length of a resource's contents as JSON, but for the names of
// the members.
func resourceSize(c *mcp.ResourceContents) int {
	return escapedSize(c.URI) + escapedSize(c.MIMEType) + escapedSize(c.Text) +
		base64.StdEncoding.EncodedLen(len(c.Blob)) + metaSize(c.Meta)
}

// blockSize is the length of a block's JSON and the comma after it. Texts and
// binary data are measured without marshalling them.
func blockSize(block mcp.Content) int {
	const comma = 1
	switch c := block.(type) {
	case *mcp.TextContent:
		if c.Meta == nil && c.Annotations == nil {
			return textHull + escapedSize(c.Text)
		}
	case *mcp.ImageContent:
		hull := *c
		hull.Data = nil
		return marshalledSize(&hull) + base64.StdEncoding.EncodedLen(len(c.Data)) + comma
	case *mcp.AudioContent:
		hull := *c
		hull.Data = nil
		return marshalledSize(&hull) + base64.StdEncoding.EncodedLen(len(c.Data)) + comma
	}
	return marshalledSize(block) + comma
}

func marshalledSize(block mcp.Content) int {
	data, err := block.MarshalJSON()
	if err != nil {
		return 0 // normalize has proved that it marshals
	}
	return len(data)
}

// jsonSize is the length of JSON after json.Marshal has escaped the characters in it
// that have a meaning in HTML and JavaScript.
func jsonSize(raw json.RawMessage) int {
	n := len(raw)
	for _, short := range []string{"<", ">", "&", "\u2028", "\u2029"} {
		n += bytes.Count(raw, []byte(short)) * (len(`\u003c`) - len(short))
	}
	return n
}

// escapedSize is the length of s inside a JSON string, as json.Marshal writes it.
func escapedSize(s string) int {
	n := 0
	for len(s) > 0 {
		plain := 0
		for plain < len(s) && isUnescaped[s[plain]] {
			plain++
		}
		n += plain
		if s = s[plain:]; s == "" {
			break
		}
		r, size := utf8.DecodeRuneInString(s)
		n += escapedRuneSize(r, size)
		s = s[size:]
	}
	return n
}

// isUnescaped are the ASCII characters that json.Marshal writes as they are.
var isUnescaped = func() (is [256]bool) {
	for r := rune(' '); r < utf8.RuneSelf; r++ {
		is[r] = escapedRuneSize(r, 1) == 1
	}
	return is
}()

func escapedRuneSize(r rune, size int) int {
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

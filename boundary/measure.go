package boundary

import (
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/jsontext"
)

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

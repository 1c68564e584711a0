package boundary

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// A text is measured as json.Marshal writes it, and the bound by lengths alone is never
// below that.
func TestTextsAreMeasuredAsTheyAreWritten(t *testing.T) {
	texts := []string{
		"", "plain", `"\`, "\x00\x1f\x7f\b\f\n\r\t", "<script>&", "\u2028\u2029", "ü\U0001f600", "\xff\xc3", "\ufffd",
		strings.Repeat("plain, long, and then an end: ", 40) + "\x01", strings.Repeat("\x01", 100),
	}
	for _, text := range texts {
		encoded, err := json.Marshal(text)
		require.NoError(t, err)
		require.Equal(t, len(encoded)-2, escapedSize(text), "%q", text)

		res := &mcp.CallToolResult{
			Content:           []mcp.Content{&mcp.TextContent{Text: text}, &mcp.TextContent{Text: "second"}},
			StructuredContent: json.RawMessage(encoded),
		}
		size, sure := sizeOf(res), 0
		for limit := range 8 * (size + 100) {
			if surelyWithin(res, limit) {
				require.LessOrEqual(t, size, limit, "%q", text)
				sure++
			}
		}
		require.NotZero(t, sure, "%q", text)
	}
	for explanation, block := range map[string]mcp.Content{
		"an image":          &mcp.ImageContent{Data: []byte("x")},
		"a text with _meta": &mcp.TextContent{Text: "x", Meta: mcp.Meta{"a": 1}},
	} {
		require.False(t, surelyWithin(&mcp.CallToolResult{Content: []mcp.Content{block}}, 1<<20), explanation)
	}
}

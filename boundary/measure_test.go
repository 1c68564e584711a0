package boundary

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// A text is measured as json.Marshal writes it, and the bound by lengths alone is never
// below that.
func TestTextsAreMeasuredAsTheyAreWritten(t *testing.T) {
	texts := []string{
		"", "plain", `"\`, "\x00\x1f\x7f\b\f\n\r\t", "<script>&é", "\u2028\u2029", strings.Repeat("<", 100), "ü\U0001f600", "\xff\xc3", "\ufffd",
		strings.Repeat("plain, long, and then an end: ", 40) + "\x01", strings.Repeat("\x01", 100),
	}
	for _, text := range texts {
		encoded, err := json.Marshal(text)
		require.NoError(t, err)
		require.Equal(t, len(encoded)-2, escapedSize(text), "%q", text)

		var unescaped bytes.Buffer
		encoder := json.NewEncoder(&unescaped)
		encoder.SetEscapeHTML(false)
		require.NoError(t, encoder.Encode(text))
		raw := json.RawMessage(bytes.TrimSuffix(unescaped.Bytes(), []byte("\n")))
		require.Equal(t, len(encoded), jsonSize(raw), "%q", text)

		content := []mcp.Content{&mcp.TextContent{Text: text}, &mcp.TextContent{Text: "second"}}
		for explanation, res := range map[string]*mcp.CallToolResult{
			"content":                        {Content: content},
			"structured content":             {StructuredContent: json.RawMessage(encoded)},
			"structured content, as it came": {StructuredContent: raw},
			"both":                           {Content: content, StructuredContent: json.RawMessage(encoded)},
		} {
			size, sure := sizeOf(res), 0
			for limit := range 8 * (size + 100) {
				if surelyWithin(res, limit) {
					require.LessOrEqual(t, size, limit, "%s: %q", explanation, text)
					sure++
				}
			}
			require.NotZero(t, sure, "%s: %q", explanation, text)
		}
	}
	for explanation, block := range map[string]mcp.Content{
		"an image":                &mcp.ImageContent{Data: []byte("x")},
		"a text with _meta":       &mcp.TextContent{Text: "x", Meta: mcp.Meta{"a": 1}},
		"a text with annotations": &mcp.TextContent{Text: "x", Annotations: &mcp.Annotations{Priority: 1}},
	} {
		require.False(t, surelyWithin(&mcp.CallToolResult{Content: []mcp.Content{block}}, 1<<20), explanation)
	}
}

// A text is measured and cut by its length in JSON.
func FuzzWeightOfText(f *testing.F) {
	for _, seed := range []string{"", "plain", "é€😀", "\x00\x1f\x7f\b\f\n\r\t\"\\/", "<>&\u2028\u2029\ufffd", "\xff\xc3\xe2\x82\xf0\x9f\x98", "\xed\xa0\x80", "\x82é"} {
		f.Add(seed, 7)
	}
	f.Fuzz(func(t *testing.T, s string, n int) {
		data, err := json.Marshal(s)
		require.NoError(t, err)
		require.Equal(t, len(data)-len(`""`), escapedSize(s))

		end := endWithin(s, n)
		require.True(t, strings.HasSuffix(s, end))
		require.LessOrEqual(t, escapedSize(end), max(n, 0))
		if utf8.ValidString(s) {
			require.True(t, utf8.ValidString(end))
		}
		if rest := s[:len(s)-len(end)]; rest != "" {
			_, size := utf8.DecodeLastRuneInString(rest)
			require.Greater(t, escapedSize(s[len(rest)-size:]), n, "one character more would have fitted")
		}

		raw, err := json.Marshal(json.RawMessage(data))
		require.NoError(t, err)
		require.Equal(t, len(raw), jsonSize(data))
	})
}

package boundary_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
)

func many(n int, block func(i int) mcp.Content) *mcp.CallToolResult {
	res := &mcp.CallToolResult{}
	for i := range n {
		res.Content = append(res.Content, block(i))
	}
	return res
}

// The limit bounds the bytes on the wire for every kind of content, and the markers
// are short.
func TestTheLimitIsABound(t *testing.T) {
	const limit = 1024
	image := &mcp.ImageContent{Data: make([]byte, 900), MIMEType: "image/png"}
	for _, tc := range []struct {
		explanation string
		res         *mcp.CallToolResult
		want        []string // the texts that must be left; nil for any
	}{
		{"many blocks, each dropped", many(5000, func(int) mcp.Content { return image }),
			[]string{"[Content blocks 0 to 4999, 6250000 bytes in all, were dropped.]"}},
		{"empty blocks are no smaller than their JSON", many(20000, func(int) mcp.Content { return &mcp.TextContent{} }), nil},
		{"a MIME type", content(&mcp.ImageContent{Data: []byte{1}, MIMEType: strings.Repeat("x", 300<<10)}),
			[]string{"[Content block 0, an image of 307245 bytes, was dropped.]"}},
		{"a resource's address", content(&mcp.ResourceLink{URI: strings.Repeat("x", 300<<10), Name: "n"}), nil},
		{"text that JSON writes six times as long", text(strings.Repeat("<\x00\xff\u2028", 4000)), nil},
		{"text that is short enough until JSON writes it", text(strings.Repeat("<", 900)), nil},
		{"annotations, with which even an empty text is too long", content(&mcp.TextContent{Text: strings.Repeat("x", 5000), Annotations: &mcp.Annotations{Audience: append(slices.Repeat([]mcp.Role{"user"}, 713), "assistant")}}),
			[]string{"[Content block 0, text of 10058 bytes, was dropped.]"}},
		{"every other block dropped", many(1000, func(i int) mcp.Content {
			if i%2 == 0 {
				return image
			}
			return &mcp.TextContent{Text: "caption"}
		}), nil},
		{"structured content that is short enough until JSON writes it", &mcp.CallToolResult{
			StructuredContent: json.RawMessage(`{"s":"` + strings.Repeat("<", 900) + `"}`)}, nil},
		{"structured content, an image and a text, with a marker for the first two", &mcp.CallToolResult{
			StructuredContent: json.RawMessage(`{}`), Content: content(image, &mcp.TextContent{Text: strings.Repeat("x", 870)}).Content}, nil},
		{"a text, of which the end is kept, and all before it dropped", many(3, func(i int) mcp.Content {
			return &mcp.TextContent{Text: strings.Repeat("é", 1000)}
		}), nil},
	} {
		t.Run(tc.explanation, func(t *testing.T) {
			s := newServer()
			s.AddTool(&mcp.Tool{Name: "t", InputSchema: &jsonschema.Schema{Type: "object"}}, returns(tc.res))
			res, _ := callTool(t, connect(t, s, &boundary.Options{Logger: silent, MaxResultBytes: limit}), "t", nil)
			require.False(t, res.IsError)
			require.NotEmpty(t, res.Content)
			blocks := must(json.Marshal(res.Content))(t)
			require.Nil(t, res.StructuredContent)
			require.LessOrEqual(t, len(blocks), limit+len(`[]`))
			if tc.want != nil {
				require.Equal(t, tc.want, texts(res))
			}
			before := false
			for _, text := range texts(res) {
				dropped := strings.HasSuffix(text, "dropped.]")
				require.False(t, before && dropped, "two markers for one run")
				before = dropped
			}
		})
	}
}

func TestLimits(t *testing.T) {
	const limit = 2048
	const hull = len(`{"type":"text","text":""},`)
	image := &mcp.ImageContent{Data: make([]byte, 4096), MIMEType: "image/png"}
	s := newServer()
	for name, h := range map[string]mcp.ToolHandler{
		"long":       returns(&mcp.CallToolResult{Content: text(strings.Repeat("é", 5000) + "the end").Content, Meta: mcp.Meta{"mine": "kept"}}),
		"image":      returns(content(&mcp.TextContent{Text: "before"}, image, &mcp.TextContent{Text: "after"})),
		"structured": returns(structured(map[string]any{"note": strings.Repeat("x", 5000)})),
		"error":      returns(&mcp.CallToolResult{IsError: true, Content: text(strings.Repeat("x", 5000) + "the reason").Content}),
		"fits":       returns(text(strings.Repeat("x", limit-hull))),
		"too_much":   returns(text(strings.Repeat("x", limit-hull+1))),
	} {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: &jsonschema.Schema{Type: "object"}}, h)
	}
	big := map[string]any{"celsius": 1, "note": strings.Repeat("x", 5000)}
	s.AddTool(&mcp.Tool{Name: "promised", InputSchema: &jsonschema.Schema{Type: "object"}, OutputSchema: celsius}, returns(structured(big)))
	s.AddTool(&mcp.Tool{Name: "promised_readonly", InputSchema: &jsonschema.Schema{Type: "object"}, OutputSchema: celsius, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, returns(structured(big)))
	session := connect(t, s, &boundary.Options{Logger: silent, MaxResultBytes: limit})

	res, _ := callTool(t, session, "long", nil)
	require.False(t, res.IsError)
	require.Equal(t, "kept", res.Meta["mine"])
	require.Equal(t, "[The first 8242 of 10007 bytes of this text were cut.]", texts(res)[0])
	require.True(t, strings.HasSuffix(texts(res)[1], "the end"))
	require.True(t, utf8.ValidString(texts(res)[1]))
	require.NotContains(t, texts(res)[1], "\ufffd")

	res, _ = callTool(t, session, "image", nil)
	require.Equal(t, []string{"before", "[Content block 1, an image of 5514 bytes, was dropped.]", "after"}, texts(res))

	res, _ = callTool(t, session, "structured", nil)
	require.False(t, res.IsError)
	require.Nil(t, res.StructuredContent)
	require.Equal(t, "see the structured content", texts(res)[0])

	res, report := callTool(t, session, "error", nil)
	require.True(t, res.IsError)
	require.Equal(t, "execution", report.Type)
	require.True(t, strings.HasSuffix(texts(res)[1], "the reason"))

	res, _ = callTool(t, session, "fits", nil)
	require.Equal(t, []string{strings.Repeat("x", limit-hull)}, texts(res))
	res, _ = callTool(t, session, "too_much", nil)
	require.Len(t, texts(res), 2)

	res, report = callTool(t, session, "promised", nil)
	require.True(t, res.IsError)
	require.Equal(t, "too_large", report.Type)
	require.Equal(t, "applied", report.Effect, "it ran, only its result is gone")
	_, report = callTool(t, session, "promised_readonly", nil)
	require.Empty(t, report.Effect)

	for _, key := range []string{"mine", "expected"} { // of an author's _meta no name is free
		s.AddTool(&mcp.Tool{Name: key, InputSchema: &jsonschema.Schema{Type: "object"}}, returns(&mcp.CallToolResult{Content: text("kept").Content, Meta: mcp.Meta{key: strings.Repeat("x", 5000)}}))
		res, _ = callTool(t, session, key, nil)
		require.NotContains(t, res.Meta, key)
		require.Equal(t, "kept", texts(res)[0])
	}
}

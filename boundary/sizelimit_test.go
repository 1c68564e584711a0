package boundary_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/judge"
	"github.com/mrtr-go/sdk/internal/wire"
)

// limited is what a client with this limit reads of a result.
func limited(t *testing.T, limit int, result func() *mcp.CallToolResult) func() *mcp.CallToolResult {
	s := newServer()
	addRaw(s, "t", makes(result))
	session := connect(t, s, &boundary.Options{Logger: silent, MaxResultBytes: limit})
	return func() *mcp.CallToolResult {
		res, _ := callTool(t, session, "t", nil)
		return res
	}
}

// drawnText is a text of characters that JSON writes at any length.
func (m *maker) drawnText(most int) string {
	var b strings.Builder
	one := m.oneIn(2)
	for range m.IntN(most + 1) {
		b.WriteString(pick(m, "x", pick(m, "x", "é", "<", "\x00", "\xff", "\u2028", "😀", "\t", `"`)))
		if one && b.Len() == 1 {
			return strings.Repeat(b.String(), m.IntN(most+1))
		}
	}
	return b.String()
}

// bytesOf is the length of blocks as JSON, each with the comma after it.
func bytesOf(t *testing.T, blocks ...mcp.Content) (n int) {
	for _, block := range blocks {
		n += len(must(json.Marshal(block))(t)) + 1
	}
	return n
}

// The limit bounds the bytes on the wire. A result within it goes out as it is. Of a larger one
// the end is kept, with as much of the first text that does not fit as fits, and one marker for
// each run of blocks that are missing.
func TestTheLimitIsABound(t *testing.T) {
	const limit = 1024
	var res *mcp.CallToolResult
	get := limited(t, limit, func() *mcp.CallToolResult { copied := *res; return &copied })
	kept, cut := 0, 0
	for seed := range uint64(drawn) {
		m := newMaker(seed, nil)
		res = &mcp.CallToolResult{}
		for range 1 + m.IntN(pick(m, 2, 6, 40)) {
			switch m.IntN(6) {
			case 0:
				res.Content = append(res.Content, &mcp.ImageContent{Data: make([]byte, m.IntN(600)), MIMEType: "image/png"})
			case 1:
				res.Content = append(res.Content, &mcp.ResourceLink{URI: "t://" + m.drawnText(100), Name: "n"})
			case 2:
				res.Content = append(res.Content, &mcp.TextContent{Text: m.drawnText(100), Annotations: &mcp.Annotations{Priority: 1}})
			default:
				res.Content = append(res.Content, &mcp.TextContent{Text: m.drawnText(pick(m, 3, 300, 1100))})
			}
		}
		if m.oneIn(3) {
			res.StructuredContent = json.RawMessage(must(json.Marshal(map[string]any{"s": m.drawnText(900)}))(t))
		}
		got := get()
		require.False(t, got.IsError)
		written := bytesOf(t, got.Content...)
		var read mcp.CallToolResult // as it was, but for bytes that are no text
		require.NoError(t, json.Unmarshal(must(json.Marshal(res))(t), &read))
		raw, _ := res.StructuredContent.(json.RawMessage)
		if bytesOf(t, read.Content...)+len(raw) <= limit {
			kept++
			require.Equal(t, read.Content, got.Content, "seed %d", seed)
			require.Equal(t, read.StructuredContent, got.StructuredContent, "seed %d", seed)
			continue
		}
		cut++
		require.Nil(t, got.StructuredContent)
		require.LessOrEqual(t, written, limit, "seed %d", seed)
		require.Contains(t, strings.Join(texts(got), "\n"), ".]", "seed %d: nothing says that something is missing", seed)
		if last := len(res.Content) - 1; res.StructuredContent == nil && bytesOf(t, res.Content[last]) < limit/2 {
			require.Equal(t, read.Content[last], got.Content[len(got.Content)-1], "seed %d: the end is kept", seed)
		}
		dropped := func(block mcp.Content) bool {
			text, ok := block.(*mcp.TextContent)
			return ok && strings.HasSuffix(text.Text, "dropped.]")
		}
		for i := 1; i < len(got.Content) && res.StructuredContent == nil; i++ {
			require.False(t, dropped(got.Content[i-1]) && dropped(got.Content[i]), "seed %d: two markers for one run", seed)
		}
	}
	require.Greater(t, kept, drawn/10)
	require.Greater(t, cut, drawn/10)
}

func TestLimits(t *testing.T) {
	const limit = 2048
	image := &mcp.ImageContent{Data: make([]byte, 4096), MIMEType: "image/png"}
	long := strings.Repeat("x", 5000)
	for _, tc := range []struct {
		explanation string
		res         *mcp.CallToolResult
		texts       []string
	}{
		{"one block in the middle", content(&mcp.TextContent{Text: "before"}, image, &mcp.TextContent{Text: "after"}),
			[]string{"before", "[Content block 1, an image of 5514 bytes, was dropped.]", "after"}},
		{"a run of blocks", content(image, &mcp.AudioContent{Data: image.Data}, &mcp.ResourceLink{URI: long, Name: "n"}, &mcp.TextContent{Text: "after"}),
			[]string{"[Content blocks 0 to 2, 16064 bytes in all, were dropped.]", "after"}},
		{"a text that just fits beside the marker", content(image, &mcp.TextContent{Text: long[:2048-128-26]}), []string{"[Content block 0, an image of 5514 bytes, was dropped.]", long[:2048-128-26]}},
		{"a resource", content(&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "t://r", Text: long}}), []string{"[Content block 0, a resource of 5057 bytes, was dropped.]"}},
		{"a link", content(&mcp.ResourceLink{URI: long, Name: "n"}), []string{"[Content block 0, a resource link of 5045 bytes, was dropped.]"}},
		{"audio", content(&mcp.AudioContent{Data: image.Data}), []string{"[Content block 0, audio of 5505 bytes, was dropped.]"}},
		{"annotations, with which even an empty text is too long", content(&mcp.TextContent{Text: long, Annotations: &mcp.Annotations{Audience: slices.Repeat([]mcp.Role{"user"}, 713)}}),
			[]string{"[Content block 0, text of 10046 bytes, was dropped.]"}},
		{"structured content", structured(map[string]any{"note": long}), []string{"see the structured content", "[The structured content was dropped: the result was too large.]"}},
		{"a _meta", &mcp.CallToolResult{Content: text("kept").Content, Meta: mcp.Meta{"mine": long}}, []string{"kept", "[The result's _meta of 5011 bytes was dropped.]"}},
	} {
		got := limited(t, limit, func() *mcp.CallToolResult { copied := *tc.res; return &copied })()
		require.False(t, got.IsError, tc.explanation)
		require.Equal(t, tc.texts, texts(got), tc.explanation)
		require.NotContains(t, got.Meta, "mine")
	}

	got := limited(t, limit, func() *mcp.CallToolResult {
		return &mcp.CallToolResult{IsError: true, Content: text(long + "the reason").Content, Meta: mcp.Meta{"mine": strings.Repeat("x", 900)}}
	})()
	require.True(t, got.IsError)
	require.Equal(t, "[The first 3244 of 5010 bytes of this text were cut.]", texts(got)[0])
	require.True(t, strings.HasSuffix(texts(got)[1], "the reason"))
	require.Contains(t, got.Meta, "mine", "a short _meta is not counted")

	for _, readOnly := range []bool{true, false} { // a shortened output would break the schema
		s := newServer()
		s.AddTool(&mcp.Tool{Name: "t", InputSchema: &jsonschema.Schema{Type: "object"}, OutputSchema: celsius, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: readOnly}},
			returns(structured(map[string]any{"celsius": 1, "note": long})))
		_, report := callTool(t, connect(t, s, &boundary.Options{Logger: silent, MaxResultBytes: limit}), "t", nil)
		require.Equal(t, "too_large", report.Type)
		require.Equal(t, map[bool]string{true: "", false: "applied"}[readOnly], report.Effect, "it ran, only its result is gone")
	}
}

// The limits are exact.
func TestLimitsToTheByte(t *testing.T) {
	const limit = 2048
	long := strings.Repeat("x", 5000)
	for _, size := range []int{1024, 1025} { // of a _meta
		full := &mcp.CallToolResult{Content: text(strings.Repeat("x", 4096-26)).Content, Meta: mcp.Meta{"mine": long[:size-len(`{"mine":""}`)]}}
		got := limited(t, 4096, func() *mcp.CallToolResult { copied := *full; return &copied })()
		require.Equal(t, size > 1024, len(got.Content) > 1, "a _meta of a kilobyte is free")
		require.Contains(t, got.Meta, "mine")
	}

	for _, tc := range []struct {
		message, whole int
		data, kept     bool
	}{{limit, limit, false, false}, {limit, limit, true, false}, {limit + 1, (limit-128)/6 + len("... (2049 bytes)"), false, false}, {limit - 1, limit - 1, true, true}} { // of an error
		failed := &boundary.Protocol{Code: 7, Message: long[:tc.message]}
		if tc.data {
			failed.Data = json.RawMessage(`1`)
		}
		s := newServer()
		addFailing(s, &mcp.Tool{Name: "t"}, failed)
		_, err := connect(t, s, &boundary.Options{Logger: silent, MaxResultBytes: limit}).CallTool(t.Context(), &mcp.CallToolParams{Name: "t"})
		var wire *jsonrpc.Error
		require.ErrorAs(t, err, &wire)
		require.Len(t, wire.Message, tc.whole)
		require.Equal(t, tc.kept, wire.Data != nil)
	}
}

// A request of megabytes gets an answer of kilobytes, whatever is wrong with it, and an error of the
// tool's own cannot carry megabytes past the limit either.
func TestAnAnswerIsNotAmplified(t *testing.T) {
	many := map[bool]int{false: 8_000, true: 100_000}[thorough]
	s := newServer()
	mcp.AddTool(s, &mcp.Tool{Name: "typed"}, outputs("fine"))
	s.AddTool(&mcp.Tool{Name: "list", InputSchema: json.RawMessage(`{"type":"object","properties":{"l":{"type":"array","items":{"type":"string","pattern":"^a$","anyOf":[{"minLength":3}]}}}}`)}, returns(text("fine")))
	var names, items bytes.Buffer
	refused := &boundary.Validation{}
	for i := range many {
		fmt.Fprintf(&names, `"\u202e<<<<<<<<<<<<<<<<<<<<%d":1,`, i)
		items.WriteString(`"bbb",`)
		refused.Fields = append(refused.Fields, boundary.FieldError{Pointer: fmt.Sprintf("/%d", i), Problem: strings.Repeat("x", 1000), Hint: strings.Repeat("y", 1000)})
	}
	long := strings.Repeat("z", 1<<18)
	addFailing(s, &mcp.Tool{Name: "fields"}, refused)
	addFailing(s, &mcp.Tool{Name: "names"}, &boundary.Selector{Kind: long, Selector: long, Candidates: []string{long}, Hints: []string{long}})
	client := speak(t, judge.Modern, s, &boundary.Options{Logger: silent, MaxResultBytes: 64 << 10})
	for _, tc := range []struct {
		explanation, tool, args string
		most                    int
	}{
		{"unknown names", "typed", `{` + names.String() + `"z":1}`, 70 << 10},
		{"one name of megabytes", "typed", `{"` + strings.Repeat("<", 20*many) + `":1}`, 70 << 10},
		{"wrong items", "list", `{"l":[` + items.String() + `"b"]}`, 70 << 10},
		{"a tool's name of megabytes", strings.Repeat("\u2028", many), `{}`, 70 << 10},
		{"an error of many fields, beside its report", "fields", `{}`, 224 << 10},
		{"an error of long names", "names", `{}`, 70 << 10},
	} {
		res := say(t, client, wire.Request{Name: tc.tool, Arguments: json.RawMessage(tc.args)})
		_, err := specificationOf(t, "tools/call", judge.Modern).Judge(res)
		require.NoError(t, err, tc.explanation)
		require.Less(t, len(res.Result)+len(fmt.Sprint(res.Error)), tc.most, tc.explanation)
	}
}

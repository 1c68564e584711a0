package transcript_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary/transcript"
)

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	data := must(os.ReadFile(path))(t)
	return data
}

var refused = []struct {
	explanation, input, want string
}{
	{"nothing at all", ``, `line 1, column 1: unexpected end of JSON input`},
	{"cut off", "[\n {\"role\"", `line 2, column 8: unexpected end of JSON input`},
	{"a mistake on the second line", "[\n  {]", `line 2, column 4: invalid character ']'`},
	{"more than one value", `[] []`, `line 1, column 4: invalid character '[' after top-level value`},
	{"no list", `"hello"`, `line 1, column 1: a conversation is an array`},
	{"an object without messages", `{"msgs":[]}`, `line 1, column 1: the object has no "messages"`},
	{"messages is no list", `{"messages":{}}`, `line 1, column 13: a conversation is an array`},
	{"messages twice", `{"messages":[],"messages":[]}`, `line 1, column 16: the field "messages" is given twice`},
	{"a message that is no object", `[7]`, `messages[0]: not an object`},
	{"no role", `[{"content":""}]`, `messages[0]: no "role"`},
	{"a role of another API", `[{"role":"tool","content":""}]`, `column 10: messages[0]: the role "tool" is neither "user" nor "assistant"`},
	{"a role that is no string", `[{"role":1,"content":""}]`, `messages[0]: "role" is not a string`},
	{"no content", `[{"role":"user"}]`, `messages[0]: no "content"`},
	{"content null", `[{"role":"user","content":null}]`, `messages[0].content: content is a string, a block or a list of blocks`},
	{"a block that is a string", `[{"role":"user","content":["x"]}]`, `messages[0].content[0]: not an object`},
	{"a block without a type", `[{"role":"user","content":[{}]}]`, `messages[0].content[0]: no "type"`},
	{"a use without an id", `[{"role":"assistant","content":[{"type":"tool_use"}]}]`, `messages[0].content[0]: no "id"`},
	{"a use with an empty id", `[{"role":"assistant","content":[{"type":"tool_use","id":""}]}]`, `messages[0].content[0]: "id" is empty`},
	{"a use with a number for a name", `[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":1}]}]`, `messages[0].content[0]: "name" is not a string`},
	{"a result without an id", `[{"role":"user","content":[{"type":"tool_result"}]}]`, `messages[0].content[0]: no "tool_use_id"`},
	{"an id given twice, once escaped", `[{"role":"assistant","content":[{"type":"tool_use","id":"a","\u0069d":"b"}]}]`, `messages[0].content[0]: the field "id" is given twice`},
	{"a result in both styles", `[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","toolUseId":"a"}]}]`, `is messages style, but the conversation is sampling style by the field toolUseId at messages[0].content[0]`},
	{"styles mixed", `[{"role":"user","content":"x"},{"role":"user","content":[{"type":"tool_result","toolUseId":"a"}]}]`, `messages[1].content[0]: the field toolUseId is sampling style, but the conversation is messages style by content that is a string at messages[0].content`},
	{"a request of one style with content of the other", `{"maxTokens":1,"messages":[{"role":"user","content":"x"}]}`, `messages[0].content: content that is a string is messages style, but the conversation is sampling style by the field maxTokens`},
	{"a request in both styles", `{"maxTokens":1,"max_tokens":1,"messages":[]}`, `the field maxTokens is sampling style, but the conversation is messages style by the field max_tokens`},
}

func TestReadRefuses(t *testing.T) {
	require.NotEmpty(t, refused)
	for _, c := range refused {
		t.Run(c.explanation, func(t *testing.T) {
			got, err := transcript.Read(strings.NewReader(c.input))
			require.Nil(t, got)
			require.ErrorContains(t, err, c.want)
			var located *transcript.Error
			require.ErrorAs(t, err, &located)
			require.Positive(t, located.Line)
			require.Positive(t, located.Column)
		})
	}
}

func TestReadIsBounded(t *testing.T) {
	// Not JSON from its first byte on, so that nothing but the size takes time.
	most := strings.Repeat("x", transcript.MaxBytes)
	_, err := transcript.Read(strings.NewReader(most))
	require.ErrorContains(t, err, "line 1, column 1: invalid character 'x'")

	_, err = transcript.Read(strings.NewReader(most + "x"))
	require.ErrorIs(t, err, transcript.ErrTooLarge)

	endless := &counter{}
	_, err = transcript.Read(endless)
	require.ErrorIs(t, err, transcript.ErrTooLarge)
	require.LessOrEqual(t, endless.read, transcript.MaxBytes+1)
}

type counter struct{ read int }

func (c *counter) Read(p []byte) (int, error) {
	c.read += len(p)
	return len(p), nil
}

func TestReadPassesReaderErrorsOn(t *testing.T) {
	broken := errors.New("the disk is gone")
	_, err := transcript.Read(io.MultiReader(strings.NewReader("["), iotest.ErrReader(broken)))
	require.ErrorIs(t, err, broken)
}

func TestStyle(t *testing.T) {
	const bare = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"t","input":{}}]}`
	cases := []struct {
		explanation, input string
		want               transcript.Style
	}{
		{"nothing tells", `[]`, transcript.Messages},
		{"a bare tool use is the same in both", `[` + bare + `]`, transcript.Messages},
		{"a request's maxTokens", `{"maxTokens":9,"messages":[` + bare + `]}`, transcript.Sampling},
		{"a request's max_tokens", `{"max_tokens":9,"messages":[` + bare + `]}`, transcript.Messages},
		{"one block without a list", `[{"role":"user","content":{"type":"text","text":""}},` + bare + `]`, transcript.Sampling},
		{"the field of a result", `[` + bare + `,{"role":"user","content":[{"type":"tool_result","toolUseId":"a","content":[]}]}]`, transcript.Sampling},
	}
	for _, c := range cases {
		t.Run(c.explanation, func(t *testing.T) {
			read := must(transcript.Read(strings.NewReader(c.input)))(t)
			require.Equal(t, c.want, read.Style())
		})
	}

	read := must(transcript.ReadAs(strings.NewReader(`[`+bare+`]`), transcript.Sampling))(t)
	fixed, _ := read.Repair()
	require.Contains(t, string(fixed.Bytes()), `"toolUseId":"a"`)

	_, err := transcript.ReadAs(strings.NewReader(`[{"role":"user","content":"x"}]`), transcript.Sampling)
	require.EqualError(t, err, "transcript: line 1, column 27: messages[0].content: content that is a string is messages style, but the conversation is sampling style")

	_, err = transcript.ReadAs(strings.NewReader(`[]`), "chat")
	require.EqualError(t, err, `transcript: unknown style "chat"`)
}

var update = flag.Bool("update", false, "write the golden files anew")

// conversations are the inputs in testdata: NAME.json, beside NAME.report with
// the findings and repairs and NAME.fixed.json with the conversation repaired.
func conversations(t testing.TB) []string {
	t.Helper()
	all := must(filepath.Glob("testdata/*.json"))(t)
	var inputs []string
	for _, path := range all {
		if !strings.HasSuffix(path, ".fixed.json") {
			inputs = append(inputs, path)
		}
	}
	require.NotEmpty(t, inputs, "no conversations in testdata")
	return inputs
}

func TestGolden(t *testing.T) {
	kinds := map[string]bool{}
	for _, path := range conversations(t) {
		name := strings.TrimSuffix(path, ".json")
		t.Run(filepath.Base(name), func(t *testing.T) {
			src := must(os.ReadFile(path))(t)
			read := must(transcript.Read(strings.NewReader(string(src))))(t)
			require.Equal(t, string(src), string(read.Bytes()), "reading and writing changes nothing")
			wantStyle, _, _ := strings.Cut(filepath.Base(name), "-")
			require.EqualValues(t, wantStyle, read.Style())

			var report strings.Builder
			for _, f := range read.Check() {
				kinds[string(f.Kind)] = true
				fmt.Fprintf(&report, "%v\n", f)
			}
			fixed, repairs := read.Repair()
			for _, r := range repairs {
				fmt.Fprintf(&report, "%v\n", r)
			}
			require.Equal(t, string(src), string(read.Bytes()), "repairing leaves the original alone")
			require.Equal(t, strings.Contains(name, "clean") || strings.Contains(name, "server-tools"), report.Len() == 0)

			golden(t, name+".report", report.String())
			golden(t, name+".fixed.json", string(fixed.Bytes()))
		})
	}
	for _, kind := range []transcript.Kind{transcript.Missing, transcript.Orphan, transcript.Duplicate, transcript.Late, transcript.OutOfPlace} {
		require.True(t, kinds[string(kind)], "no conversation in testdata has a %s", kind)
	}
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want := must(os.ReadFile(path))(t)
	require.Equal(t, string(want), got)
}

// go-sdk reads a conversation repaired in sampling style, error results included.
func TestSamplingIsWhatTheSDKReads(t *testing.T) {
	paths := must(filepath.Glob("testdata/sampling-*.json"))(t)
	require.NotEmpty(t, paths)
	errorResults := 0
	for _, path := range paths {
		file := must(os.Open(path))(t)
		read := must(transcript.Read(file))(t)
		require.NoError(t, file.Close())
		fixed, _ := read.Repair()
		for _, m := range wireMessages(t, string(fixed.Bytes())) {
			var got mcp.SamplingMessageV2
			raw := must(json.Marshal(m))(t)
			require.NoError(t, json.Unmarshal(raw, &got), "%s: %s", path, raw)
			for _, c := range got.Content {
				if r, ok := c.(*mcp.ToolResultContent); ok && r.IsError {
					errorResults++
					require.NotEmpty(t, r.ToolUseID)
					require.IsType(t, (*mcp.TextContent)(nil), r.Content[0])
				}
			}
		}
	}
	require.NotZero(t, errorResults)
}

// A conversation written by go-sdk is recognized as sampling style and checked.
func TestSamplingFromTheSDK(t *testing.T) {
	raw, err := json.Marshal([]*mcp.SamplingMessageV2{
		{Role: "user", Content: []mcp.Content{&mcp.TextContent{Text: "Weather?"}}},
		{Role: "assistant", Content: []mcp.Content{&mcp.ToolUseContent{ID: "a", Name: "weather"}}},
		{Role: "user", Content: []mcp.Content{&mcp.ToolResultContent{ToolUseID: "a"}, &mcp.ToolResultContent{ToolUseID: "b"}}},
	})
	require.NoError(t, err)
	read := must(transcript.Read(strings.NewReader(string(raw))))(t)
	require.Equal(t, transcript.Sampling, read.Style())
	found := read.Check()
	require.Len(t, found, 1)
	require.Equal(t, transcript.Orphan, found[0].Kind)
	require.Equal(t, 2, found[0].Message)
	require.Equal(t, 1, found[0].Block)
}

// must is the value of a call that must not fail: must(f())(t).
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		require.NoError(t, err)
		return v
	}
}

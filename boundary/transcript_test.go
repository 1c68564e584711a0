package boundary_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary/transcript"
)

// checkRepair fails unless the repair of a conversation keeps every promise of Repair.
func checkRepair(t testing.TB, read *transcript.Transcript) {
	t.Helper()
	src := string(read.Bytes())
	found := read.Check()
	fixed, repaired := read.Repair()
	out := string(fixed.Bytes())
	require.Equal(t, src, string(read.Bytes()), "the original is left alone")
	require.Equal(t, found, repaired)
	require.Equal(t, accepted(t, src, read.Style()), len(found) == 0, "found %v in\n%s", found, src)
	require.True(t, accepted(t, out, read.Style()), "of\n%s\nrepair made\n%s", src, out)
	require.Empty(t, fixed.Check(), "of\n%s\nrepair made\n%s", src, out)
	reread := must(transcript.ReadAs(strings.NewReader(out), read.Style()))(t)
	require.Empty(t, reread.Check(), "a second repair finds work in\n%s", out)
	require.Equal(t, fixed.Len(), reread.Len())

	after := others(t, out)
	for _, block := range others(t, src) {
		at := slices.Index(after, block)
		require.GreaterOrEqual(t, at, 0, "%s is gone, or its order changed. Of\n%s\nrepair made\n%s", block, src, out)
		after = after[at+1:]
	}
}

// said is a message as a stranger reads it.
type said struct {
	Role    string
	Content any
}

func conversation(t testing.TB, src string) (all []said) {
	t.Helper()
	var top struct{ Messages []said }
	if json.Unmarshal([]byte(src), &top) != nil {
		require.NoError(t, json.Unmarshal([]byte(src), &top.Messages))
	}
	return top.Messages
}

func (s said) blocks() (all []map[string]any) {
	switch content := s.Content.(type) {
	case string:
		if content != "" {
			all = append(all, map[string]any{"type": "text", "text": content})
		}
	case map[string]any:
		all = append(all, content)
	case []any:
		for _, b := range content {
			all = append(all, b.(map[string]any))
		}
	}
	return all
}

// accepted judges a conversation as an API does, by a reading of its own: it
// goes forward once and stops at the first fault.
func accepted(t testing.TB, src string, style transcript.Style) bool {
	t.Helper()
	used, due := map[any]bool{}, map[any]bool{}
	for _, m := range conversation(t, src) {
		results, others, next := 0, 0, map[any]bool{}
		for _, b := range m.blocks() {
			switch b["type"] {
			case "tool_result":
				answers := b["tool_use_id"]
				if style == transcript.Sampling {
					answers = b["toolUseId"]
				}
				if m.Role != "user" || !due[answers] || style == transcript.Messages && others > 0 {
					return false
				}
				delete(due, answers)
				results++
			case "tool_use":
				if m.Role != "assistant" || used[b["id"]] {
					return false
				}
				used[b["id"]], next[b["id"]] = true, true
			default:
				others++
			}
		}
		if len(due) > 0 || style == transcript.Sampling && results > 0 && others > 0 {
			return false
		}
		due = next
	}
	return len(due) == 0
}

// others are the blocks that are neither tool uses nor results.
func others(t testing.TB, src string) (all []string) {
	t.Helper()
	for _, m := range conversation(t, src) {
		for _, b := range m.blocks() {
			if b["type"] != "tool_use" && b["type"] != "tool_result" {
				all = append(all, string(must(json.Marshal(b))(t)))
			}
		}
	}
	return all
}

// invent makes a conversation that may hold anything anywhere.
func invent(r *rand.Rand, style transcript.Style) string {
	answers := map[transcript.Style]string{transcript.Messages: "tool_use_id", transcript.Sampling: "toolUseId"}[style]
	var messages []string
	for i := range r.IntN(7) {
		role := []string{"user", "assistant"}[(i+r.IntN(5)/4)%2]
		var blocks []string
		for j := range r.IntN(5) {
			id := []string{"a", "b", "c", "a_2", "b_2"}[r.IntN(5)]
			kind := r.IntN(8)
			if kind < 5 && role == "user" && r.IntN(6) > 0 {
				kind = 5
			}
			block := fmt.Sprintf(`{"type":"text", "text":"%d.%d"}`, i, j)
			if kind < 4 {
				block = fmt.Sprintf(`{"id":%q, "type":"tool_use","name":"t%d","input":{}}`, id, j)
			} else if kind < 7 {
				block = fmt.Sprintf(`{"type":"tool_result",%q:%q,"content":[],"k":%d}`, answers, id, i)
			}
			blocks = append(blocks, block)
		}
		content := "[" + strings.Join(blocks, ", ") + "]"
		if len(blocks) == 1 && r.IntN(2) == 0 {
			content = blocks[0]
		} else if len(blocks) == 0 && style == transcript.Messages {
			content = []string{`""`, `"said"`, `[]`}[r.IntN(3)]
		}
		messages = append(messages, fmt.Sprintf(`{"n":%d,"role":%q,"content":%s}`, i, role, content))
	}
	return "[" + strings.Join(messages, ",\n") + "]"
}

func TestRepairRepairsAnything(t *testing.T) {
	for _, style := range []transcript.Style{transcript.Messages, transcript.Sampling} {
		r := rand.New(rand.NewPCG(1, 2))
		kinds := map[transcript.Kind]int{}
		for range 500 {
			read := must(transcript.ReadAs(strings.NewReader(invent(r, style)), style))(t)
			checkRepair(t, read)
			for _, f := range read.Check() {
				kinds[f.Kind]++
			}
			if fixed, _ := read.Repair(); style == transcript.Sampling { // which go-sdk reads
				require.NoError(t, json.Unmarshal(fixed.Bytes(), &[]*mcp.SamplingMessageV2{}), string(fixed.Bytes()))
			}
		}
		require.Len(t, kinds, 5, "the inventions do not show every kind: %v", kinds)
	}
}

func TestReadRefuses(t *testing.T) {
	for input, want := range map[string]string{
		``:                                  `unexpected end of JSON input`,
		"[\n  {]":                           `invalid character ']'`,
		`"hello"`:                           `a conversation is an array`,
		`{"msgs":[]}`:                       `a conversation is an array`,
		`{"messages":[],"messages":[]}`:     `the field "messages" is given twice`,
		`[null]`:                            `messages[0]: not an object`,
		`[{"role":"tool","content":""}]`:    `messages[0]: the role "tool" is neither "user" nor "assistant"`,
		`[{"role":"user"}]`:                 `messages[0].content: content is a string, a block or a list of blocks`,
		`[{"role":"user","content":["x"]}]`: `messages[0].content[0]: not an object`,
		`[{"role":"user","content":[{}]}]`:  `messages[0].content[0]: no string "type"`,
		`[{"role":"assistant","content":[{"type":"tool_use"}]}]`:                                                      `messages[0].content[0]: no string "id"`,
		`[{"role":"user","content":[{"type":"tool_result","tool_use_id":1}]}]`:                                        `messages[0].content[0]: no string "tool_use_id"`,
		`[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"a","\u0069d":"b"}]}]`: `the field "id" is given twice`,
		`{"maxTokens":1,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}]}`:           `messages[0].content[0]: no string "toolUseId"`,
	} {
		_, err := transcript.Read(strings.NewReader(input))
		require.ErrorContains(t, err, want, input)
		require.ErrorAs(t, err, new(*transcript.Error))
	}
}

func TestReadIsBounded(t *testing.T) {
	broken := errors.New("the disk is gone")
	read := func(size int) error {
		_, err := transcript.Read(io.MultiReader(strings.NewReader(strings.Repeat(" ", size)), iotest.ErrReader(broken)))
		return err
	}
	require.ErrorIs(t, read(transcript.MaxBytes), broken)
	require.ErrorContains(t, read(transcript.MaxBytes+1), "larger than")
}

var update = flag.Bool("update", false, "write the golden files anew")

// Behind each NAME.json of an archive is NAME.report: its findings, and it repaired.
func TestGolden(t *testing.T) {
	for file, style := range map[string]transcript.Style{"messages": transcript.Messages, "sampling": transcript.Sampling} {
		file = filepath.Join("testdata", file+".txtar")
		archive := string(must(os.ReadFile(file))(t))
		var anew strings.Builder
		require.NotEmpty(t, archive)
		for section := range strings.SplitSeq("\n"+strings.TrimSuffix(archive, "\n"), "\n-- ") {
			name, src, found := strings.Cut(section+"\n", ".json --\n")
			if !found {
				continue // a report, which is written anew
			}
			read := must(transcript.Read(strings.NewReader(src)))(t)
			require.Equal(t, src, string(read.Bytes()), "reading and writing changes nothing")
			require.Equal(t, style, read.Style())
			fmt.Fprintf(&anew, "-- %s.json --\n%s-- %s.report --\n", name, src, name)
			for _, f := range read.Check() {
				fmt.Fprintf(&anew, "%v (at the end: %t)\n", f, f.AtEnd)
			}
			require.Equal(t, name == "clean" || name == "server-tools", len(read.Check()) == 0, name)
			fixed, _ := read.Repair()
			fmt.Fprintf(&anew, "%s\n", fixed.Bytes())
		}
		if *update {
			require.NoError(t, os.WriteFile(file, []byte(anew.String()), 0o644))
		}
		require.Equal(t, archive, anew.String())
	}
}

// Two calls in one turn, and the process died before the second had its result.
func Example_conversation() {
	read, err := transcript.Read(strings.NewReader(`[
  {"role": "user", "content": "Weather in Lisbon and Tokyo?"},
  {"role": "assistant", "content": [
    {"type": "tool_use", "id": "a", "name": "weather", "input": {"location": "Lisbon"}},
    {"type": "tool_use", "id": "b", "name": "weather", "input": {"location": "Tokyo"}}
  ]},
  {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "22°C"}]}
]`))
	if err != nil {
		panic(err)
	}
	for _, finding := range read.Check() {
		fmt.Println(finding)
	}
	fixed, _ := read.Repair()
	fmt.Println("after the repair:", len(fixed.Check()), "findings")
	// Output:
	// messages[1].content[1]: missing: tool "weather", id "b": this tool use has no result. Put one into the user message directly after it; if it was lost, an error result.
	// after the repair: 0 findings
}

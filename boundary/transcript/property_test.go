package transcript_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary/transcript"
)

// checkRepair fails unless the repair of a conversation keeps every promise of Repair.
func checkRepair(t testing.TB, read *transcript.Transcript) {
	t.Helper()
	src := string(read.Bytes())
	found := read.Check()
	fixed, repairs := read.Repair()
	out := string(fixed.Bytes())

	require.Equal(t, src, string(read.Bytes()), "the original is left alone")
	require.Len(t, repairs, len(found), "one repair a finding, for\n%s", src)
	for i, r := range repairs {
		require.Equal(t, found[i], r.Finding)
		require.NotEmpty(t, r.Action)
		require.Equal(t, r.Action == transcript.Renamed, r.NewID != "")
	}
	require.Equal(t, accepted(t, src, read.Style()), len(found) == 0, "found %v in\n%s", found, src)
	require.True(t, accepted(t, out, read.Style()), "of\n%s\nrepair made\n%s", src, out)
	require.Empty(t, fixed.Check(), "of\n%s\nrepair made\n%s", src, out)

	again, repairs := fixed.Repair()
	require.Empty(t, repairs, "a second repair finds work in\n%s", out)
	require.Equal(t, out, string(again.Bytes()))

	reread, err := transcript.ReadAs(strings.NewReader(out), read.Style())
	require.NoError(t, err, out)
	require.Equal(t, out, string(reread.Bytes()))
	require.Equal(t, fixed.Len(), reread.Len())
	require.Empty(t, reread.Check())

	before, after := others(t, src), others(t, out)
	for _, raw := range before {
		at := indexOf(after, raw)
		require.GreaterOrEqual(t, at, 0, "%s is gone, or its order changed. Of\n%s\nrepair made\n%s", raw, src, out)
		after = after[at+1:]
	}
}

func indexOf(all []string, one string) int {
	for i, s := range all {
		if s == one {
			return i
		}
	}
	return -1
}

type wireMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

type wireBlock struct{ kind, id, answers string }

func wireMessages(t testing.TB, src string) []wireMessage {
	t.Helper()
	var messages []wireMessage
	if strings.HasPrefix(strings.TrimSpace(src), "{") {
		var top map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(src), &top))
		src = string(top["messages"])
	}
	// Through maps, because encoding/json takes "Role" for "role" in a struct.
	var fields []map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(src), &fields))
	for _, f := range fields {
		m := wireMessage{Content: f["content"]}
		require.NoError(t, json.Unmarshal(f["role"], &m.Role))
		messages = append(messages, m)
	}
	return messages
}

func wireBlocks(t testing.TB, content json.RawMessage) (blocks []wireBlock, raws []json.RawMessage) {
	t.Helper()
	switch content[0] {
	case '"':
		return nil, nil
	case '{':
		raws = []json.RawMessage{content}
	default:
		require.NoError(t, json.Unmarshal(content, &raws))
	}
	for _, raw := range raws {
		var f map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(raw, &f))
		var b wireBlock
		for key, to := range map[string]*string{"type": &b.kind, "id": &b.id, "tool_use_id": &b.answers, "toolUseId": &b.answers} {
			_ = json.Unmarshal(f[key], to) // blocks of other types may have another use for the name
		}
		blocks = append(blocks, b)
	}
	return blocks, raws
}

// accepted judges a conversation as an API does, by a reading of its own: it
// goes forward once and stops at the first fault.
func accepted(t testing.TB, src string, style transcript.Style) bool {
	t.Helper()
	used := map[string]bool{}
	due := map[string]bool{}
	for _, m := range wireMessages(t, src) {
		blocks, _ := wireBlocks(t, m.Content)
		results, others, behind := 0, 0, false
		next := map[string]bool{}
		for _, b := range blocks {
			switch b.kind {
			case "tool_result":
				if m.Role != "user" || !due[b.answers] {
					return false
				}
				delete(due, b.answers)
				results++
				behind = behind || others > 0
			case "tool_use":
				if m.Role != "assistant" || used[b.id] {
					return false
				}
				used[b.id], next[b.id] = true, true
				others++
			default:
				others++
			}
		}
		if len(due) > 0 {
			return false
		}
		if results > 0 && others > 0 && (style == transcript.Sampling || behind) {
			return false
		}
		due = next
	}
	return len(due) == 0
}

// others returns the blocks that are neither tool uses nor results, byte for byte.
func others(t testing.TB, src string) []string {
	t.Helper()
	var out []string
	for _, m := range wireMessages(t, src) {
		blocks, raws := wireBlocks(t, m.Content)
		if blocks == nil && m.Content[0] == '"' && string(m.Content) != `""` {
			out = append(out, fmt.Sprintf("{\"type\":\"text\",\"text\":%s}", m.Content))
		}
		for i, b := range blocks {
			if b.kind != "tool_use" && b.kind != "tool_result" {
				out = append(out, string(raws[i]))
			}
		}
	}
	return out
}

// invent makes a conversation that may hold anything anywhere.
func invent(r *rand.Rand, style transcript.Style) string {
	ids := []string{"a", "b", "c", "a_2", "b_2"}
	var out bytes.Buffer
	out.WriteString("[")
	for i := range r.IntN(7) {
		if i > 0 {
			out.WriteString(",\n")
		}
		role := []string{"user", "assistant"}[(i+r.IntN(5)/4)%2]
		fmt.Fprintf(&out, `{"n":%d,"role":%q,"content":`, i, role)
		var blocks []string
		for j := range r.IntN(5) {
			id := ids[r.IntN(len(ids))]
			kind := r.IntN(8)
			if kind < 5 && role == "user" && r.IntN(6) > 0 {
				kind = 5
			}
			switch {
			case kind < 4:
				blocks = append(blocks, fmt.Sprintf(`{"id":%q, "type":"tool_use","name":"t%d","input":{}}`, id, j))
			case kind < 7 && style == transcript.Sampling:
				blocks = append(blocks, fmt.Sprintf(`{"type":"tool_result","toolUseId":%q,"content":[],"k":%d}`, id, i))
			case kind < 7:
				blocks = append(blocks, fmt.Sprintf(`{"type":"tool_result","tool_use_id":%q,"content":"","k":%d}`, id, i))
			default:
				blocks = append(blocks, fmt.Sprintf(`{"type":"text", "text":"%d.%d"}`, i, j))
			}
		}
		switch {
		case len(blocks) == 1 && style == transcript.Sampling:
			out.WriteString(blocks[0])
		case len(blocks) == 0 && style == transcript.Messages:
			fmt.Fprintf(&out, `"said %d"`, i)
		default:
			out.WriteString("[" + strings.Join(blocks, ", ") + "]")
		}
		out.WriteString("}")
	}
	out.WriteString("]")
	return out.String()
}

func TestRepairMendsAnything(t *testing.T) {
	for _, style := range []transcript.Style{transcript.Messages, transcript.Sampling} {
		t.Run(string(style), func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			kinds := map[transcript.Kind]int{}
			clean := 0
			for range 500 {
				read := must(transcript.ReadAs(strings.NewReader(invent(r, style)), style))(t)
				checkRepair(t, read)
				found := read.Check()
				if len(found) == 0 {
					clean++
				}
				for _, f := range found {
					kinds[f.Kind]++
				}
			}
			require.Len(t, kinds, 5, "the inventions do not show every kind: %v", kinds)
			require.NotZero(t, clean)
		})
	}
}

func FuzzRepair(f *testing.F) {
	for _, path := range conversations(f) {
		f.Add(string(readFile(f, path)))
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 10 {
		f.Add(invent(r, transcript.Messages))
		f.Add(invent(r, transcript.Sampling))
	}
	for _, seed := range refused {
		f.Add(seed.input)
	}
	f.Fuzz(func(t *testing.T, src string) {
		read, err := transcript.Read(strings.NewReader(src))
		if err != nil {
			require.ErrorContains(t, err, "transcript: ")
			return
		}
		require.Equal(t, src, string(read.Bytes()))
		checkRepair(t, read)
	})
}

// hostile is a conversation of n turns with one id for everything and every result
// late, which is the worst case for looking an id up.
func hostile(n int) string {
	var uses, results []string
	for range n {
		uses = append(uses, `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"t","input":{}}]}`)
		results = append(results, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":""}]}`)
	}
	return "[" + strings.Join(append(uses, results...), ",") + "]"
}

func TestOneIDForEverything(t *testing.T) {
	const turns = 8_000
	read := must(transcript.Read(strings.NewReader(hostile(turns))))(t)
	require.Len(t, read.Check(), 2*(turns-1), "every use but the first, every result but the one that follows its use")
	fixed, _ := read.Repair()
	require.Empty(t, fixed.Check())
}

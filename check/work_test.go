//go:build !race

// The race detector allocates by itself.

package check_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/judge"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/statecodec"
)

// inputSize is about the size of each input.
const inputSize = 64 << 10

// filled is an opening, so many pieces that they take inputSize, and an end. %d in the
// piece is its number.
func filled(begin, piece, end string) string {
	var b strings.Builder
	b.WriteString(begin)
	for i := 0; b.Len() < inputSize; i++ {
		if strings.Contains(piece, "%d") {
			fmt.Fprintf(&b, piece, i)
		} else {
			b.WriteString(piece)
		}
	}
	b.WriteString(end)
	return b.String()
}

// costly are the params of calls that cost the most to read for their size.
var costly = map[string]func() (tool, params string){
	"a long text":   func() (string, string) { return "any", filled(`"arguments":{"a":"`, `x`, `"}`) },
	"escapes":       func() (string, string) { return "any", filled(`"arguments":{"a":"`, `\u0001`, `"}`) },
	"numbers":       func() (string, string) { return "any", filled(`"arguments":{"a":[0`, `,1`, `]}`) },
	"empty arrays":  func() (string, string) { return "any", filled(`"arguments":{"a":[[]`, `,[]`, `]}`) },
	"empty objects": func() (string, string) { return "any", filled(`"arguments":{"a":[{}`, `,{}`, `]}`) },
	"small objects": func() (string, string) { return "any", filled(`"arguments":{"a":[{}`, `,{"a":0}`, `]}`) },
	"deep": func() (string, string) {
		return "any", filled(`"arguments":{"a":[0`, `,`+strings.Repeat("[", 10)+strings.Repeat("]", 10), `]}`)
	},
	"many members":      func() (string, string) { return "any", filled(`"arguments":{"a":0`, `,"m%d":0`, `}`) },
	"unknown arguments": func() (string, string) { return "typed", filled(`"arguments":{"place":"a"`, `,"m%d":0`, `}`) },
	"wrong items":       func() (string, string) { return "typed", filled(`"arguments":{"list":[0`, `,0`, `]}`) },
	"long numbers": func() (string, string) {
		return "any", filled(`"arguments":{"a":[0`, `,1`+strings.Repeat("0", inputSize/10), `]}`)
	},
	"many answers": func() (string, string) {
		return "asks", filled(`"inputResponses":{"a":{"action":"decline"}`, `,"m%d":{"action":"decline"}`, `}`)
	},
	"a large answer": func() (string, string) {
		return "asks", filled(`"inputResponses":{"a":{"action":"accept","content":{"a":[0`, `,0`, `]}}}`)
	},
	"a forged state":     func() (string, string) { return "asks", filled(`"requestState":"`, `x`, `"`) },
	"a state of escapes": func() (string, string) { return "asks", filled(`"requestState":"`, `\u0001`, `"`) },
	"unknown params":     func() (string, string) { return "any", filled(`"x":[0`, `,0`, `]`) },
	"a long name":        func() (string, string) { return filled("", "x", ""), `"arguments":{}` },
}

// mostAllocated and mostAnswered are how many bytes may be allocated, and answered, for
// each byte of an input.
const mostAllocated, mostAnswered = 100, 1.1

// excused are the rows that allocate more, up to twice as much, and why.
var excused = []struct{ row, because string }{
	{`^modern, HTTP, .*: (deep|empty arrays|empty objects)$`,
		"go-sdk's HTTP layer decodes the arguments into any to read the name beside them, and the lean front leaves it arguments that it has not seen before"},
}

type cost struct {
	row               string
	allocated, answer float64 // bytes for each byte of the input
}

// allocated is how many bytes the program allocates while f runs, the less of two
// times: other goroutines allocate as well.
func allocated(f func()) float64 {
	least := uint64(math.MaxUint64)
	for range 2 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	return float64(least)
}

// No input, however unlucky, costs a public entrance out of proportion to its size.
func TestTheWorkOfAByteIsBounded(t *testing.T) {
	rt := must(mrtr.New(nil))(t)
	defer rt.Close()
	var rows []cost
	for _, guarded := range []bool{false, true} {
		for era, ways := range map[string][]way{"modern": modernWays, "legacy": legacyWays} {
			for _, way := range ways {
				server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, &mcp.ServerOptions{Logger: slog.New(slog.DiscardHandler)})
				if guarded {
					require.NoError(t, boundary.Install(server, &boundary.Options{Logger: slog.New(slog.DiscardHandler)}))
				}
				server.AddTool(&mcp.Tool{Name: "any", InputSchema: json.RawMessage(`{"type":"object"}`)}, ran)
				mcp.AddTool(server, &mcp.Tool{Name: "typed"}, func(context.Context, *mcp.CallToolRequest, struct {
					Place string   `json:"place,omitempty"`
					List  []string `json:"list,omitempty"`
				}) (*mcp.CallToolResult, any, error) {
					return nil, nil, nil
				})
				server.AddTool(&mcp.Tool{Name: "asks", InputSchema: json.RawMessage(`{"type":"object"}`)}, mrtr.RawTool(rt, mrtr.Native(
					func(_ context.Context, c *mrtr.Call, _ json.RawMessage) (*mrtr.IncompleteResult, *mcp.CallToolResult, error) {
						if _, ok := mrtr.Answer(c, options.Units); !ok {
							return mrtr.Need(options.Units), nil, nil
						}
						return nil, &mcp.CallToolResult{}, nil
					}), &mrtr.HandlerOptions{Audience: fmt.Sprint(era, way.name, guarded)}))
				send := way.open(t, server)
				for name, input := range costly {
					tool, params := input()
					meta := ""
					if era == "modern" {
						meta = modernMeta
					}
					message := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"` + tool + `",` + params + `,"_meta":{` + meta + `}}}`
					answer := ""
					took := allocated(func() { answer = send(message) })
					rows = append(rows, cost{fmt.Sprintf("%s, %s, boundary %v: %s", era, way.name, guarded, name), took / float64(len(message)), float64(len(answer)) / float64(len(message))})
				}
			}
		}
	}
	require.Len(t, rows, 2*8*len(costly))
	rows = append(rows, parserCosts(t)...)
	slices.SortFunc(rows, func(a, b cost) int { return int(b.allocated*100) - int(a.allocated*100) })
	for _, row := range rows[:20] {
		t.Logf("%7.1f bytes allocated, %.3f bytes answered for each byte: %s", row.allocated, row.answer, row.row)
	}
	for _, row := range rows {
		most := float64(mostAllocated)
		for _, e := range excused {
			if regexp.MustCompile(e.row).MatchString(row.row) {
				most *= 2
			}
		}
		require.LessOrEqual(t, row.allocated, most, row.row)
		require.LessOrEqual(t, row.answer, mostAnswered, row.row)
	}
}

// parserCosts are the rows of what reads tokens of clients and answers of servers.
func parserCosts(t *testing.T) (rows []cost) {
	codec := statecodec.NewEphemeral()
	genuine := must(codec.Seal(statecodec.Binding{}, make([]byte, 1<<10)))(t)
	for name, token := range map[string]string{
		"garbage": filled("", "x", ""), "a long body": genuine + filled("", "A", ""), "dots": filled("", ".", ""),
	} {
		rows = append(rows, cost{"statecodec.Open: " + name, allocated(func() { _, _ = codec.Open(statecodec.Binding{}, token) }) / float64(len(token)), 0})
	}
	for name, text := range map[string]string{
		"numbers": filled(`{"content":[],"structuredContent":[0`, `,0`, `]}`), "blocks": filled(`{"content":[{"type":"text","text":""}`, `,{"type":"text","text":""}`, `]}`),
		"members": filled(`{"content":[]`, `,"m%d":0`, `}`), "questions": filled(`{"resultType":"input_required","inputRequests":{"a":{}`, `,"m%d":{}`, `}}`),
	} {
		res := &jsonrpc.Response{Result: json.RawMessage(text)}
		rows = append(rows,
			cost{"the reader of replies: " + name, allocated(func() { _, _ = wire.ReadReply(res) }) / float64(len(text)), 0},
			cost{"the judge of answers: " + name, allocated(func() { _, _ = judge.Answer(judge.Modern, res, nil) }) / float64(len(text)), 0})
	}
	return rows
}

//go:build !race

// The race detector allocates by itself.

package ways_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/judge"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/lab/fleet"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/statecodec"
)

// workRow is one shape of input at one entrance. enter opens the entrance: input is of
// about a size, and process hands it in.
type workRow struct {
	name     string
	misnamed bool // the headers of the request do not name the tool, and so it is refused
	enter    func(t *testing.T) (input func(size int) string, process func(input string) (answer string))
}

// shape is an opening, so many pieces that they take a size, and an end. %d in the
// piece is its number.
func shape(begin, piece, end string) func(size int) string {
	return func(size int) string {
		var b strings.Builder
		b.WriteString(begin)
		for i := 0; b.Len() < size; i++ {
			if strings.Contains(piece, "%d") {
				fmt.Fprintf(&b, piece, i)
			} else {
				b.WriteString(piece)
			}
		}
		b.WriteString(end)
		return b.String()
	}
}

// nested is an item of an array that is so many arrays deep.
func nested(depth int) string {
	return "," + strings.Repeat("[", depth) + strings.Repeat("]", depth)
}

// costly are the params of calls that cost the most to read for their size, and the tools
// that are called. A tool without a name has the params for one.
var costly = []struct {
	name, tool string
	params     func(size int) string
}{
	{"a long text", "any", shape(`"arguments":{"a":"`, `x`, `"}`)},
	{"escapes", "any", shape(`"arguments":{"a":"`, `\u0001`, `"}`)},
	{"numbers", "any", shape(`"arguments":{"a":[0`, `,1`, `]}`)},
	{"empty arrays", "any", shape(`"arguments":{"a":[[]`, `,[]`, `]}`)},
	{"empty objects", "any", shape(`"arguments":{"a":[{}`, `,{}`, `]}`)},
	{"small objects", "any", shape(`"arguments":{"a":[{}`, `,{"a":0}`, `]}`)},
	{"deep", "any", shape(`"arguments":{"a":[0`, nested(10), `]}`)},
	{"deepest", "any", shape(`"arguments":{"a":[0`, nested(58), `]}`)},
	{"deep, for another tool than the header's", "no-tool", shape(`"arguments":{"a":[0`, nested(10), `]}`)},
	{"many members", "any", shape(`"arguments":{"a":0`, `,"m%d":0`, `}`)},
	{"unknown arguments", "typed", shape(`"arguments":{"place":"a"`, `,"m%d":0`, `}`)},
	{"wrong items", "typed", shape(`"arguments":{"list":[0`, `,0`, `]}`)},
	{"long numbers", "any", func(size int) string {
		return shape(`"arguments":{"a":[0`, `,1`+strings.Repeat("0", size/10), `]}`)(size)
	}},
	{"many answers", "asks", shape(`"inputResponses":{"a":{"action":"decline"}`, `,"m%d":{"action":"decline"}`, `}`)},
	{"a large answer", "asks", shape(`"inputResponses":{"a":{"action":"accept","content":{"a":[0`, `,0`, `]}}}`)},
	{"a forged state", "asks", shape(`"requestState":"`, `x`, `"`)},
	{"a state of escapes", "asks", shape(`"requestState":"`, `\u0001`, `"`)},
	{"unknown params", "any", shape(`"x":[0`, `,0`, `]`)},
	{"a long name", "", shape("", "x", "")},
}

// workRows are the rows of every entrance, by name.
func workRows(t *testing.T) []workRow {
	rows := readerRows()
	servers := 0
	for _, guarded := range []bool{false, true} {
		for era, ways := range map[string][]way{"modern": modernWays, "legacy": legacyWays} {
			for _, w := range ways {
				servers++
				for _, c := range costly {
					rows = append(rows, workRow{
						fmt.Sprintf("%s, %s, boundary %v: %s", era, w.name, guarded, c.name),
						c.tool == "" || c.tool == "no-tool",
						func(t *testing.T) (func(int) string, func(string) string) {
							return func(size int) string { return costlyCall(era, c.tool, c.params(size)) }, w.open(t, workServer(t, guarded))
						},
					})
				}
			}
		}
	}
	require.Equal(t, 2*8, servers)
	require.Len(t, rows, servers*len(costly)+3+8)
	slices.SortFunc(rows, func(a, b workRow) int { return strings.Compare(a.name, b.name) })
	return rows
}

func costlyCall(era, tool, params string) string {
	if tool == "" {
		tool, params = params, `"arguments":{}`
	}
	meta := ""
	if era == "modern" {
		meta = modernMeta
	}
	return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"` + tool + `",` + params + `,"_meta":{` + meta + `}}}`
}

// workServer has the tools that are called.
func workServer(t *testing.T, guarded bool) *mcp.Server {
	rt := fleet.Must(mrtr.New(nil))(t)
	t.Cleanup(func() { require.NoError(t, rt.Close()) })
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
	server.AddTool(&mcp.Tool{Name: "asks", InputSchema: json.RawMessage(`{"type":"object"}`)}, rt.RawTool(mrtr.Native(
		func(_ context.Context, c *mrtr.Call, _ json.RawMessage) (*mrtr.IncompleteResult, *mcp.CallToolResult, error) {
			if _, ok := mrtr.Answer(c, options.Units); !ok {
				return mrtr.Need(options.Units), nil, nil
			}
			return nil, &mcp.CallToolResult{}, nil
		}), nil))
	return server
}

// readerRows are the rows of what reads tokens of clients and answers of servers. None of
// them answers.
func readerRows() (rows []workRow) {
	for name, garbage := range map[string]func(int) string{
		"garbage": shape("", "x", ""), "a long body": shape("", "A", ""), "dots": shape("", ".", ""),
	} {
		rows = append(rows, workRow{"statecodec.Open: " + name, false, func(t *testing.T) (func(int) string, func(string) string) {
			codec, before := statecodec.NewEphemeral(), ""
			if name == "a long body" {
				before = fleet.Must(codec.Seal(statecodec.Binding{}, make([]byte, 1<<10)))(t)
			}
			return func(size int) string { return before + garbage(size) },
				func(token string) string { _, _ = codec.Open(statecodec.Binding{}, token); return "" }
		}})
	}
	for reader, read := range map[string]func(*jsonrpc.Response){
		"the reader of replies": func(res *jsonrpc.Response) { _, _ = wire.ReadReply(res) },
		"the judge of answers":  func(res *jsonrpc.Response) { _, _ = judge.Answer(judge.Modern, res, nil) },
	} {
		for name, text := range map[string]func(int) string{
			"numbers":   shape(`{"content":[],"structuredContent":[0`, `,0`, `]}`),
			"blocks":    shape(`{"content":[{"type":"text","text":""}`, `,{"type":"text","text":""}`, `]}`),
			"members":   shape(`{"content":[]`, `,"m%d":0`, `}`),
			"questions": shape(`{"resultType":"input_required","inputRequests":{"a":{}`, `,"m%d":{}`, `}}`),
		} {
			rows = append(rows, workRow{reader + ": " + name, false, func(*testing.T) (func(int) string, func(string) string) {
				return text, func(text string) string { read(&jsonrpc.Response{Result: json.RawMessage(text)}); return "" }
			}})
		}
	}
	return rows
}

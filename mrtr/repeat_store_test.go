package mrtr_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
)

// repeatSubjects are handlers that ask for units in round one, and end in round two in
// something that must come out the same for a repeat.
var repeatSubjects = []struct {
	name   string
	method string
	answer wire.Answer
	add    func(rt *mrtr.Runtime, server *mcp.Server, name string)
	// changes: a result that JSON does not keep is replaced by one that it does.
	changes bool
}{
	{name: "a typed result", method: "tools/call", answer: wire.Value("metric"), add: typedRepeat(func(said string) (output, error) { return output{said}, nil })},
	{name: "a text of its own", method: "tools/call", answer: wire.Value("metric"), add: typedRepeat(func(string) (spoken, error) { return spoken{7}, nil })},
	{name: "content of its own", method: "tools/call", answer: wire.Value("metric"), add: typedRepeat(func(string) (pictured, error) { return pictured{N: 7, Shows: true}, nil })},
	{name: "a _meta of its own alone", method: "tools/call", answer: wire.Value("metric"), add: typedRepeat(func(string) (pictured, error) { return pictured{N: 7}, nil })},
	{name: "an output that reads less than it writes", method: "tools/call", answer: wire.Value("metric"), add: typedRepeat(func(string) (oneWay, error) { return oneWay{shown: "x"}, nil }), changes: true},
	{name: "a text that is not UTF-8", method: "tools/call", answer: wire.Value("metric"), add: typedRepeat(func(string) (output, error) { return output{"\xff"}, nil }), changes: true},
	{name: "an output without a type", method: "tools/call", answer: wire.Value("metric"), add: typedRepeat(func(string) (any, error) {
		return map[string]any{"z": json.Number("12345678901234567890"), "a": int64(1)<<60 + 1, "f": 1e300, "h": "<&>"}, nil
	})},
	{name: "a nil output", method: "tools/call", answer: wire.Value("metric"), add: typedRepeat(func(string) (*output, error) { return nil, nil })},
	{name: "another question", method: "tools/call", answer: wire.Value("metric"), add: func(rt *mrtr.Runtime, server *mcp.Server, name string) {
		mcp.AddTool(server, &mcp.Tool{Name: name}, mrtr.Tool(rt, mrtr.Native(func(_ context.Context, c *mrtr.Call, _ input) (*mrtr.IncompleteResult, output, error) {
			if _, ok := mrtr.Answer(c, units); !ok {
				return mrtr.Need(units), output{}, nil
			}
			return mrtr.Need(mrtr.Confirm("sure", "Sure? <&>"), mrtr.Elicit[tripIn]("who", "Who?")).Carry("x"), output{}, nil
		}), nil))
	}},
	{name: "another question, whose state stays in the store", method: "tools/call", answer: wire.Value("metric"), add: func(rt *mrtr.Runtime, server *mcp.Server, name string) {
		mcp.AddTool(server, &mcp.Tool{Name: name}, mrtr.Tool(rt, mrtr.Native(func(_ context.Context, c *mrtr.Call, _ input) (*mrtr.IncompleteResult, output, error) {
			if _, ok := mrtr.Answer(c, units); !ok {
				return mrtr.Need(units), output{}, nil
			}
			return mrtr.Need(mrtr.Confirm("sure", "Sure? <&>")).Carry(strings.Repeat("x", 4<<10)), output{}, nil
		}), nil))
	}},
	{name: "a raw result", method: "tools/call", answer: wire.Value("metric"), add: rawRepeat(func() *mcp.CallToolResult {
		return &mcp.CallToolResult{
			Meta:              mcp.Meta{"a": 12345678901234567, "b": map[string]any{"z": 1, "a": 2}},
			Content:           []mcp.Content{&mcp.TextContent{Text: "<b>", Annotations: &mcp.Annotations{Priority: 0.1}}, &mcp.ImageContent{Data: []byte{1, 2}, MIMEType: "image/png"}, &mcp.ResourceLink{URI: "mem://x", Name: "x"}},
			StructuredContent: json.RawMessage(`{"z":1,"a":12345678901234567890,"f":1.0,"e":1e2}`),
		}
	})},
	{name: "a raw error result", method: "tools/call", answer: wire.Value("metric"), add: rawRepeat(func() *mcp.CallToolResult {
		res := &mcp.CallToolResult{}
		res.SetError(&fullError{"IC 1"})
		return res
	})},
	{name: "no raw result", method: "tools/call", answer: wire.Value("metric"), add: rawRepeat(func() *mcp.CallToolResult { return nil })},
	{name: "a prompt", method: "prompts/get", answer: wire.Value("metric"), add: promptRepeat(nil)},
	{name: "an error of a prompt", method: "prompts/get", answer: wire.Value("metric"), add: promptRepeat(&fullError{"IC 1"})},
	{name: "a fault of a prompt", method: "prompts/get", answer: wire.Value("metric"), add: promptRepeat(errors.New("disk full"))},
	{name: "a declined prompt", method: "prompts/get", answer: wire.Decline, add: promptRepeat(nil)},
	{name: "a resource", method: "resources/read", answer: wire.Value("metric"), add: func(rt *mrtr.Runtime, server *mcp.Server, name string) {
		server.AddResource(&mcp.Resource{URI: name, Name: name}, mrtr.Resource(rt, mrtr.Native(func(_ context.Context, c *mrtr.Call, uri string) (*mrtr.IncompleteResult, *mcp.ReadResourceResult, error) {
			if _, ok := mrtr.Answer(c, units); !ok {
				return mrtr.Need(units), nil, nil
			}
			return nil, &mcp.ReadResourceResult{Meta: mcp.Meta{"a": 1.5}, Contents: []*mcp.ResourceContents{{URI: uri, Text: "<x>", MIMEType: "text/plain"}, {URI: uri, Blob: []byte{0, 1}}}}, nil
		}), nil))
	}},
	{name: "an error", method: "tools/call", answer: wire.Value("metric"), add: typedRepeat(func(string) (output, error) { return output{}, errors.New("no <luck>") })},
	{name: "an error with hints", method: "tools/call", answer: wire.Value("metric"), add: typedRepeat(func(string) (output, error) {
		return output{}, fmt.Errorf("booking: %w", &fullError{"IC 1"})
	})},
	{name: "an error of the boundary's", method: "tools/call", answer: wire.Value("metric"), add: typedRepeat(func(string) (output, error) {
		return output{}, &boundary.Execution{Code: "E1", Hints: []string{"Try IC 2."}, Effect: "applied", Operation: "book", Expected: true, Err: errClosed}
	})},
	{name: "an error after an effect", method: "tools/call", answer: wire.Value("metric"), add: func(rt *mrtr.Runtime, server *mcp.Server, name string) {
		mcp.AddTool(server, &mcp.Tool{Name: name}, mrtr.Tool(rt, mrtr.Journal(func(ctx context.Context, c *mrtr.Call, _ input) (output, error) {
			if _, err := mrtr.Ask(ctx, c, units); err != nil {
				return output{}, err
			}
			_, err := mrtr.Once(ctx, c, "pay", func(context.Context, string) (int, error) { return 1, nil })
			return output{}, errors.Join(err, errClosed)
		}), nil))
	}},
	{name: "a panic", method: "tools/call", answer: wire.Value("metric"), add: typedRepeat(func(string) (output, error) { panic("ouch") })},
	{name: "a decline", method: "tools/call", answer: wire.Decline, add: typedRepeat(func(said string) (output, error) { return output{said}, nil })},
	{name: "a cancel", method: "tools/call", answer: wire.Cancel, add: typedRepeat(func(said string) (output, error) { return output{said}, nil })},
}

// pictured has content, which need not be text, and metadata.
type pictured struct {
	N     int  `json:"n"`
	Shows bool `json:"shows"`
}

func (p pictured) Content() []mcp.Content {
	if !p.Shows {
		return nil
	}
	return []mcp.Content{&mcp.ImageContent{Data: []byte{1, 2}, MIMEType: "image/png"}, &mcp.ResourceLink{URI: "mem://x", Name: "x"}}
}

func (pictured) Meta() mcp.Meta { return mcp.Meta{"b": 12345678901234567, "a": "<x>"} }

// oneWay writes a member that it does not read.
type oneWay struct{ shown string }

func (o oneWay) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]string{"shown": o.shown})
}

func typedRepeat[Out any](end func(said string) (Out, error)) func(*mrtr.Runtime, *mcp.Server, string) {
	return func(rt *mrtr.Runtime, server *mcp.Server, name string) {
		tool := &mcp.Tool{Name: name}
		if _, ok := any(*new(Out)).(oneWay); ok {
			tool.OutputSchema = map[string]any{"type": "object"}
		}
		mcp.AddTool(server, tool, mrtr.Tool(rt, mrtr.Native(func(_ context.Context, c *mrtr.Call, _ input) (*mrtr.IncompleteResult, Out, error) {
			said, ok := mrtr.Answer(c, units)
			if !ok {
				var none Out
				return mrtr.Need(units), none, nil
			}
			out, err := end(said)
			return nil, out, err
		}), nil))
	}
}

func rawRepeat(end func() *mcp.CallToolResult) func(*mrtr.Runtime, *mcp.Server, string) {
	return func(rt *mrtr.Runtime, server *mcp.Server, name string) {
		server.AddTool(&mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}, mrtr.RawTool(rt, mrtr.Native(func(_ context.Context, c *mrtr.Call, _ json.RawMessage) (*mrtr.IncompleteResult, *mcp.CallToolResult, error) {
			if _, ok := mrtr.Answer(c, units); !ok {
				return mrtr.Need(units), nil, nil
			}
			return nil, end(), nil
		}), nil))
	}
}

func promptRepeat(fails error) func(*mrtr.Runtime, *mcp.Server, string) {
	return func(rt *mrtr.Runtime, server *mcp.Server, name string) {
		server.AddPrompt(&mcp.Prompt{Name: name}, mrtr.Prompt(rt, mrtr.Native(func(_ context.Context, c *mrtr.Call, _ map[string]string) (*mrtr.IncompleteResult, *mcp.GetPromptResult, error) {
			if _, ok := mrtr.Answer(c, units); !ok {
				return mrtr.Need(units), nil, nil
			}
			return nil, &mcp.GetPromptResult{Description: "d", Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "<x>"}}}}, fails
		}), nil))
	}
}

// tokens are the states on the wire.
var tokens = regexp.MustCompile(`"requestState":"[^"]*"`)

// own finds the id and the duration of a request in the boundary's report.
var own = regexp.MustCompile(`"(requestId":"[^"]*"|durationMs":[0-9.e-]+)`)

// A repeat gets the same bytes on the wire as the first request, whatever the outcome.
func TestRepeatsAreEqualInTheirBytes(t *testing.T) {
	require.NotEmpty(t, repeatSubjects)
	for _, bounded := range []bool{false, true} {
		for i, s := range repeatSubjects {
			t.Run(fmt.Sprintf("%s, boundary %t", s.name, bounded), func(t *testing.T) {
				play := func(opts *mrtr.Options, times int) (said []string, seen *recorder) {
					rt, seen := newRuntime(t, opts)
					server := newServer()
					name := fmt.Sprintf("mem://%d", i)
					if s.method != "resources/read" {
						name = fmt.Sprintf("subject%d", i)
					}
					s.add(rt, server, name)
					if bounded {
						require.NoError(t, boundary.Install(server, nil))
					}
					client := connect(t, server, nil)
					request := wire.Request{Method: s.method, Name: name}
					if s.method == "tools/call" {
						request.Arguments = map[string]any{}
					}
					asked, err := client.Send(t.Context(), request)
					require.NoError(t, err)
					require.Nil(t, asked.Error)
					require.Len(t, asked.Asks, 1)
					request.State = asked.State
					request.Responses = map[string]any{"units": s.answer(asked.Asks[0])}
					for range times {
						response, err := client.Exchange(t.Context(), request)
						require.NoError(t, err)
						text := string(response.Result)
						if response.Error != nil {
							text = string(mustJSON(response.Error))
						}
						said = append(said, own.ReplaceAllString(text, `"`))
					}
					return said, seen
				}
				said, seen := play(remembering(), 3)
				require.Equal(t, said[0], said[1])
				require.Equal(t, said[0], said[2])
				require.Len(t, seen.of(mrtr.RoundClaimed), 1)
				require.Len(t, seen.of(mrtr.RoundRepeated), 2)
				if isStoreForced() || s.changes {
					return
				}
				without, _ := play(&mrtr.Options{}, 1)
				require.Equal(t, tokens.ReplaceAllString(without[0], ""), tokens.ReplaceAllString(said[0], ""), "the same as without a store")
			})
		}
	}
}

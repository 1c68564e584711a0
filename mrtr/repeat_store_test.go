package mrtr_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
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
}{
	{"a typed result", "tools/call", wire.Value("metric"), typedRepeat(func(said string) (output, error) { return output{said}, nil })},
	{"a text of its own", "tools/call", wire.Value("metric"), typedRepeat(func(string) (spoken, error) { return spoken{7}, nil })},
	{"an output that reads less than it writes", "tools/call", wire.Value("metric"), typedRepeat(func(string) (oneWay, error) { return oneWay{shown: "x"}, nil })},
	{"an output without a type", "tools/call", wire.Value("metric"), typedRepeat(func(string) (any, error) {
		return map[string]any{"z": json.Number("12345678901234567890"), "a": int64(1)<<60 + 1, "f": 1e300, "h": "<&>"}, nil
	})},
	{"a nil output", "tools/call", wire.Value("metric"), typedRepeat(func(string) (*output, error) { return nil, nil })},
	{"another question", "tools/call", wire.Value("metric"), func(rt *mrtr.Runtime, server *mcp.Server, name string) {
		mcp.AddTool(server, &mcp.Tool{Name: name}, mrtr.Tool(rt, mrtr.Native(func(_ context.Context, c *mrtr.Call, _ input) (*mrtr.IncompleteResult, output, error) {
			if _, ok := mrtr.Answer(c, units); !ok {
				return mrtr.Need(units), output{}, nil
			}
			return mrtr.Need(mrtr.Confirm("sure", "Sure? <&>"), mrtr.Elicit[tripIn]("who", "Who?")).Carry("x"), output{}, nil
		}), nil))
	}},
	{"a raw result", "tools/call", wire.Value("metric"), rawRepeat(func() *mcp.CallToolResult {
		return &mcp.CallToolResult{
			Meta:              mcp.Meta{"a": 12345678901234567, "b": map[string]any{"z": 1, "a": 2}},
			Content:           []mcp.Content{&mcp.TextContent{Text: "<b>", Annotations: &mcp.Annotations{Priority: 0.1}}, &mcp.ImageContent{Data: []byte{1, 2}, MIMEType: "image/png"}, &mcp.ResourceLink{URI: "mem://x", Name: "x"}},
			StructuredContent: json.RawMessage(`{"z":1,"a":12345678901234567890,"f":1.0,"e":1e2}`),
		}
	})},
	{"a raw error result", "tools/call", wire.Value("metric"), rawRepeat(func() *mcp.CallToolResult {
		res := &mcp.CallToolResult{}
		res.SetError(&fullError{"IC 1"})
		return res
	})},
	{"no raw result", "tools/call", wire.Value("metric"), rawRepeat(func() *mcp.CallToolResult { return nil })},
	{"a prompt", "prompts/get", wire.Value("metric"), promptRepeat(nil)},
	{"an error of a prompt", "prompts/get", wire.Value("metric"), promptRepeat(&fullError{"IC 1"})},
	{"a fault of a prompt", "prompts/get", wire.Value("metric"), promptRepeat(errors.New("disk full"))},
	{"a declined prompt", "prompts/get", wire.Decline, promptRepeat(nil)},
	{"a resource", "resources/read", wire.Value("metric"), func(rt *mrtr.Runtime, server *mcp.Server, name string) {
		server.AddResource(&mcp.Resource{URI: name, Name: name}, mrtr.Resource(rt, mrtr.Native(func(_ context.Context, c *mrtr.Call, uri string) (*mrtr.IncompleteResult, *mcp.ReadResourceResult, error) {
			if _, ok := mrtr.Answer(c, units); !ok {
				return mrtr.Need(units), nil, nil
			}
			return nil, &mcp.ReadResourceResult{Meta: mcp.Meta{"a": 1.5}, Contents: []*mcp.ResourceContents{{URI: uri, Text: "<x>", MIMEType: "text/plain"}, {URI: uri, Blob: []byte{0, 1}}}}, nil
		}), nil))
	}},
	{"an error", "tools/call", wire.Value("metric"), typedRepeat(func(string) (output, error) { return output{}, errors.New("no <luck>") })},
	{"an error with hints", "tools/call", wire.Value("metric"), typedRepeat(func(string) (output, error) {
		return output{}, fmt.Errorf("booking: %w", &fullError{"IC 1"})
	})},
	{"an error of the boundary's", "tools/call", wire.Value("metric"), typedRepeat(func(string) (output, error) {
		return output{}, &boundary.Execution{Code: "E1", Hints: []string{"Try IC 2."}, Effect: "applied", Operation: "book", Expected: true, Err: errClosed}
	})},
	{"an error after an effect", "tools/call", wire.Value("metric"), func(rt *mrtr.Runtime, server *mcp.Server, name string) {
		mcp.AddTool(server, &mcp.Tool{Name: name}, mrtr.Tool(rt, mrtr.Journal(func(ctx context.Context, c *mrtr.Call, _ input) (output, error) {
			if _, err := mrtr.Ask(ctx, c, units); err != nil {
				return output{}, err
			}
			_, err := mrtr.Once(ctx, c, "pay", func(context.Context, string) (int, error) { return 1, nil })
			return output{}, errors.Join(err, errClosed)
		}), nil))
	}},
	{"a panic", "tools/call", wire.Value("metric"), typedRepeat(func(string) (output, error) { panic("ouch") })},
	{"a decline", "tools/call", wire.Decline, typedRepeat(func(said string) (output, error) { return output{said}, nil })},
	{"a cancel", "tools/call", wire.Cancel, typedRepeat(func(said string) (output, error) { return output{said}, nil })},
}

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

// own is what the boundary says of one request: its id and how long it took.
var own = regexp.MustCompile(`"(requestId":"[^"]*"|durationMs":[0-9.e-]+)`)

// A repeat gets on the wire what the first request got, whatever the round came to.
func TestRepeatsAreEqualInTheirBytes(t *testing.T) {
	require.NotEmpty(t, repeatSubjects)
	for _, bounded := range []bool{false, true} {
		for i, s := range repeatSubjects {
			t.Run(fmt.Sprintf("%s, boundary %t", s.name, bounded), func(t *testing.T) {
				opts := remembering()
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
				var first string
				for n := range 3 {
					response, err := client.Exchange(t.Context(), request)
					require.NoError(t, err)
					said := string(response.Result)
					if response.Error != nil {
						said = string(mustJSON(response.Error))
					}
					said = own.ReplaceAllString(said, `"`)
					if n == 0 {
						first = said
						continue
					}
					require.Equal(t, first, said)
				}
				require.Len(t, seen.of(mrtr.RoundClaimed), 1)
				require.Len(t, seen.of(mrtr.RoundRepeated), 2)
			})
		}
	}
}

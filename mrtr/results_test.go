package mrtr_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/store"
)

// A handler may return the same result to every call: go-sdk writes to results, and
// must get one of its own. The race detector is the judge.
func TestResultsAreNotSharedBetweenCalls(t *testing.T) {
	rt, _ := kit.NewRuntime(t, nil)
	tool := &mcp.CallToolResult{Meta: mcp.Meta{"a": 1}, Content: []mcp.Content{&mcp.TextContent{Text: "shared"}}}
	prompt := &mcp.GetPromptResult{Meta: mcp.Meta{"a": 1}, Description: "shared"}
	resource := &mcp.ReadResourceResult{Meta: mcp.Meta{"a": 1}, Contents: []*mcp.ResourceContents{{Text: "shared"}, nil}}
	resource.Contents = resource.Contents[:1]
	server := kit.NewServer()
	server.AddTool(&mcp.Tool{Name: "raw", InputSchema: map[string]any{"type": "object"}},
		rt.RawTool(mrtr.Native(func(context.Context, *mrtr.Call, json.RawMessage) (*mrtr.IncompleteResult, *mcp.CallToolResult, error) {
			return nil, tool, nil
		}), nil))
	server.AddPrompt(&mcp.Prompt{Name: "p"},
		rt.Prompt(mrtr.Native(func(context.Context, *mrtr.Call, map[string]string) (*mrtr.IncompleteResult, *mcp.GetPromptResult, error) {
			return nil, prompt, nil
		}), nil))
	server.AddResource(&mcp.Resource{Name: "r", URI: "mem://r", MIMEType: "text/plain"},
		rt.Resource(mrtr.Native(func(context.Context, *mrtr.Call, string) (*mrtr.IncompleteResult, *mcp.ReadResourceResult, error) {
			return nil, resource, nil
		}), nil))
	var wg sync.WaitGroup
	for range 4 {
		client := kit.Connect(t, server, nil)
		wg.Go(func() {
			for range 20 {
				for _, r := range []wire.Request{{Name: "raw"}, {Method: "prompts/get", Name: "p"}, {Method: "resources/read", Name: "mem://r"}} {
					reply, err := client.Send(context.Background(), r)
					if err != nil || reply.Error != nil || reply.ResultType != "complete" {
						t.Errorf("%s: %v %+v", r.Name, err, reply)
					}
				}
			}
		})
	}
	wg.Wait()
	require.Equal(t, mcp.Meta{"a": 1}, tool.Meta)
	require.Equal(t, mcp.Meta{"a": 1}, prompt.Meta)
	require.Equal(t, mcp.Meta{"a": 1}, resource.Meta)
	require.Equal(t, &mcp.ResourceContents{Text: "shared"}, resource.Contents[0])
}

// Every function of the author's that the engine runs may panic, and that ends
// one call.
func TestPanicsEndTheCallAndNothingElse(t *testing.T) {
	for where, handler := range map[string]kit.Handler{
		"in the handler": func(context.Context, *mrtr.Call, kit.Input) (*mrtr.IncompleteResult, kit.Output, error) {
			panic(kit.Canary)
		},
		"with an error": func(context.Context, *mrtr.Call, kit.Input) (*mrtr.IncompleteResult, kit.Output, error) {
			panic(errors.New(kit.Canary))
		},
		"on completion": func(_ context.Context, c *mrtr.Call, _ kit.Input) (*mrtr.IncompleteResult, kit.Output, error) {
			c.OnComplete(func(context.Context) { panic(kit.Canary) })
			return nil, kit.Output{}, nil
		},
	} {
		t.Run(where, func(t *testing.T) {
			rt, seen := kit.NewRuntime(t, nil)
			client := kit.Connect(t, kit.ServeTool(rt, handler, nil), nil)
			out := kit.Call(t, client, nil)
			require.Nil(t, out.Error)
			kit.FailsWith(t, out, "The tool failed unexpectedly.")
			require.NotContains(t, string(out.Result), kit.Canary)
			panicked := kit.PanicOf(t, seen.Of(observe.CallStopped)[0].Err)
			require.NotEmpty(t, panicked.Stack)
			require.Contains(t, panicked.ToolErrorCause(), kit.Canary)
		})
	}
	t.Run("in Principal", func(t *testing.T) {
		rt, _ := kit.NewRuntime(t, &mrtr.Options{Principal: func(context.Context, mcp.Request) (string, error) { panic(kit.Canary) }})
		out := kit.Call(t, kit.Connect(t, kit.ServeTool(rt, kit.Asking(kit.Units, kit.Itself), nil), nil), nil)
		kit.FailsWith(t, out, "The tool failed unexpectedly.")
	})
	t.Run("in a prompt", func(t *testing.T) {
		rt, _ := kit.NewRuntime(t, nil)
		server := kit.NewServer()
		server.AddPrompt(&mcp.Prompt{Name: "p"}, rt.Prompt(mrtr.Native(func(context.Context, *mrtr.Call, map[string]string) (*mrtr.IncompleteResult, *mcp.GetPromptResult, error) {
			panic(kit.Canary)
		}), nil))
		reply := kit.Send(t, kit.Connect(t, server, nil), wire.Request{Method: "prompts/get", Name: "p"})
		require.NotNil(t, reply.Error)
		require.JSONEq(t, `{"code":-32603,"message":"The tool failed unexpectedly."}`, string(kit.JSON(reply.Error)))
	})
}

// chart is an output with an image and a link beside its text.
type chart struct {
	Points int `json:"points"`
	png    []byte
}

func (c chart) Text() string { return fmt.Sprintf("%d points.", c.Points) }

func (c chart) Content() []mcp.Content {
	return []mcp.Content{
		&mcp.ImageContent{Data: c.png, MIMEType: "image/png"},
		&mcp.ResourceLink{URI: "file:///chart.csv", Name: "the points"},
		&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///note", Text: "a note"}},
	}
}

func (c chart) Meta() mcp.Meta { return mcp.Meta{"org.example/points": c.Points} }

// brokenChart has content that is nil, which is an error result.
type brokenChart struct{ chart }

func (brokenChart) Content() []mcp.Content { var none *mcp.ImageContent; return []mcp.Content{none} }

// emptyChart has content that is no content at all.
type emptyChart struct{ chart }

func (emptyChart) Content() []mcp.Content { return []mcp.Content{nil} }

// annotated has _meta and no content of its own.
type annotated struct {
	N int `json:"n"`
}

func (annotated) Meta() mcp.Meta { return annotation }

// annotation is that of all results.
var annotation = mcp.Meta{"org.example/a": true}

func TestAnOutputMayHaveContentOfItsOwn(t *testing.T) {
	rt, _ := kit.NewRuntime(t, nil)
	server := kit.ServeStyle(rt, mrtr.Native(resulting(func() chart { return chart{3, []byte("png")} })), nil)
	mcp.AddTool(server, &mcp.Tool{Name: "broken"}, mrtr.Tool(rt, mrtr.Native(resulting(func() brokenChart { return brokenChart{} })), nil))
	mcp.AddTool(server, &mcp.Tool{Name: "empty"}, mrtr.Tool(rt, mrtr.Native(resulting(func() emptyChart { return emptyChart{} })), nil))
	mcp.AddTool(server, &mcp.Tool{Name: "annotated"}, mrtr.Tool(rt, mrtr.Native(resulting(func() annotated { return annotated{7} })), nil))
	client := kit.Connect(t, server, nil)
	result := func(name string) (whole struct {
		Content []map[string]any
		Meta    map[string]any `json:"_meta"`
	}, isError bool) {
		out, err := client.Call(context.Background(), name, map[string]any{}, nil)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(out.Result, &whole))
		return whole, out.IsError
	}
	whole, isError := result("tool")
	require.False(t, isError)
	var types []any
	for _, content := range whole.Content {
		types = append(types, content["type"])
	}
	require.Equal(t, []any{"text", "image", "resource_link", "resource"}, types, "the text comes first")
	require.Equal(t, "3 points.", whole.Content[0]["text"])
	require.Equal(t, float64(3), whole.Meta["org.example/points"])

	for _, name := range []string{"broken", "empty"} {
		_, isError = result(name)
		require.True(t, isError, name)
	}

	whole, isError = result("annotated")
	require.False(t, isError)
	require.Equal(t, true, whole.Meta["org.example/a"])
	require.Equal(t, `{"n":7}`, whole.Content[0]["text"], "go-sdk makes the content that the output does not have")
	require.Len(t, annotation, 1, "go-sdk writes to a copy")
}

// resulting is a handler that asks nothing.
func resulting[T any](result func() T) mrtr.GuardedFunc[kit.Input, T] {
	return func(context.Context, *mrtr.Call, kit.Input) (*mrtr.IncompleteResult, T, error) {
		return nil, result(), nil
	}
}

// A whole result would be nested in the structured output of another.
func TestAResultIsNoOutput(t *testing.T) {
	rt, _ := kit.NewRuntime(t, nil)
	says := "which would be nested in itself"
	for _, register := range []func(){
		func() { mrtr.Tool(rt, mrtr.Native(resulting(func() *mcp.CallToolResult { return nil })), nil) },
		func() { mrtr.Tool(rt, mrtr.Native(resulting(func() (r mcp.CallToolResult) { return r })), nil) },
	} {
		func() {
			defer func() {
				usage := kit.Misuse(t, recover().(error))
				require.ErrorContains(t, usage, says)
			}()
			register()
		}()
	}
	require.NotNil(t, rt.RawTool(mrtr.Native(func(context.Context, *mrtr.Call, json.RawMessage) (*mrtr.IncompleteResult, *mcp.CallToolResult, error) {
		return nil, nil, nil
	}), nil))
}

// incomplete are the ways in which a result of go-sdk asks, as those of another server may.
var incomplete = map[string]string{
	"questions":            `{"inputRequests":{"q":{"method":"elicitation/create","params":{"message":"Sure?","requestedSchema":{"type":"object","properties":{}}}}},"requestState":"s","resultType":"input_required"}`,
	"an unmarked question": `{"inputRequests":{"q":{"method":"elicitation/create","params":{"message":"Sure?","requestedSchema":{"type":"object","properties":{}}}}}}`,
	"no questions":         `{"inputRequests":{},"requestState":"s"}`,
	"a state alone":        `{"requestState":"s"}`,
	"a mark alone":         `{"resultType":"input_required"}`,
}

// A gateway that hands on another server's questions as its result would have its client
// answer to a state that does not open. It is told so before anybody is asked.
func TestAWholeResultDoesNotAsk(t *testing.T) {
	const told = "returned a result with questions or a state"
	for explanation, text := range incomplete {
		for way, client := range map[string]*wire.Options{"modern": nil, "legacy": kit.Legacy} {
			t.Run(explanation+", "+way, func(t *testing.T) {
				rt, seen := kit.NewRuntime(t, nil)
				server := kit.NewServer()
				server.AddTool(&mcp.Tool{Name: "tool", InputSchema: map[string]any{"type": "object"}}, rt.RawTool(wholeResult[json.RawMessage, mcp.CallToolResult](t, text), nil))
				server.AddPrompt(&mcp.Prompt{Name: "p"}, rt.Prompt(wholeResult[map[string]string, mcp.GetPromptResult](t, text), nil))
				server.AddResource(&mcp.Resource{Name: "r", URI: "mem://r"}, rt.Resource(wholeResult[string, mcp.ReadResourceResult](t, text), nil))
				c := kit.Connect(t, server, client)
				kit.FailsWith(t, kit.Call(t, c, nil), "mrtr: the handler "+told+", such as that of another server: ask its questions with Need")
				for _, r := range []wire.Request{{Method: "prompts/get", Name: "p"}, {Method: "resources/read", Name: "mem://r"}} {
					reply := kit.Send(t, c, r)
					require.NotNil(t, reply.Error)
					require.Equal(t, "This tool has a fault: its server's log says more.", reply.Error.Message)
				}
				for _, e := range seen.Of(observe.CallStopped) {
					require.ErrorContains(t, e.Err, told)
				}
				require.Empty(t, c.Asked())
				require.Len(t, seen.Of(observe.CallStopped), 3)
			})
		}
	}
}

func wholeResult[In, R any](t *testing.T, text string) mrtr.Style[In, *R] {
	result := new(R)
	require.NoError(t, json.Unmarshal([]byte(text), result))
	return mrtr.Native(func(context.Context, *mrtr.Call, In) (*mrtr.IncompleteResult, *R, error) { return nil, result, nil })
}

// A read that asked is not cached: its result is for whoever answered, and its address is the
// same for everybody. One that did not ask keeps its hints.
func TestTheResultOfARetryIsNotCached(t *testing.T) {
	hints := mcp.Cacheable{TTLMs: 60_000, CacheScope: "public"}
	for _, stored := range []bool{false, true} {
		for _, bounded := range []bool{false, true} {
			o := &mrtr.Options{}
			if stored {
				o.Durable = durable.In(store.NewMemory(nil), nil)
			}
			rt, _ := kit.NewRuntime(t, o)
			server := kit.NewServer()
			if bounded {
				require.NoError(t, boundary.Install(server, &boundary.Options{Logger: slog.New(slog.DiscardHandler)}))
			}
			server.AddResource(&mcp.Resource{Name: "r", URI: "mem://r"}, rt.Resource(mrtr.Native(kit.Guarded(func(s *kit.Stage, _ string) (*mcp.ReadResourceResult, error) {
				said := kit.Ask(s, kit.Units)
				return &mcp.ReadResourceResult{Cacheable: hints, Contents: []*mcp.ResourceContents{{URI: "mem://r", Text: said}}}, nil
			})), nil))
			server.AddResource(&mcp.Resource{Name: "plain", URI: "mem://plain"}, rt.Resource(mrtr.Native(func(context.Context, *mrtr.Call, string) (*mrtr.IncompleteResult, *mcp.ReadResourceResult, error) {
				return nil, &mcp.ReadResourceResult{Cacheable: hints, Contents: []*mcp.ResourceContents{{URI: "mem://plain", Text: "x"}}}, nil
			}), nil))
			server.AddResource(&mcp.Resource{Name: "by hand", URI: "mem://hand"}, func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				if req.Params.RequestState == "" {
					return &mcp.ReadResourceResult{RequestState: "s", InputRequests: mcp.InputRequestMap{"units": &mcp.ElicitParams{Message: "Which?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)}}}, nil
				}
				return &mcp.ReadResourceResult{Cacheable: hints, Contents: []*mcp.ResourceContents{{URI: "mem://hand", Text: "x"}}}, nil
			})
			client := kit.Connect(t, server, nil)
			for uri, want := range map[string]mcp.Cacheable{"mem://r": {CacheScope: "private"}, "mem://plain": hints, "mem://hand": {CacheScope: "private"}} {
				if uri == "mem://hand" && !bounded {
					continue // it is not ours
				}
				for range 2 { // as with a store, which remembers the first
					out, err := client.Run(t.Context(), wire.Request{Method: "resources/read", Name: uri}, wire.Answers{"units": wire.Value("metric")})
					require.NoError(t, err)
					require.Nil(t, out.Error)
					var got mcp.Cacheable
					require.NoError(t, json.Unmarshal(out.Result, &got))
					require.Equal(t, want, got, uri)
				}
			}
		}
	}
}

// The first request again, with its key, gets the result that the user's answers made. It is not
// cached either.
func TestTheResultOfARepeatIsNotCached(t *testing.T) {
	rt, _ := kit.NewRuntime(t, &mrtr.Options{Durable: durable.In(store.NewMemory(nil), nil)})
	server := kit.NewServer()
	server.AddResource(&mcp.Resource{Name: "r", URI: "mem://r"}, rt.Resource(mrtr.Native(kit.Guarded(func(s *kit.Stage, _ string) (*mcp.ReadResourceResult, error) {
		said := kit.Ask(s, kit.Units)
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "mem://r", Text: said}}}, nil
	})), nil))
	client := kit.Connect(t, server, nil)
	meta := client.Meta()
	meta["idempotencyKey"] = "0123456789abcdef"
	params := map[string]any{"uri": "mem://r", "_meta": meta}
	read := func() (r mcp.ReadResourceResult) {
		out, err := client.Exchange(t.Context(), wire.Request{Method: "resources/read", Params: params})
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(out.Result, &r))
		return r
	}
	asked := read()
	params["requestState"] = asked.RequestState
	params["inputResponses"] = map[string]any{"units": json.RawMessage(`{"action":"accept","content":{"units":"metric"}}`)}
	require.Equal(t, "private", read().CacheScope)
	delete(params, "requestState")
	delete(params, "inputResponses")
	again := read()
	require.Equal(t, "metric", again.Contents[0].Text)
	require.Equal(t, "private", again.CacheScope)
}

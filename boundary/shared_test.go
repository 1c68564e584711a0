package boundary_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/judge"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/transport/mcphttp"
)

// fronts are the ways on which a result goes out. The lean one leaves unusual requests to
// the stock one, so both are tried.
var fronts = func() []transport {
	all := []transport{{"memory", openMemory}, {"lean HTTP", openFront(false)}, {"stock HTTP", openFront(true)}}
	if thorough {
		return all
	}
	return all[:2]
}()

func openFront(stock bool) func(context.Context, judge.Era, *mcp.Server) (*wire.Client, func(), error) {
	return func(ctx context.Context, era judge.Era, server *mcp.Server) (*wire.Client, func(), error) {
		handler, err := mcphttp.NewHandler(func(*http.Request) *mcp.Server { return server }, &mcphttp.HandlerOptions{StockFront: stock})
		if err != nil {
			return nil, nil, err
		}
		front := httptest.NewServer(handler)
		client, err := wire.DialHTTP(ctx, front.URL, front.Client(), era.Client())
		return client, func() { client.Close(); front.CloseClientConnections(); front.Close() }, err
	}
}

// inEveryFront opens a client in each era over each front.
func inEveryFront(t *testing.T, server *mcp.Server, f func(t *testing.T, name string, era judge.Era, client *wire.Client)) {
	for _, front := range fronts {
		for _, era := range eras {
			name := fmt.Sprintf("%s, %s", front.name, era)
			t.Run(name, func(t *testing.T) {
				client, shut, err := front.open(t.Context(), era, server)
				require.NoError(t, err)
				defer shut()
				f(t, name, era, client)
			})
		}
	}
}

// changeable are results and errors with all that a handler can change later.
func changeable() []badCase {
	meta := func() mcp.Meta {
		return mcp.Meta{"text": "a", "map": map[string]any{"b": []any{1.5}}, "raw": json.RawMessage(`"c"`), "bytes": []byte("d")}
	}
	annotations := func() *mcp.Annotations {
		return &mcp.Annotations{Audience: []mcp.Role{"user"}, Priority: 0.5, LastModified: "2026-01-02"}
	}
	size := int64(3)
	returns := func(name string, f func() *mcp.CallToolResult) badCase { return badCase{Name: name, Raw: makes(f)} }
	shows := func(name string, f func() mcp.Content) badCase {
		return returns(name, func() *mcp.CallToolResult { return content(f()) })
	}
	raises := func(name string, f func() error) badCase {
		return badCase{Name: name, Raw: func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, f() }}
	}
	return []badCase{
		shows("text", func() mcp.Content { return &mcp.TextContent{Text: "a"} }),
		shows("text_extras", func() mcp.Content {
			return &mcp.TextContent{Text: "a", Meta: meta(), Annotations: annotations()}
		}),
		shows("image", func() mcp.Content {
			return &mcp.ImageContent{Data: []byte("data"), MIMEType: "image/png", Meta: meta(), Annotations: annotations()}
		}),
		shows("audio", func() mcp.Content {
			return &mcp.AudioContent{Data: []byte("data"), MIMEType: "audio/wav", Meta: meta(), Annotations: annotations()}
		}),
		shows("link", func() mcp.Content {
			own := size
			return &mcp.ResourceLink{URI: "test://l", Name: "l", Size: &own, Icons: []mcp.Icon{{Source: "test://i", Sizes: []string{"any"}}}, Meta: meta(), Annotations: annotations()}
		}),
		shows("resource_text", func() mcp.Content {
			return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "test://r", Text: "a", Meta: meta()}, Meta: meta(), Annotations: annotations()}
		}),
		shows("resource_blob", func() mcp.Content {
			return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "test://r", Blob: []byte("data")}}
		}),
		shows("foreign", func() mcp.Content {
			own := &mcp.TextContent{Text: "a"}
			return foreign{own, own.MarshalJSON}
		}),
		returns("meta", func() *mcp.CallToolResult {
			return &mcp.CallToolResult{Content: text("a").Content, Meta: meta()}
		}),
		returns("several", func() *mcp.CallToolResult {
			return content(&mcp.TextContent{Text: "a"}, &mcp.TextContent{Text: "b"})
		}),
		returns("structured", func() *mcp.CallToolResult { return structured(map[string]any{"a": []any{"b"}}) }),
		returns("structured_raw", func() *mcp.CallToolResult { return structured(json.RawMessage(`{"a":["b"]}`)) }),
		returns("error_result", func() *mcp.CallToolResult {
			return &mcp.CallToolResult{IsError: true, Content: text("a").Content, Meta: meta()}
		}),
		returns("form", func() *mcp.CallToolResult {
			res := asking()
			res.Meta, res.RequestState = meta(), "s"
			return res
		}),
		returns("form_raw", func() *mcp.CallToolResult {
			return asks(&mcp.ElicitParams{Message: "?", Meta: meta(), RequestedSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)})
		}),
		returns("sampling", func() *mcp.CallToolResult {
			return asks(&mcp.CreateMessageWithToolsParams{
				Messages: []*mcp.SamplingMessageV2{{Role: "user", Content: []mcp.Content{&mcp.TextContent{Text: "a"},
					&mcp.ToolUseContent{ID: "u", Name: "n", Input: map[string]any{"a": "b"}}}}},
				StopSequences: []string{"a"}, Metadata: map[string]any{"a": "b"}, Meta: meta(),
				ModelPreferences: &mcp.ModelPreferences{Hints: []*mcp.ModelHint{{Name: "a"}}},
				Tools: []*mcp.Tool{{Name: "t", InputSchema: map[string]any{"type": "object"}, Meta: meta(),
					Annotations: &mcp.ToolAnnotations{Title: "a"}, Icons: []mcp.Icon{{Source: "test://i", Sizes: []string{"any"}}}}},
			})
		}),
		raises("plain_error", func() error { return &fragile{"no"} }),
		raises("execution", func() error {
			return &boundary.Execution{Message: "no", Code: "E", Operation: "o", Hints: []string{"h"}, Expected: true, Effect: "applied"}
		}),
		raises("validation", func() error {
			return &boundary.Validation{Fields: []boundary.FieldError{{Pointer: "/a", Problem: "is wrong", Hint: "h"}}, Hints: []string{"i"}}
		}),
		raises("selector", func() error {
			return &boundary.Selector{Kind: boundary.Ambiguous, Selector: "a", Candidates: []string{"b", "c"}, Hints: []string{"h"}}
		}),
		raises("protocol", func() error {
			return &boundary.Protocol{Code: -31234, Message: "no", Data: json.RawMessage(`{"a":1}`), Err: errors.New("cause")}
		}),
		raises("protocol_bare", func() error {
			return &jsonrpc.Error{Code: -31234, Message: "no", Data: json.RawMessage(`{"a":1}`)}
		}),
	}
}

// The result that goes out is the one that the handler returned at that moment, whatever
// the handler does to it later.
func TestNothingIsSharedWithTheHandler(t *testing.T) {
	t.Parallel()
	var made keeper
	var later atomic.Bool
	cases := changeable()
	s := newServer()
	for _, c := range cases {
		s.AddTool(&mcp.Tool{Name: c.Name, InputSchema: json.RawMessage(`{"type":"object"}`)}, kept(&made, c.Raw))
		s.AddPrompt(&mcp.Prompt{Name: c.Name}, kept(&made, c.prompt))
		s.AddResource(&mcp.Resource{Name: c.Name, URI: badScheme + c.Name}, kept(&made, c.resource))
	}
	require.NoError(t, boundary.Install(s, &boundary.Options{Logger: silent}))
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			if later.Load() {
				made.use(func(last any) { alter(reflect.ValueOf(&last)) })
			}
			return res, err
		}
	})
	cells := 0
	inEveryFront(t, s, func(t *testing.T, _ string, era judge.Era, client *wire.Client) {
		for _, place := range sites {
			for _, c := range cases {
				get := func() string {
					made.keep(nil)
					a := answerTo(t.Context(), client, place, c)
					require.NoError(t, a.err)
					made.use(func(last any) { require.NotNil(t, last, "the handler of %s was not called", c.Name) })
					return varies.ReplaceAllString(string(a.res.Result)+string(must(json.Marshal(a.res.Error))(t)), "")
				}
				later.Store(false)
				want := get()
				later.Store(true)
				require.Equal(t, want, get(), "%s %s", place, c.Name)
				require.NotContains(t, want, "spoiled")
				cells++
			}
		}
	})
	require.Equal(t, len(fronts)*len(eras)*len(sites)*len(changeable()), cells)
	t.Logf("%d fronts × %d eras × %d methods × %d results = %d cells", len(fronts), len(eras), len(sites), len(cases), cells)
}

// varies matches the parts of a report that differ from call to call.
var varies = regexp.MustCompile(`"requestId":"[^"]*",?|"durationMs":[0-9.]+,?`)

// A keeper keeps the result that the handler returned in the call that runs.
type keeper struct {
	mu   sync.Mutex
	last any
}

func (k *keeper) keep(v any) { k.use(func(any) { k.last = v }) }

func (k *keeper) use(f func(last any)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f(k.last)
}

func kept[Req any, Res comparable](made *keeper, h func(context.Context, Req) (Res, error)) func(context.Context, Req) (Res, error) {
	return func(ctx context.Context, req Req) (Res, error) {
		res, err := h(ctx, req)
		if err != nil {
			made.keep(err)
		} else {
			made.keep(res)
		}
		return res, err
	}
}

// alter changes everything that can be changed in a value.
func alter(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return
		}
		if v.Kind() == reflect.Interface && v.CanSet() && v.Elem().Kind() == reflect.String {
			v.Set(reflect.ValueOf("spoiled").Convert(v.Elem().Type()))
			return
		}
		alter(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				alter(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			alter(v.Index(i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			element := reflect.New(v.Type().Elem()).Elem()
			element.Set(v.MapIndex(key))
			alter(element)
			v.SetMapIndex(key, element)
			v.SetMapIndex(reflect.ValueOf("spoiled").Convert(key.Type()), element)
		}
	case reflect.String:
		if v.CanSet() {
			v.SetString("spoiled")
		}
	case reflect.Uint8:
		v.SetUint('x')
	case reflect.Int, reflect.Int64:
		if v.CanSet() {
			v.SetInt(v.Int() + 1)
		}
	case reflect.Float64:
		if v.CanSet() {
			v.SetFloat(0.25)
		}
	case reflect.Bool:
		if v.CanSet() {
			v.SetBool(!v.Bool())
		}
	}
}

// One result may be returned by many calls at once. The race detector judges.
func TestAResultMayBeShared(t *testing.T) {
	t.Parallel()
	const calls = 64
	shared := struct {
		tool     *mcp.CallToolResult
		prompt   *mcp.GetPromptResult
		resource *mcp.ReadResourceResult
	}{
		&mcp.CallToolResult{Content: append(make([]mcp.Content, 0, 4), &mcp.TextContent{Text: "a", Meta: mcp.Meta{"b": []int{1}}}), Meta: mcp.Meta{"a": []string{"b"}}},
		&mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "a"}}}, Meta: mcp.Meta{"a": []string{"b"}}},
		&mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{Text: "a", Meta: mcp.Meta{"b": []int{1}}}}, Meta: mcp.Meta{"a": []string{"b"}}},
	}
	tool := func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return shared.tool, nil }
	prompt := func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) { return shared.prompt, nil }
	resource := func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return shared.resource, nil
	}
	rt, err := mrtr.New(nil)
	require.NoError(t, err)
	defer rt.Close()
	ways := []struct {
		name string
		add  func(*mcp.Server, *mcp.Tool, *mcp.Prompt, *mcp.Resource)
	}{
		{"boundary.Unshared", func(s *mcp.Server, a *mcp.Tool, b *mcp.Prompt, c *mcp.Resource) {
			s.AddTool(a, boundary.Unshared(tool))
			s.AddPrompt(b, boundary.Unshared(prompt))
			s.AddResource(c, boundary.Unshared(resource))
		}},
		{"boundary.Handler", func(s *mcp.Server, a *mcp.Tool, _ *mcp.Prompt, _ *mcp.Resource) {
			mcp.AddTool(s, a, boundary.Handler(func(context.Context, *mcp.CallToolRequest, input) (*mcp.CallToolResult, []int, error) {
				return shared.tool, []int{1}, nil
			}, nil))
		}},
		{"mrtr", func(s *mcp.Server, a *mcp.Tool, b *mcp.Prompt, c *mcp.Resource) {
			s.AddTool(a, mrtr.RawTool(rt, mrtr.Native(func(context.Context, *mrtr.Call, json.RawMessage) (*mrtr.IncompleteResult, *mcp.CallToolResult, error) {
				return nil, shared.tool, nil
			}), nil))
			s.AddPrompt(b, mrtr.Prompt(rt, mrtr.Native(func(context.Context, *mrtr.Call, map[string]string) (*mrtr.IncompleteResult, *mcp.GetPromptResult, error) {
				return nil, shared.prompt, nil
			}), nil))
			s.AddResource(c, mrtr.Resource(rt, mrtr.Native(func(context.Context, *mrtr.Call, string) (*mrtr.IncompleteResult, *mcp.ReadResourceResult, error) {
				return nil, shared.resource, nil
			}), nil))
		}},
	}
	cells := 0
	for _, way := range ways {
		for _, guarded := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, boundary %v", way.name, guarded), func(t *testing.T) {
				s := newServer()
				name := fmt.Sprint(way.name, guarded)
				way.add(s, &mcp.Tool{Name: "t", InputSchema: json.RawMessage(`{"type":"object"}`)}, &mcp.Prompt{Name: name}, &mcp.Resource{Name: name, URI: "test://" + name})
				if guarded {
					require.NoError(t, boundary.Install(s, &boundary.Options{Logger: silent}))
				}
				requests := []wire.Request{{Name: "t", Arguments: map[string]any{}}}
				if way.name != "boundary.Handler" {
					requests = append(requests, wire.Request{Method: "prompts/get", Name: name}, wire.Request{Method: "resources/read", Name: "test://" + name})
				}
				inEveryFront(t, s, func(t *testing.T, _ string, _ judge.Era, client *wire.Client) {
					for _, request := range requests {
						answers := map[string]int{}
						var mu sync.Mutex
						var all sync.WaitGroup
						for range calls {
							all.Go(func() {
								res, err := client.Exchange(t.Context(), request)
								mu.Lock()
								defer mu.Unlock()
								if err != nil || res.Error != nil {
									answers[fmt.Sprint(err, res)]++
									return
								}
								answers[varies.ReplaceAllString(string(res.Result), "")]++
							})
						}
						all.Wait()
						require.Len(t, answers, 1, "%v", answers)
						cells++
					}
				})
			})
		}
	}
	require.Equal(t, (3+1+3)*2*len(fronts)*len(eras), cells)
	t.Logf("%d cells of %d calls at once", cells, calls)
}

package boundary_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/judge"
	"github.com/mrtr-go/sdk/internal/wire"
)

type (
	searchParams struct {
		mcp.ParamsBase
		For string `json:"for"`
	}
	searchResult struct {
		mcp.ResultBase
		Hit any `json:"hit"`
	}
	completer = func(context.Context) (*mcp.CompleteResult, error)
)

const customMethod = "test/search"

// everything is a server that serves every method. completers are its completions, by the
// argument's name, and hits the results of its custom method.
func everything(t *testing.T, completers map[string]completer, hits map[string]func(context.Context) any) *mcp.Server {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, &mcp.ServerOptions{
		Logger: silent,
		CompletionHandler: func(ctx context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			if f := completers[req.Params.Argument.Name]; f != nil {
				return f(ctx)
			}
			return &mcp.CompleteResult{}, nil
		},
		SubscribeHandler: func(_ context.Context, req *mcp.SubscribeRequest) error {
			if req.Params.URI == "test://panic" {
				panic("boom")
			}
			return nil
		},
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { runtime.Goexit(); return nil },
	})
	s.AddTool(&mcp.Tool{Name: "healthy", InputSchema: json.RawMessage(`{"type":"object","properties":{"b":{"default":1}}}`)}, returns(text("fine")))
	s.AddPrompt(&mcp.Prompt{Name: "p"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{}, nil
	})
	read := func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{Text: "fine"}}}, nil
	}
	s.AddResource(&mcp.Resource{Name: "r", URI: "test://r"}, read)
	s.AddResourceTemplate(&mcp.ResourceTemplate{Name: "r", URITemplate: "test://x/{id}"}, read)
	require.NoError(t, mcp.AddReceivingCustomMethod(s, customMethod, func(ctx context.Context, _ *mcp.ServerSession, p *searchParams) (*searchResult, error) {
		if f := hits[p.For]; f != nil { // it panics on null params
			return &searchResult{Hit: f(ctx)}, nil
		}
		return &searchResult{Hit: "fine"}, nil
	}))
	return s
}

// specificationOf is the specification of a method's results, the common one if the
// method has none of its own.
func specificationOf(t *testing.T, method string, era judge.Era) *judge.Specification {
	switch method {
	case "tools/call", "prompts/get", "resources/read", "completion/complete", "tools/list", "prompts/list", "resources/list", "resources/templates/list":
		return must(judge.SpecificationOf(method, era))(t)
	}
	return must(judge.SpecificationOf("other", era))(t)
}

// methodsOfGoSDK are the methods that a client can call, by go-sdk's own table.
func methodsOfGoSDK(t *testing.T) []string {
	file, _ := runtime.FuncForPC(reflect.ValueOf(mcp.NewServer).Pointer()).FileLine(reflect.ValueOf(mcp.NewServer).Pointer())
	source := string(must(os.ReadFile(file))(t)) + string(must(os.ReadFile(filepath.Join(filepath.Dir(file), "protocol.go")))(t))
	_, table, _ := strings.Cut(source, "var serverMethodInfos = ")
	table, _, _ = strings.Cut(table, "\n}")
	var methods []string
	for _, entry := range regexp.MustCompile(`(?m)^\t(\w+):`).FindAllStringSubmatch(table, -1) {
		value := regexp.MustCompile(`(?m)^\t` + entry[1] + `\s*=\s*"([^"]+)"`).FindStringSubmatch(source)
		require.NotNil(t, value, entry[1])
		methods = append(methods, value[1])
	}
	return methods
}

// Whatever a client sends to whichever method, it gets one well-formed answer, and the
// server lives.
func TestEveryMethodAnswersAnything(t *testing.T) {
	t.Parallel()
	methods := append(methodsOfGoSDK(t), customMethod, "no/such/method")
	require.GreaterOrEqual(t, len(methods), 20)
	params := []string{``, `null`, `[]`, `[1]`, `3`, `"x"`, `true`, `{}`, `{"_meta":null}`, `{"_meta":[]}`, `{"_meta":{}}`}
	members := []string{
		`"name":null`, `"name":3`, `"name":"healthy"`, `"name":"healthy","arguments":null`, `"name":"healthy","arguments":[]`, `"name":"p","arguments":{"a":3}`, `"name":"p"`,
		`"uri":null`, `"uri":{}`, `"uri":"test://r"`, `"uri":"test://x/1"`, `"uri":"test://panic"`,
		`"ref":null,"argument":null`, `"ref":{}`, `"ref":{"type":"no"},"argument":{"name":"a","value":"b"}`,
		`"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":"b"}`, `"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":3}`,
		`"level":null`, `"level":3`, `"level":"info"`, `"cursor":3`, `"cursor":"garbage"`, `"cursor":null`,
		`"notifications":null`, `"notifications":{}`, `"notifications":{"resourceSubscriptions":[3]}`, `"notifications":[]`,
		`"protocolVersion":null`, `"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}`, `"clientInfo":3`,
		`"requestId":null`, `"progressToken":{}`, `"inputResponses":null`, `"inputResponses":[]`, `"requestState":3`, `"for":"x"`, `"for":3`,
	}
	s := everything(t, nil, nil)
	require.NoError(t, boundary.Install(s, &boundary.Options{Logger: silent}))
	cells, results, refused := 0, 0, 0
	inEveryFront(t, s, func(t *testing.T, front string, era judge.Era, client *wire.Client) {
		meta := string(must(json.Marshal(client.Meta()))(t))
		for _, method := range methods {
			specifications := map[judge.Era]*judge.Specification{}
			for _, era := range eras {
				specifications[era] = specificationOf(t, method, era)
			}
			all := slices.Clone(params)
			for _, m := range members {
				all = append(all, `{`+m+`}`)
				if era == judge.Modern {
					all = append(all, `{`+m+`,"_meta":`+meta+`}`)
				}
			}
			for _, raw := range all {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				res, err := client.Exchange(ctx, wire.Request{Method: method, Params: json.RawMessage(raw)})
				cancel()
				cells++
				if err != nil { // go-sdk refuses the request's bytes
					require.ErrorContains(t, err, "HTTP status 40", "%s %s", method, raw)
					refused++
					continue
				}
				var wire *jsonrpc.Error
				if errors.As(res.Error, &wire) && wire.Code == 0 { // so does this, before any middleware
					if method != "notifications/cancelled" {
						require.Regexp(t, "is invalid during session initialization|^handling 'initialize': ", wire.Message, "%s %s", method, raw)
					}
					refused++
					continue
				}
				_, err = specifications[era].Judge(res)
				if err != nil && !strings.Contains(raw, mcp.MetaKeyProtocolVersion) { // a request without an era
					_, err = specifications[judge.Legacy].Judge(res)
				}
				require.NoError(t, err, "%s %s: %s", method, raw, res.Result)
				if res.Error == nil {
					results++
				}
			}
		}
		require.Zero(t, client.Surplus())
		res, err := client.Exchange(t.Context(), wire.Request{Name: "healthy", Arguments: map[string]any{}})
		require.NoError(t, err)
		require.NoError(t, res.Error)
	})
	eachEra := 2*len(params) + 3*len(members)
	require.Equal(t, len(fronts)*len(methods)*eachEra, cells)
	require.Greater(t, results, cells/20, "nearly everything was refused")
	t.Logf("%d fronts × %d methods × %d params in both eras = %d cells: %d have a result, and go-sdk refuses %d before any middleware in words of its own", len(fronts), len(methods), eachEra, cells, results, refused)
}

// Completions misbehave as tools do.
func TestCompletionsThatMisbehave(t *testing.T) {
	t.Parallel()
	var none *mcp.CompleteResult
	values := func(n int) []string { return slices.Repeat([]string{"value"}, n) }
	makes := func(f func() *mcp.CompleteResult) completer {
		return func(context.Context) (*mcp.CompleteResult, error) { return f(), nil }
	}
	fails := func(err error) completer {
		return func(context.Context) (*mcp.CompleteResult, error) { return nil, err }
	}
	details := func(d mcp.CompletionResultDetails) completer {
		return makes(func() *mcp.CompleteResult { return &mcp.CompleteResult{Completion: d} })
	}
	meta := func(v any) completer {
		return makes(func() *mcp.CompleteResult { return &mcp.CompleteResult{Meta: mcp.Meta{"x": v}} })
	}
	cases := []struct {
		name string
		f    completer
		want string // the completion, or the error's code
	}{
		{"fine", details(mcp.CompletionResultDetails{Values: []string{"a"}, Total: 7, HasMore: true}), `{"hasMore":true,"total":7,"values":["a"]}`},
		{"nil values", details(mcp.CompletionResultDetails{}), `{"values":[]}`},
		{"a hundred", details(mcp.CompletionResultDetails{Values: values(100)}), `{"values":["value"` + strings.Repeat(`,"value"`, 99) + `]}`},
		{"more than a hundred", details(mcp.CompletionResultDetails{Values: values(150)}), `{"hasMore":true,"total":150,"values":["value"` + strings.Repeat(`,"value"`, 99) + `]}`},
		{"a negative total", details(mcp.CompletionResultDetails{Total: -1}), `{"values":[]}`},
		{"not UTF-8", details(mcp.CompletionResultDetails{Values: []string{"\xff"}}), `{"values":["\ufffd"]}`},
		{"too large", details(mcp.CompletionResultDetails{Values: []string{strings.Repeat("x", 2*maxResultBytes)}}), "-32603"},
		{"nil result", makes(func() *mcp.CompleteResult { return none }), "-32603"},
		{"panic", makes(func() *mcp.CompleteResult { panic("boom") }), "-32603"},
		{"Goexit", makes(func() *mcp.CompleteResult { runtime.Goexit(); return nil }), "-32603"},
		{"error", fails(errors.New("no")), "-32603"},
		{"error that panics", fails((*fragile)(nil)), "-32603"},
		{"error without an end", fails(&endless{}), "-32603"},
		{"expected error", fails(noPlace{}), "-31000"},
		{"code", fails(fmt.Errorf("outer: %w", &jsonrpc.Error{Code: -31234, Message: "no"})), "-31234"},
		{"nil code", fails((*jsonrpc.Error)(nil)), "-32603"},
		{"function in _meta", meta(func() {}), "-32603"},
		{"channel in _meta", meta(make(chan int)), "-32603"},
		{"NaN in _meta", meta(math.NaN()), "-32603"},
		{"panic in _meta", meta(marshaler(func() ([]byte, error) { panic("boom") })), "-32603"},
		{"reserved in _meta", makes(func() *mcp.CompleteResult { return &mcp.CompleteResult{Meta: mcp.Meta{mcp.MetaKeyServerInfo: 5}} }), "-32603"},
	}
	completers := map[string]completer{}
	for _, c := range cases {
		completers[c.name] = c.f
	}
	s := everything(t, completers, nil)
	require.NoError(t, boundary.Install(s, &boundary.Options{Logger: silent, MaxResultBytes: maxResultBytes}))
	cells := 0
	inEveryFront(t, s, func(t *testing.T, _ string, era judge.Era, client *wire.Client) {
		specification := specificationOf(t, "completion/complete", era)
		for _, c := range cases {
			res, err := client.Exchange(t.Context(), wire.Request{Method: "completion/complete", Params: map[string]any{
				"_meta": client.Meta(), "ref": map[string]any{"type": "ref/prompt", "name": "p"}, "argument": map[string]any{"name": c.name, "value": "v"},
			}})
			require.NoError(t, err, c.name)
			_, err = specification.Judge(res)
			require.NoError(t, err, c.name)
			var wire *jsonrpc.Error
			if errors.As(res.Error, &wire) {
				require.Equal(t, c.want, fmt.Sprint(wire.Code), "%s: %s", c.name, wire.Message)
				require.NotContains(t, wire.Message, "boom")
			} else {
				var got struct{ Completion json.RawMessage }
				require.NoError(t, json.Unmarshal(res.Result, &got))
				require.JSONEq(t, c.want, string(got.Completion), c.name)
			}
			cells++
		}
	})
	require.Equal(t, len(fronts)*len(eras)*len(cases), cells)
	t.Logf("%d fronts × %d eras × %d completions = %d cells", len(fronts), len(eras), len(cases), cells)
}

// A listCase changes the list of a method.
type listCase struct {
	name, method string
	change       func(mcp.Result)
	want         int // items; -1 for an error
}

func (c listCase) faulty() bool {
	return c.want < 0 || c.want == 1 && c.name != "nothing" && c.name != "a nil item"
}

// An item of a list that cannot be sent costs the others nothing.
func TestListsThatCannotBeSent(t *testing.T) {
	t.Parallel()
	var cases []listCase
	item := map[string]func(r mcp.Result, meta mcp.Meta){
		"tools/list": func(r mcp.Result, meta mcp.Meta) {
			l := r.(*mcp.ListToolsResult)
			l.Tools = append(l.Tools, &mcp.Tool{Name: "bad", InputSchema: json.RawMessage(`{"type":"object"}`), Meta: meta})
		},
		"prompts/list": func(r mcp.Result, meta mcp.Meta) {
			l := r.(*mcp.ListPromptsResult)
			l.Prompts = append(l.Prompts, &mcp.Prompt{Name: "bad", Meta: meta})
		},
		"resources/list": func(r mcp.Result, meta mcp.Meta) {
			l := r.(*mcp.ListResourcesResult)
			l.Resources = append(l.Resources, &mcp.Resource{Name: "bad", URI: "test://bad", Meta: meta})
		},
		"resources/templates/list": func(r mcp.Result, meta mcp.Meta) {
			l := r.(*mcp.ListResourceTemplatesResult)
			l.ResourceTemplates = append(l.ResourceTemplates, &mcp.ResourceTemplate{Name: "bad", URITemplate: "test://bad/{a}", Meta: meta})
		},
	}
	metas := map[string]mcp.Meta{
		"a function": {"x": func() {}}, "a channel": {"x": make(chan int)}, "NaN": {"x": math.NaN()}, "text that is not UTF-8": {"x": json.RawMessage("\"\xff\"")},
		"a panic": {"x": marshaler(func() ([]byte, error) { panic("boom") })}, "a reserved key": {"progressToken": true},
	}
	for method, add := range item {
		for name, meta := range metas {
			cases = append(cases,
				listCase{name + " in an item", method, func(r mcp.Result) { add(r, meta) }, 1},
				listCase{name + " in the list", method, func(r mcp.Result) { r.SetMeta(meta) }, -1})
		}
		cases = append(cases,
			listCase{"nothing", method, func(mcp.Result) {}, 1},
			listCase{"code that runs once", method, func(r mcp.Result) { add(r, mcp.Meta{"x": twice(`1`)}) }, 2},
			listCase{"a nil item", method, func(r mcp.Result) { items(r).Set(reflect.Append(items(r), reflect.Zero(items(r).Type().Elem()))) }, 1},
			listCase{"no items", method, func(r mcp.Result) { items(r).SetZero() }, 0},
			listCase{"a scope that there is not", method, func(r mcp.Result) {
				reflect.ValueOf(r).Elem().FieldByName("CacheScope").SetString("galaxy")
			}, -1})
	}
	schema := func(v any) func(mcp.Result) {
		return func(r mcp.Result) {
			l := r.(*mcp.ListToolsResult)
			l.Tools = append(l.Tools, &mcp.Tool{Name: "bad", InputSchema: v})
		}
	}
	cases = append(cases,
		listCase{"a schema with NaN", "tools/list", schema(&jsonschema.Schema{Type: "object", Extra: map[string]any{"x": math.NaN()}}), 1},
		listCase{"a schema with a channel", "tools/list", schema(map[string]any{"type": make(chan int)}), 1},
		listCase{"a schema that panics", "tools/list", schema(marshaler(func() ([]byte, error) { panic("boom") })), 1},
		listCase{"a schema whose code exits", "tools/list", schema(marshaler(func() ([]byte, error) { runtime.Goexit(); return nil, nil })), -1},
		listCase{"a large number", "tools/list", schema(json.RawMessage(`{"type":"object","maximum":9007199254740993}`)), 2},
		listCase{"a nil argument", "prompts/list", func(r mcp.Result) {
			l := r.(*mcp.ListPromptsResult)
			l.Prompts = append(l.Prompts, &mcp.Prompt{Name: "bad", Arguments: []*mcp.PromptArgument{nil}})
		}, 1},
		listCase{"an annotation against the rules", "resources/list", func(r mcp.Result) {
			l := r.(*mcp.ListResourcesResult)
			l.Resources = append(l.Resources, &mcp.Resource{Name: "bad", URI: "test://bad", Annotations: &mcp.Annotations{Priority: 7}})
		}, 1})
	var current atomic.Pointer[listCase]
	s := everything(t, nil, nil)
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			if c := current.Load(); c != nil && c.method == method && err == nil {
				c.change(res)
			}
			return res, err
		}
	})
	var log journal
	require.NoError(t, boundary.Install(s, &boundary.Options{Logger: log.logger()}))
	cells, faults := 0, 0
	inEveryFront(t, s, func(t *testing.T, _ string, era judge.Era, client *wire.Client) {
		for _, c := range cases {
			current.Store(&c)
			res, err := client.Exchange(t.Context(), wire.Request{Method: c.method})
			require.NoError(t, err)
			outcome, err := specificationOf(t, c.method, era).Judge(res)
			require.NoError(t, err)
			cells++
			if c.faulty() {
				faults++
			}
			if c.want < 0 {
				require.Equal(t, judge.ProtocolError, outcome, "%s %s", c.method, c.name)
				continue
			}
			require.Equal(t, judge.Complete, outcome, "%s %s: %v", c.method, c.name, res.Error)
			require.Equal(t, c.want, strings.Count(string(res.Result), `"name":`)-strings.Count(string(res.Result), `"version":`), "%s %s", c.method, c.name)
			require.Equal(t, strings.Contains(c.name, "large"), strings.Contains(string(res.Result), "9007199254740993"))
		}
	})
	require.Len(t, log.records(t), faults, "each is logged, and nothing else")
	require.Equal(t, len(fronts)*len(eras)*len(cases), cells)
	t.Logf("%d fronts × %d eras × %d lists = %d cells", len(fronts), len(eras), len(cases), cells)
}

// items are those of a list.
func items(r mcp.Result) reflect.Value {
	v := reflect.ValueOf(r).Elem()
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Slice {
			return f
		}
	}
	panic("no list")
}

// Capabilities and the results of custom methods are encoded by code of the author's too.
func TestOtherResultsThatCannotBeSent(t *testing.T) {
	t.Parallel()
	hits := map[string]func(context.Context) any{
		"twice":    func(context.Context) any { return twice(`"fine"`) },
		"func":     func(context.Context) any { return func() {} },
		"NaN":      func(context.Context) any { return math.NaN() },
		"panic":    func(context.Context) any { return marshaler(func() ([]byte, error) { panic("boom") }) },
		"not text": func(context.Context) any { return json.RawMessage("\"\xff\"") },
		"thrown":   func(context.Context) any { panic("boom") },
		"exit":     func(context.Context) any { runtime.Goexit(); return nil },
	}
	s := everything(t, nil, hits)
	require.NoError(t, boundary.Install(s, &boundary.Options{Logger: silent}))
	cells := 0
	inEveryFront(t, s, func(t *testing.T, _ string, era judge.Era, client *wire.Client) {
		for name := range hits {
			res, err := client.Exchange(t.Context(), wire.Request{Method: customMethod, Params: map[string]any{"_meta": client.Meta(), "for": name}})
			require.NoError(t, err, name)
			outcome, err := specificationOf(t, customMethod, era).Judge(res)
			require.NoError(t, err, name)
			require.Equal(t, name == "twice", outcome == judge.Complete, name)
			cells++
		}
	})
	require.Equal(t, len(fronts)*len(eras)*len(hits), cells)
	for name, v := range map[string]any{"func": func() {}, "NaN": math.NaN(), "panic": marshaler(func() ([]byte, error) { panic("boom") }), "twice": twice(`{}`)} {
		s := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, &mcp.ServerOptions{Logger: silent, Capabilities: &mcp.ServerCapabilities{Experimental: map[string]any{"x": v}}})
		require.NoError(t, boundary.Install(s, &boundary.Options{Logger: silent}))
		for _, method := range []string{"initialize", "server/discover"} {
			client, shut, err := openMemory(t.Context(), judge.Modern, s)
			require.NoError(t, err)
			params := map[string]any{"_meta": client.Meta()}
			if method == "initialize" {
				params = map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "c", "version": "1"}}
			}
			res, err := client.Exchange(t.Context(), wire.Request{Method: method, Params: params})
			require.NoError(t, err, "%s %s", method, name)
			if name != "twice" || method == "initialize" { // the value runs once in all
				require.Equal(t, name == "twice", res.Error == nil, "%s %s: %v", method, name, res.Error)
			}
			shut()
			cells++
		}
	}
	t.Logf("%d cells", cells)
}

// Completions, subscriptions, custom methods and lists have the deadline of the others.
func TestOtherRequestsHaveADeadline(t *testing.T) {
	for _, era := range eras {
		synctest.Test(t, func(t *testing.T) {
			let := make(chan struct{})
			s := everything(t, map[string]completer{"a": func(context.Context) (*mcp.CompleteResult, error) { <-let; return nil, nil }},
				map[string]func(context.Context) any{"a": func(context.Context) any { <-let; return nil }})
			s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
				return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
					if method == "tools/list" {
						<-let
					}
					return next(ctx, method, req)
				}
			})
			require.NoError(t, boundary.Install(s, &boundary.Options{Logger: silent, Deadline: time.Second, LegacyDeadline: time.Second}))
			client, shut, err := openMemory(t.Context(), era, s)
			require.NoError(t, err)
			for method, params := range map[string]map[string]any{
				"completion/complete": {"ref": map[string]any{"type": "ref/prompt", "name": "p"}, "argument": map[string]any{"name": "a", "value": "v"}},
				customMethod:          {"for": "a"},
				"tools/list":          {},
			} {
				params["_meta"] = client.Meta()
				res, err := client.Exchange(t.Context(), wire.Request{Method: method, Params: params})
				require.NoError(t, err, method)
				require.ErrorContains(t, res.Error, "did not finish within 1s.", method)
			}
			close(let)
			synctest.Wait()
			shut()
		})
	}
}

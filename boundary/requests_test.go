package boundary_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

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

// everything is a server that serves every method. complete and search, if not nil, are its
// completions and its custom method.
func everything(t *testing.T, complete completer, search func(context.Context, *searchParams) any) *mcp.Server {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, &mcp.ServerOptions{
		Logger: silent,
		CompletionHandler: func(ctx context.Context, _ *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			if complete != nil {
				return complete(ctx)
			}
			return &mcp.CompleteResult{}, nil
		},
		SubscribeHandler: func(_ context.Context, req *mcp.SubscribeRequest) error {
			if req.Params.URI == "test://panic" {
				panic("s3cret")
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
		if p.For != "" && search != nil { // it panics on null params
			return &searchResult{Hit: search(ctx, p)}, nil
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
	whole := []string{``, `null`, `[]`, `[1]`, `3`, `"x"`, `true`, `{}`, `{"_meta":null}`, `{"_meta":[]}`, `{"_meta":{}}`}
	names := []string{"name", "arguments", "uri", "ref", "argument", "level", "cursor", "notifications", "protocolVersion", "capabilities", "clientInfo", "requestId", "progressToken", "inputResponses", "requestState", "for"}
	values := []string{`null`, `3`, `{}`, `[]`, `[3]`, `"x"`, `"healthy"`, `"p"`, `"test://r"`, `"test://x/1"`, `"test://panic"`, `"test://\u200b\u001b"`, `"2025-11-25"`, `{"type":"no"}`,
		`{"type":"ref/prompt","name":"p"}`, `{"name":"a","value":"b"}`, `{"name":"a","value":3}`, `{"resourceSubscriptions":[3]}`, `{"name":"c","version":"1"}`}
	s := everything(t, nil, nil)
	require.NoError(t, boundary.Install(s, &boundary.Options{Logger: silent}))
	for _, era := range eras {
		client := speak(t, era, s)
		meta := string(must(json.Marshal(client.Meta()))(t))
		results := 0
		for i := range drawn {
			m := newMaker(uint64(i), nil)
			method, raw := pick(m, methods...), pick(m, whole...)
			if !m.oneIn(4) {
				members := map[string]json.RawMessage{}
				for range m.IntN(4) {
					members[pick(m, names...)] = json.RawMessage(pick(m, values...))
				}
				if era == judge.Modern && !m.oneIn(4) {
					members["_meta"] = json.RawMessage(meta)
				}
				raw = string(must(json.Marshal(members))(t))
			}
			res, err := client.Exchange(t.Context(), wire.Request{Method: method, Params: json.RawMessage(raw)})
			require.NoError(t, err, "%s %s", method, raw)
			var wire *jsonrpc.Error
			if errors.As(res.Error, &wire) && wire.Code == 0 { // go-sdk refuses it before any middleware
				if method != "notifications/cancelled" {
					require.Regexp(t, "is invalid during session initialization|^handling 'initialize': ", wire.Message, "%s %s", method, raw)
				}
				continue
			}
			_, err = specificationOf(t, method, era).Judge(res)
			if err != nil && !strings.Contains(raw, mcp.MetaKeyProtocolVersion) { // a request without an era
				_, err = specificationOf(t, method, judge.Legacy).Judge(res)
			}
			require.NoError(t, err, "%s %s: %s", method, raw, res.Result)
			require.NotContains(t, string(res.Result)+fmt.Sprint(res.Error), "s3cret")
			if res.Error == nil {
				results++
			}
		}
		require.Zero(t, client.Surplus())
		require.Greater(t, results, drawn/20, "nearly everything was refused")
	}
}

// A completion of more values than the specification allows is cut to these, and says so.
func TestCompletionsThatAreRepaired(t *testing.T) {
	var details mcp.CompletionResultDetails
	s := everything(t, func(context.Context) (*mcp.CompleteResult, error) {
		return &mcp.CompleteResult{Completion: details}, nil
	}, nil)
	require.NoError(t, boundary.Install(s, &boundary.Options{Logger: silent, MaxResultBytes: 1024}))
	client := speak(t, judge.Modern, s)
	hundred := `["v"` + strings.Repeat(`,"v"`, 99) + `]`
	for _, tc := range []struct {
		details mcp.CompletionResultDetails
		want    string // empty: an error
	}{
		{mcp.CompletionResultDetails{}, `{"values":[]}`},
		{mcp.CompletionResultDetails{Total: -1}, `{"values":[]}`},
		{mcp.CompletionResultDetails{Values: slices.Repeat([]string{"v"}, 100)}, `{"values":` + hundred + `}`},
		{mcp.CompletionResultDetails{Values: slices.Repeat([]string{"v"}, 101)}, `{"hasMore":true,"total":101,"values":` + hundred + `}`},
		{mcp.CompletionResultDetails{Values: slices.Repeat([]string{"v"}, 101), Total: 500}, `{"hasMore":true,"total":500,"values":` + hundred + `}`},
		{mcp.CompletionResultDetails{Values: []string{strings.Repeat("v", 1024)}}, `{"values":["` + strings.Repeat("v", 1024) + `"]}`},
		{mcp.CompletionResultDetails{Values: []string{strings.Repeat("v", 1025)}}, ""},
	} {
		details = tc.details
		res, err := client.Exchange(t.Context(), completing(client, "a"))
		require.NoError(t, err)
		if tc.want == "" {
			require.ErrorContains(t, res.Error, "is larger than the 1024 bytes this server sends.")
			continue
		}
		var got struct{ Completion json.RawMessage }
		require.NoError(t, json.Unmarshal(res.Result, &got))
		require.JSONEq(t, tc.want, string(got.Completion))
	}
}

// changed is middleware that lets change see the result of every method.
func changed(change func(method string, res mcp.Result)) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			if err == nil {
				change(method, res)
			}
			return res, err
		}
	}
}

// A listDraw adds drawn items to a list. flawed are those that cannot be sent.
type listDraw struct {
	*maker
	good, flawed int
}

// adding makes an item with the maker's parts, and counts whether it can be sent.
func adding[T any](d *listDraw, to *[]*T, make func() *T) {
	for range d.IntN(4) {
		d.faults = nil
		*to = append(*to, make())
		if len(d.faults) > 0 {
			d.flawed++
		} else {
			d.good++
		}
	}
}

func (d *listDraw) change(res mcp.Result) {
	switch l := res.(type) {
	case *mcp.ListToolsResult:
		l.Tools = nil
		adding(d, &l.Tools, func() *mcp.Tool {
			schema := any(json.RawMessage(`{"type":"object","maximum":9007199254740993}`))
			if d.oneIn(2) {
				schema = map[string]any{"type": "object", "x": d.value()}
			}
			return &mcp.Tool{Name: "x", InputSchema: schema, Meta: d.meta()}
		})
	case *mcp.ListPromptsResult:
		l.Prompts = nil
		adding(d, &l.Prompts, func() *mcp.Prompt {
			p := &mcp.Prompt{Name: "x", Meta: d.meta(), Arguments: []*mcp.PromptArgument{{Name: "a"}}}
			if d.malformed(8) {
				p.Arguments = append(p.Arguments, nil)
			}
			return p
		})
	case *mcp.ListResourcesResult:
		l.Resources = nil
		adding(d, &l.Resources, func() *mcp.Resource {
			return &mcp.Resource{Name: "x", URI: "test://x", Meta: d.meta(), Annotations: d.annotations()}
		})
	case *mcp.ListResourceTemplatesResult:
		l.ResourceTemplates = nil
		adding(d, &l.ResourceTemplates, func() *mcp.ResourceTemplate {
			return &mcp.ResourceTemplate{Name: "x", URITemplate: "test://{a}", Meta: d.meta(), Annotations: d.annotations()}
		})
	}
}

// An item of a list that cannot be sent costs the others nothing, and is logged. Code that ends
// the goroutine, or hangs, costs the whole list.
func TestListsThatCannotBeSent(t *testing.T) {
	t.Parallel()
	for _, era := range eras {
		synctest.Test(t, func(t *testing.T) {
			var log journal
			var mu sync.Mutex // a list that hangs is left behind
			var d *listDraw
			release := make(chan struct{})
			s := everything(t, nil, nil)
			s.AddReceivingMiddleware(changed(func(_ string, res mcp.Result) {
				mu.Lock()
				defer mu.Unlock()
				d.change(res)
			}))
			require.NoError(t, boundary.Install(s, &boundary.Options{Logger: log.logger(), Deadline: time.Minute, LegacyDeadline: time.Minute, MaxAbandoned: 10_000, MaxAbandonedPerClient: 10_000}))
			client := speak(t, era, s)
			defer close(release)
			whole, costly := 0, 0
			for i := range drawn / 5 {
				mu.Lock()
				d = &listDraw{maker: newMaker(uint64(i), release)}
				mu.Unlock()
				method := pick(newMaker(uint64(i), nil), "tools/list", "prompts/list", "resources/list", "resources/templates/list")
				res, err := client.Exchange(t.Context(), wire.Request{Method: method})
				require.NoError(t, err)
				outcome, err := specificationOf(t, method, era).Judge(res)
				require.NoError(t, err, "%s: %s", method, res.Result)
				records := log.take(t)
				mu.Lock()
				good, flawed := d.good, d.flawed
				mu.Unlock()
				if outcome == judge.ProtocolError {
					costly++
					require.NotZero(t, flawed, "%s: %v", method, res.Error)
					continue
				}
				whole++
				require.Equal(t, good, strings.Count(string(res.Result), `"name":"x"`), "seed %d %s: %s", i, method, res.Result)
				require.Len(t, records, flawed, "seed %d %s", i, method)
				for _, r := range records {
					require.Equal(t, "ERROR", r["level"])
				}
			}
			require.Greater(t, whole, costly)
		})
	}
}

// What a list has beside its items, and a server's capabilities, are judged too: they cost the
// whole answer.
func TestResultsThatCannotBeSent(t *testing.T) {
	bad := mcp.Meta{"x": func() {}}
	capable := func(v any) func(mcp.Result) {
		return func(r mcp.Result) {
			c := &mcp.ServerCapabilities{Experimental: map[string]any{"x": v}}
			switch r := r.(type) {
			case *mcp.DiscoverResult:
				r.Capabilities = c
			case *mcp.InitializeResult:
				r.Capabilities = c
			}
		}
	}
	for _, tc := range []struct {
		methods string
		change  func(mcp.Result)
		fails   bool
	}{
		{"tools/list prompts/list resources/list resources/templates/list initialize server/discover", func(r mcp.Result) { r.SetMeta(bad) }, true},
		{"tools/list prompts/list resources/list resources/templates/list", func(r mcp.Result) { reflect.ValueOf(r).Elem().FieldByName("CacheScope").SetString("galaxy") }, true},
		{"tools/list prompts/list resources/list resources/templates/list", func(r mcp.Result) { items(r).SetZero() }, false},
		{"tools/list prompts/list resources/list resources/templates/list", func(r mcp.Result) {
			items(r).Set(reflect.Append(items(r), reflect.Zero(items(r).Type().Elem())))
		}, false},
		{"initialize server/discover", capable(func() {}), true},
		{"initialize server/discover", capable(marshaler(func() ([]byte, error) { panic("s3cret") })), true},
		{"initialize server/discover", func(r mcp.Result) { reflect.ValueOf(r).Elem().FieldByName("Capabilities").SetZero() }, true},
		{"initialize server/discover", func(r mcp.Result) { capable(twice(`{}`))(r) }, false},
	} {
		for method := range strings.FieldsSeq(tc.methods) {
			s := everything(t, nil, nil)
			s.AddReceivingMiddleware(changed(func(_ string, res mcp.Result) { tc.change(res) }))
			require.NoError(t, boundary.Install(s, &boundary.Options{Logger: silent}))
			client, shut, err := openMemory(t.Context(), judge.Modern, s)
			require.NoError(t, err)
			request, era := wire.Request{Method: method}, judge.Modern
			if method == "initialize" {
				request.Params = json.RawMessage(`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`)
				era = judge.Legacy
			}
			res, err := client.Exchange(t.Context(), request)
			require.NoError(t, err, method)
			_, err = specificationOf(t, method, era).Judge(res)
			require.NoError(t, err, method)
			require.Equal(t, tc.fails, res.Error != nil, "%s: %s %v", method, res.Result, res.Error)
			require.NotContains(t, fmt.Sprint(res.Error), "s3cret")
			shut()
		}
	}
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

// Completions, custom methods and lists have the deadline of the others.
func TestOtherRequestsHaveADeadline(t *testing.T) {
	for _, era := range eras {
		synctest.Test(t, func(t *testing.T) {
			let := make(chan struct{})
			s := everything(t, func(context.Context) (*mcp.CompleteResult, error) { <-let; return nil, nil }, func(context.Context, *searchParams) any { <-let; return nil })
			s.AddReceivingMiddleware(changed(func(method string, _ mcp.Result) {
				if method == "tools/list" {
					<-let
				}
			}))
			require.NoError(t, boundary.Install(s, &boundary.Options{Logger: silent, Deadline: time.Second, LegacyDeadline: time.Second}))
			client, shut, err := openMemory(t.Context(), era, s)
			require.NoError(t, err)
			for _, request := range []wire.Request{completing(client, "a"), {Method: customMethod, Params: map[string]any{"_meta": client.Meta(), "for": "a"}}, {Method: "tools/list"}} {
				res, err := client.Exchange(t.Context(), request)
				require.NoError(t, err, request.Method)
				require.ErrorContains(t, res.Error, "did not finish within 1s.", request.Method)
			}
			close(let)
			synctest.Wait()
			shut()
		})
	}
}

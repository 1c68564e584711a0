package mrtr_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr/internal/typed"
)

// raw is a tool's handler, and the input that its typed handler was given last.
type raw struct {
	tool *mcp.Tool
	call func(arguments json.RawMessage) (*mcp.CallToolResult, error)
	seen *[]any
}

// subject is a typed tool, as Handler and as mcp.AddTool make it.
type subject struct {
	name        string
	ours, stock func(t testing.TB) raw
	usual       string // arguments that are read from their bytes, "" if none are
}

func subjectOf[In, Out any](name, usual string, tool mcp.Tool, handle func(In) (*mcp.CallToolResult, Out, error)) subject {
	tool.Name = "tool"
	on := func(add func(*mcp.Server, mcp.ToolHandlerFor[In, Out])) func(t testing.TB) raw {
		return func(t testing.TB) raw {
			seen := &[]any{}
			server := mcp.NewServer(&mcp.Implementation{Name: "server"}, nil)
			add(server, func(_ context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
				*seen = append(*seen, in)
				return handle(in)
			})
			return served(t, server, seen)
		}
	}
	return subject{name: name, usual: usual,
		ours:  on(func(s *mcp.Server, h mcp.ToolHandlerFor[In, Out]) { s.AddTool(typed.Handler(&tool, h)) }),
		stock: on(func(s *mcp.Server, h mcp.ToolHandlerFor[In, Out]) { mcp.AddTool(s, &tool, h) })}
}

// served is the only tool of a server, without the middleware of any session.
func served(t testing.TB, server *mcp.Server, seen *[]any) raw {
	var handle mcp.MethodHandler
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		handle = next
		return next
	})
	transport, _ := mcp.NewInMemoryTransports()
	session, err := server.Connect(context.Background(), transport, nil)
	require.NoError(t, err)
	t.Cleanup(func() { session.Close() })
	listed, err := handle(context.Background(), "tools/list", &mcp.ListToolsRequest{Session: session, Params: &mcp.ListToolsParams{}})
	require.NoError(t, err)
	return raw{listed.(*mcp.ListToolsResult).Tools[0], func(arguments json.RawMessage) (*mcp.CallToolResult, error) {
		result, err := handle(context.Background(), "tools/call", &mcp.CallToolRequest{Session: session, Params: &mcp.CallToolParamsRaw{Name: "tool", Arguments: arguments}})
		res, _ := result.(*mcp.CallToolResult)
		return res, err
	}, seen}
}

type guest struct {
	Name string `json:"name"`
	Age  uint8  `json:"age,omitempty"`
}

type lodging struct {
	City   string         `json:"city"`
	Nights int            `json:"nights,omitempty"`
	Price  float32        `json:"price,omitempty"`
	Ratio  float64        `json:"ratio,omitempty"`
	Sure   *bool          `json:"sure,omitempty"`
	Guests []guest        `json:"guests,omitempty"`
	Notes  map[string]any `json:"notes,omitempty"`
	Any    any            `json:"any,omitempty"`
	Data   []byte         `json:"data,omitempty"`
	guest
}

type spelled struct {
	When time.Time       `json:"when"`
	Raw  json.RawMessage `json:"raw,omitempty"`
}

// parts has parts of every other kind.
type parts struct {
	*Room
	Kinds map[string]guest    `json:"notes,omitempty"`
	Names map[string][]string `json:"any,omitempty"`
	Next  *parts              `json:"next,omitempty"`
	Pair  [2]int8             `json:"pair,omitempty"`
	Text  int                 `json:"text,string,omitempty"`
	Until **time.Duration     `json:"until,omitempty"`
}

type Room struct {
	City string `json:"city,omitempty"`
	Area string `json:"area,omitempty"`
}

type unordered struct {
	Zone string         `json:"zone"`
	Area string         `json:"area,omitempty"`
	More map[string]any `json:"more,omitempty"`
}

type counted struct {
	Nights json.Number `json:"nights"`
}

type failing struct{}

func (failing) MarshalJSON() ([]byte, error) { return nil, errors.New("no JSON today") }

var subjects = []subject{
	subjectOf("a struct", `{"city":"Rome","name":"Bob","nights":3,"guests":[{"name":"Ada"}]}`, mcp.Tool{}, func(in lodging) (*mcp.CallToolResult, unordered, error) {
		return nil, unordered{Zone: in.City, Area: "<&>", More: in.Notes}, nil
	}),
	subjectOf("a pointer", `{"city":"Rome","name":"Bob"}`, mcp.Tool{}, func(in *lodging) (*mcp.CallToolResult, *unordered, error) {
		if in == nil || in.Nights == 1 {
			return nil, nil, nil
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "own"}}}, &unordered{Zone: in.City}, nil
	}),
	subjectOf("anything", `{"city":"Rome","nights":3}`, mcp.Tool{}, func(in any) (*mcp.CallToolResult, any, error) {
		if object, ok := in.(map[string]any); ok {
			return nil, object["any"], nil
		}
		return nil, in, nil
	}),
	subjectOf("a map", `{"city":"Rome"}`, mcp.Tool{}, func(in map[string]any) (*mcp.CallToolResult, map[string]any, error) { return nil, in, nil }),
	subjectOf("types that see the spelling", "", mcp.Tool{}, func(in spelled) (*mcp.CallToolResult, spelled, error) { return nil, in, nil }),
	subjectOf("errors", `{"city":"Rome","name":"Bob"}`, mcp.Tool{}, func(in lodging) (*mcp.CallToolResult, any, error) {
		if in.Nights == 0 {
			return &mcp.CallToolResult{StructuredContent: "dropped"}, nil, fmt.Errorf("no nights: %w", &jsonrpc.Error{Code: 7, Message: "wrapped"})
		}
		return nil, nil, &jsonrpc.Error{Code: 7, Message: "itself"}
	}),
	subjectOf("questions", `{"city":"Rome","name":"Bob"}`, mcp.Tool{}, func(in lodging) (*mcp.CallToolResult, unordered, error) {
		res := &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{}, RequestState: "state"}
		if in.Nights > 0 {
			res.Content = []mcp.Content{&mcp.TextContent{Text: "both"}}
		}
		return res, unordered{}, nil
	}),
	subjectOf("a list", "", mcp.Tool{}, func(in lodging) (*mcp.CallToolResult, []guest, error) { return nil, in.Guests, nil }),
	subjectOf("no JSON", "", mcp.Tool{OutputSchema: &jsonschema.Schema{}}, func(lodging) (*mcp.CallToolResult, failing, error) { return nil, failing{}, nil }),
	subjectOf("defaults", "", mcp.Tool{
		InputSchema:  json.RawMessage(`{"type":"object","properties":{"city":{"type":"string","default":"Oslo"},"nights":{"type":"integer"}}}`),
		OutputSchema: json.RawMessage(`{"type":"object","properties":{"zone":{"type":"string"},"area":{"type":"string","default":"north"}}}`),
	}, func(in lodging) (*mcp.CallToolResult, unordered, error) { return nil, unordered{Zone: in.City}, nil }),
	subjectOf("defaults that are spelled otherwise", "", mcp.Tool{
		InputSchema:  json.RawMessage(`{"type":"object","properties":{"city":{"d\u0065fault":"Oslo"},"nights":{"Default":3}}}`),
		OutputSchema: json.RawMessage(`{"type":"object","properties":{"area":{"d\u0065fault":"north"}}}`),
	}, func(in lodging) (*mcp.CallToolResult, any, error) { return nil, map[string]any{"zone": in.City}, nil }),
	subjectOf("numbers as they are written", "", mcp.Tool{InputSchema: map[string]any{"type": "object"}}, func(in counted) (*mcp.CallToolResult, any, error) { return nil, in, nil }),
	subjectOf("a constant that JSON would change", "", mcp.Tool{InputSchema: &jsonschema.Schema{
		Type: "object", Properties: map[string]*jsonschema.Schema{"notes": {Const: jsonschema.Ptr[any](map[string]int{"a": 1})}},
	}}, func(in map[string]any) (*mcp.CallToolResult, any, error) { return nil, in, nil }),
	subjectOf("parts of every other kind", `{"city":"Rome","next":{"pair":[1,2],"text":"7"},"notes":{"a":{"name":"Ada"}}}`, mcp.Tool{
		InputSchema: json.RawMessage(`{"type":"object"}`), OutputSchema: json.RawMessage(`{"$ref":"#/$defs/parts","type":"object","$defs":{"parts":{"properties":{"next":{"$ref":"#/$defs/parts"},"pair":{"items":{"maximum":1}}}}}}`),
	}, func(in parts) (*mcp.CallToolResult, *parts, error) { return nil, &in, nil }),
	subjectOf("objects that are closed in every place", `{"city":"Rome","any":[1]}`, mcp.Tool{InputSchema: json.RawMessage(`{
		"type":"object","additionalProperties":false,"properties":{"city":{},"name":{},"nights":{},"notes":{"additionalProperties":{"additionalProperties":false,"properties":{"city":{}}}},
			"any":{"prefixItems":[{},{"additionalProperties":false},false],"items":false},
			"guests":{"anyOf":[{"items":{"additionalProperties":false,"properties":{"name":{}}}},{"items":{"unevaluatedProperties":false,"allOf":[{"properties":{"age":{}}}]}}]}},
		"patternProperties":{"^o":{"additionalProperties":false}}}`),
	}, func(in map[string]any) (*mcp.CallToolResult, any, error) { return nil, in, nil }),
	subjectOf("a reference into what a closed object refuses", `{"city":"Rome","any":{"a":1}}`, mcp.Tool{InputSchema: json.RawMessage(`{
		"type":"object","additionalProperties":false,"properties":{"city":{},"any":{"$ref":"#/additionalProperties/not"}}}`),
	}, func(in map[string]any) (*mcp.CallToolResult, any, error) { return nil, in, nil }),
	subjectOf("an open schema", `{"City":"Rome","city":"Oslo"}`, mcp.Tool{
		InputSchema:  map[string]any{"type": "object"},
		OutputSchema: map[string]any{"type": "object", "required": []string{"area"}},
	}, func(in lodging) (*mcp.CallToolResult, unordered, error) {
		return nil, unordered{Zone: in.City, Area: strings.Repeat("a", in.Nights&1)}, nil
	}),
}

// requireAlike makes the same call in both ways.
func requireAlike(t testing.TB, s subject, ours, stock raw, arguments json.RawMessage) {
	t.Helper()
	*ours.seen, *stock.seen = nil, nil
	gotResult, gotErr := ours.call(arguments)
	wantResult, wantErr := stock.call(arguments)
	require.Equal(t, *stock.seen, *ours.seen, "%s: the input of %q", s.name, arguments)
	require.Equal(t, wordsOf(wantResult, wantErr), wordsOf(gotResult, gotErr), "%s: the answer to %q", s.name, arguments)
}

// wordsOf is an answer as it is sent. go-sdk names one of several problems, and which one
// depends on the order of a map.
func wordsOf(res *mcp.CallToolResult, err error) string {
	if err != nil {
		return fmt.Sprintf("%T %v", err, err)
	}
	if res.IsError {
		if text := res.Content[0].(*mcp.TextContent).Text; strings.HasPrefix(text, "validating") {
			return text[:10]
		}
	}
	text, err := json.Marshal(res)
	return fmt.Sprint(string(text), err)
}

func TestToolsAreDescribedAlike(t *testing.T) {
	for _, s := range subjects {
		got, err := json.Marshal(s.ours(t).tool)
		require.NoError(t, err)
		want, err := json.Marshal(s.stock(t).tool)
		require.NoError(t, err)
		require.JSONEq(t, string(want), string(got), s.name)
	}
}

// A server may change the schemas in its list, and changes no other server's.
func TestListedSchemasAreNotShared(t *testing.T) {
	type in struct {
		To string `json:"to"`
	}
	describe := func() *jsonschema.Schema {
		described, _ := typed.Handler(&mcp.Tool{Name: "travel"}, func(context.Context, *mcp.CallToolRequest, in) (*mcp.CallToolResult, in, error) {
			return nil, in{}, nil
		})
		return described.InputSchema.(*jsonschema.Schema)
	}
	describe().Properties["to"].Enum = []any{"Lisbon"}
	require.Empty(t, describe().Properties["to"].Enum)
}

// What is read from its bytes allocates less than what go-sdk reads, unless its schema refers
// to definitions.
func TestTheUsualIsReadFromItsBytes(t *testing.T) {
	usual, less := 0, 0
	for _, s := range subjects {
		if s.usual == "" {
			continue
		}
		work := func(r raw) float64 {
			return testing.AllocsPerRun(10, func() { _, _ = r.call(json.RawMessage(s.usual)) })
		}
		if usual++; work(s.ours(t)) < 0.9*work(s.stock(t)) {
			less++
		}
	}
	require.Equal(t, 10, usual)
	require.GreaterOrEqual(t, less, 8)
}

// The same calls, made in both ways, have the same input and the same answer: MRTR_CALLS of
// them, if it is set.
func TestGeneratedCallsAreAlike(t *testing.T) {
	calls := 4_000
	if n, err := strconv.Atoi(os.Getenv("MRTR_CALLS")); err == nil {
		calls = n
	}
	random := rand.New(rand.NewPCG(28, 7))
	for _, s := range subjects {
		ours, stock := s.ours(t), s.stock(t)
		for range calls / len(subjects) {
			requireAlike(t, s, ours, stock, generated(random))
		}
		for _, arguments := range seeds {
			requireAlike(t, s, ours, stock, json.RawMessage(arguments))
		}
	}
}

var seeds = []string{
	"", "{}", "[]", "1", `""`, `{"city":null}`, `{"city":"a","city":"b"}`, `{"City":"a"}`,
	`{"city":"a","guests":[{"name":"x"}],"guests":[{"age":1}]}`, `{"notes":{"a":1},"notes":{"b":2}}`, `{"notes":{"a":1}}`,
	`{"nights":1.0}`, `{"nights":1e2}`, `{"nights":-0}`, `{"nights":9007199254740993}`, `{"nights":123456789012345678901234567890}`, `{"any":1e400}`,
	`{"price":0.1,"ratio":0.30000000000000004}`, `{"ratio":-0.0}`, `{"ratio":0.0000001}`, `{"any":0.0000001}`,
	`{"city":"\ud800"}`, `{"city":"\ud83d\ude00"}`, "{\"city\":\"\xff\"}", `{"c\u0069ty":"a"}`, `{"city":"\u0000"}`, "{\"city\":\"\u2028<>&\"}",
	`{"sure":null,"guests":null,"notes":null,"any":null,"data":null}`, `{"data":"aGk="}`, `{"data":"!"}`, `{"guests":[{"name":"x","age":256}]}`,
	`{"city":"a","any":{"a":["b"]},"notes":{"a":{"name":"x"}},"next":{"city":"b","next":{"pair":[1,2]}},"text":"7","until":"1h"}`, `{"pair":[1]}`, `{"pair":[1,2,3]}`, `{"text":"\u0037"}`, `{"until":"1\u0068"}`, `{"any":[1,{"a":1},2]}`, `{"guests":[7]}`,
	`{"when":"2026-01-02T03:04:05Z","raw":{ "b":1, "a":2 }}`, `{"when":"x"}`, ` { "city" : "a" } `, `{"name":"n","age":3}`,
}

// generated are random arguments, most of them near those that the subjects take.
func generated(random *rand.Rand) json.RawMessage {
	var b strings.Builder
	var value func(depth int)
	pick := func(from []string) string { return from[random.IntN(len(from))] }
	scalars := []string{`"Rome"`, `"<&>"`, `""`, "1", "0", "-3", "2.5", "0.1", "1.0", "300", "1e2", "9007199254740993", "true", "false", "null", `"\u00e9"`, `"\n"`, `"aGk="`, `"2026-01-02T03:04:05Z"`}
	names := []string{"city", "nights", "price", "ratio", "sure", "guests", "notes", "any", "data", "name", "age", "when", "raw", "next", "pair", "text", "until", "City", "other", `n\u0061me`}
	value = func(depth int) {
		switch n := random.IntN(10); {
		case depth > 0 && (n < 6 || depth > 4):
			b.WriteString(pick(scalars))
		case n == 6:
			b.WriteString("[")
			for i := range random.IntN(4) {
				if i > 0 {
					b.WriteString(",")
				}
				value(depth + 1)
			}
			b.WriteString("]")
		default:
			b.WriteString("{")
			for i := range random.IntN(5) {
				if i > 0 {
					b.WriteString(", ")
				}
				fmt.Fprintf(&b, `"%s":`, pick(names))
				value(depth + 1)
			}
			b.WriteString("}")
		}
	}
	if random.IntN(3) > 0 { // arguments that fit, with a member of any kind
		fmt.Fprintf(&b, `{"city":%s,"name":"n","nights":%s,`, pick(scalars[:3]), pick(scalars[3:9]))
		fmt.Fprintf(&b, `"%s":`, pick(names))
		value(1)
		b.WriteString("}")
	} else {
		value(0)
	}
	return json.RawMessage(b.String())
}

func FuzzAlike(f *testing.F) {
	for _, arguments := range seeds {
		f.Add(arguments)
	}
	ours, stock := make([]raw, len(subjects)), make([]raw, len(subjects))
	for i, s := range subjects {
		ours[i], stock[i] = s.ours(f), s.stock(f)
	}
	f.Fuzz(func(t *testing.T, arguments string) {
		if arguments != "" && !json.Valid([]byte(arguments)) {
			return // a request with such arguments is not decoded
		}
		for i, s := range subjects {
			if strings.HasPrefix(s.name, "defaults") && strings.TrimSpace(arguments) == "null" {
				continue // see TestNullArguments
			}
			requireAlike(t, s, ours[i], stock[i], json.RawMessage(arguments))
		}
	})
}

// go-sdk v1.8.0 panics as it fills defaults into arguments that are null, which any client may
// send. Here they count as left out.
func TestNullArguments(t *testing.T) {
	for _, s := range subjects {
		ours, stock := s.ours(t), s.stock(t)
		if !strings.HasPrefix(s.name, "defaults") {
			requireAlike(t, s, ours, stock, json.RawMessage("null"))
			continue
		}
		require.Panics(t, func() { _, _ = stock.call(json.RawMessage("null")) }, "go-sdk is fixed: compare the two")
		for _, null := range []string{"null", " null\n"} {
			res, err := ours.call(json.RawMessage(null))
			require.NoError(t, err)
			require.JSONEq(t, `{"zone":"Oslo","area":"north"}`, string(res.StructuredContent.(json.RawMessage)))
		}
	}
}

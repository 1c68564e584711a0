package mrtr_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/mrtr/steps"
)

var (
	visitPage   = mrtr.ElicitURL("visit", "Please log in.", "https://example.org/login")
	sample      = mrtr.Sample("sample", &mcp.CreateMessageWithToolsParams{MaxTokens: 10, Messages: []*mcp.SamplingMessageV2{{Role: "user", Content: []mcp.Content{&mcp.TextContent{Text: "hi"}}}}})
	sampleTools = mrtr.Sample("sample", &mcp.CreateMessageWithToolsParams{MaxTokens: 10, Tools: []*mcp.Tool{{Name: "t", InputSchema: json.RawMessage(`{"type":"object"}`)}}})
	roots       = mrtr.Roots("roots")
)

const (
	needsForm  = `{"elicitation":{"form":{}}}`
	needsURL   = `{"elicitation":{"url":{}}}`
	needsModel = `{"sampling":{}}`
	needsTools = `{"sampling":{"tools":{}}}`
	needsRoots = `{"roots":{}}`
)

var gates = []struct {
	explanation  string
	question     mrtr.AnyQuestion
	capabilities wire.Capabilities
	required     string // "" if it may be asked
}{
	{"nothing declared", kit.Units, wire.Nothing, needsForm},
	{"url is not form", kit.Units, wire.URLOnly, needsForm},
	{"form", kit.Units, wire.FormOnly, ""},
	{"elicitation without saying which is form", kit.Units, `{"elicitation":{}}`, ""},
	{"elicitation without saying which is not url", visitPage, `{"elicitation":{}}`, needsURL},
	{"nothing declared, url", visitPage, wire.Nothing, needsURL},
	{"form is not url", visitPage, wire.FormOnly, needsURL},
	{"url", visitPage, wire.URLOnly, ""},
	{"no sampling", sample, wire.FormOnly, needsModel},
	{"sampling", sample, `{"sampling":{}}`, ""},
	{"sampling without tools", sampleTools, `{"sampling":{}}`, needsTools},
	{"sampling with tools", sampleTools, `{"sampling":{"tools":{}}}`, ""},
	{"no roots", roots, wire.FormOnly, needsRoots},
	{"roots", roots, `{"roots":{}}`, ""},
}

func TestNobodyIsAskedWhatTheyDidNotDeclare(t *testing.T) {
	for _, gate := range gates {
		t.Run(gate.explanation, func(t *testing.T) {
			rt, seen := kit.NewRuntime(t, nil)
			handler := func(context.Context, *mrtr.Call, kit.Input) (*mrtr.IncompleteResult, kit.Output, error) {
				return mrtr.Need(gate.question), kit.Output{}, nil
			}
			client := kit.Connect(t, kit.ServeTool(rt, handler, nil), &wire.Options{Capabilities: gate.capabilities})
			reply := kit.Send(t, client, wire.Request{Name: "tool"})
			if gate.required == "" {
				require.Nil(t, reply.Error)
				require.Len(t, reply.Asks, 1)
				return
			}
			kit.RefusedWith(t, reply.Error, -32021)
			require.JSONEq(t, `{"requiredCapabilities":`+gate.required+`}`, string(reply.Error.Data))
			require.Empty(t, seen.Of(observe.QuestionsAsked))
		})
	}
}

// chargingSteps is the same tool in steps, which know by themselves which capabilities they
// always ask.
func chargingSteps(charge func()) mrtr.Style[kit.Input, kit.Output] {
	var b steps.List[kit.Input, kit.Output]
	steps.Do(&b, "charge", func(context.Context, *steps.At[kit.Input], string) (bool, error) { charge(); return true, nil })
	unit := steps.Always(&b, kit.Units)
	b.End(func(_ context.Context, at *steps.At[kit.Input]) (kit.Output, error) {
		return kit.Output{Said: unit.Of(at)}, nil
	})
	return b.MustBuild()
}

// Where a default stands in, nobody is refused.
func TestNeedsHeedDefaultsAndEras(t *testing.T) {
	withDefault := &mrtr.HandlerOptions{Legacy: mrtr.LegacyNever, Unaskable: mrtr.UnaskableLegacyDefaults, Needs: []mrtr.AnyQuestion{kit.Units.Default("metric")}}
	rt, _ := kit.NewRuntime(t, nil)
	server := kit.ServeTool(rt, kit.Asking(kit.Units.Default("metric"), kit.Itself), withDefault)
	kit.Said(t, kit.Call(t, kit.Connect(t, server, kit.LegacyMute), nil), "metric")
	kit.Said(t, kit.Call(t, kit.Connect(t, server, kit.Legacy), nil), "metric")
	require.EqualValues(t, -32021, kit.Call(t, kit.Connect(t, server, &wire.Options{Capabilities: wire.Nothing}), nil).Error.Code)

	// The questions that the steps for one era always ask are not needs of the other.
	silent := mrtr.Native(func(context.Context, *mrtr.Call, kit.Input) (*mrtr.IncompleteResult, kit.Output, error) {
		return nil, kit.Output{Said: "x"}, nil
	})
	steps := chargingSteps(func() {})
	for explanation, style := range map[string]mrtr.Style[kit.Input, kit.Output]{"steps": mrtr.ByVersion(silent, steps), "steps in steps": mrtr.ByVersion(silent, mrtr.ByVersion(silent, steps))} {
		rt, _ = kit.NewRuntime(t, nil)
		server = kit.NewServer()
		mcp.AddTool(server, &mcp.Tool{Name: "tool"}, mrtr.Tool(rt, style, nil))
		kit.Said(t, kit.Call(t, kit.Connect(t, server, &wire.Options{Capabilities: wire.Nothing}), nil), "x")
		require.Equal(t, noForm, kit.Call(t, kit.Connect(t, server, kit.LegacyMute), nil).Text, explanation)
	}
}

// A question in Needs that refuses nobody is a mistake.
func TestNeedsThatDoNothingAreRefused(t *testing.T) {
	rt, _ := kit.NewRuntime(t, nil)
	for want, q := range map[string]mrtr.AnyQuestion{
		"mrtr: HandlerOptions.Needs has a question that is Known: nobody is asked it":                         mrtr.Known("x"),
		`mrtr: HandlerOptions.Needs has question "sure", which goes on without an answer: it refuses nobody`:  mrtr.Confirm("sure", "Sure?"),
		`mrtr: HandlerOptions.Needs has question "units", which goes on without an answer: it refuses nobody`: mrtr.Optional(kit.Units),
		"mrtr: a question is nil":                  nil,
		`mrtr: question "q": its message is empty`: mrtr.Elicit[string]("q", ""),
	} {
		require.PanicsWithError(t, want, func() {
			mrtr.Tool(rt, mrtr.Native(kit.Asking(kit.Units, kit.Itself)), &mrtr.HandlerOptions{Needs: []mrtr.AnyQuestion{q}})
		})
	}
}

// listed are the tools that a client is shown, page by page.
func listed(t testing.TB, client *wire.Client, pages int) (names []string) {
	t.Helper()
	cursor := ""
	for range pages {
		params := map[string]any{"cursor": cursor}
		if meta := client.Meta(); meta != nil {
			params["_meta"] = meta
		}
		if cursor == "" {
			delete(params, "cursor")
		}
		reply := kit.Send(t, client, wire.Request{Method: "tools/list", Params: params})
		require.Nil(t, reply.Error)
		var list struct {
			Tools                  []struct{ Name string }
			NextCursor, CacheScope string
		}
		require.NoError(t, json.Unmarshal(reply.Result, &list))
		require.Contains(t, string(reply.Result), `"tools":[`)
		require.NotEqual(t, "public", list.CacheScope, "nobody may show it to another client")
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
		}
		cursor = list.NextCursor
	}
	require.Empty(t, cursor)
	return names
}

// keepingLists is middleware that gives everybody the list that it made first.
func keepingLists() mcp.Middleware {
	kept := map[string]mcp.Result{}
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			list, ok := req.(*mcp.ListToolsRequest)
			if !ok || list.Params == nil {
				return next(ctx, method, req)
			}
			if kept[list.Params.Cursor] == nil {
				res, err := next(ctx, method, req)
				if err != nil {
					return nil, err
				}
				kept[list.Params.Cursor] = res
			}
			return kept[list.Params.Cursor], nil
		}
	}
}

func TestToolsThatCannotBeUsedAreNotOffered(t *testing.T) {
	rt, seen := kit.NewRuntime(t, &mrtr.Options{Narrow: byName})
	server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, &mcp.ServerOptions{PageSize: 1})
	add := func(name string, style mrtr.Style[kit.Input, kit.Output], opts *mrtr.HandlerOptions) {
		mcp.AddTool(server, &mcp.Tool{Name: name}, mrtr.Tool(rt, style, opts))
	}
	native := mrtr.Native(kit.Asking(kit.Units, kit.Itself))
	always := []mrtr.AnyQuestion{kit.Units}
	add("a.needs", native, &mrtr.HandlerOptions{Name: "a.needs", Needs: always})
	add("b.may.ask", native, &mrtr.HandlerOptions{Name: "b.may.ask"})
	add("c.has.default", native, &mrtr.HandlerOptions{Name: "c.has.default", Unaskable: mrtr.UnaskableDefaults, Needs: []mrtr.AnyQuestion{kit.Units.Default("metric")}})
	add("d.nameless", native, &mrtr.HandlerOptions{Needs: always})
	add("e.steps", chargingSteps(func() {}), &mrtr.HandlerOptions{Name: "e.steps"})
	add("f.twice", native, &mrtr.HandlerOptions{Name: "f.twice", Audience: "own"})
	mrtr.Tool(rt, native, &mrtr.HandlerOptions{Name: "f.twice", Needs: always, Audience: "other"})
	all := []string{"a.needs", "b.may.ask", "c.has.default", "d.nameless", "e.steps", "f.twice"}
	usable := []string{"b.may.ask", "c.has.default", "d.nameless", "f.twice"}
	server.AddReceivingMiddleware(keepingLists())
	rt.HideUnaskable(server)

	for _, c := range []struct {
		explanation string
		client      *wire.Options
		want        []string
		reason      string
	}{
		{"a modern client of forms", nil, all, ""},
		{"one that declares nothing", &wire.Options{Capabilities: wire.Nothing}, usable, needsForm},
		{"a legacy client of forms", kit.Legacy, all, ""},
		{"one that declares nothing", kit.LegacyMute, usable, noForm},
		{"one that was negotiated down", kit.NegotiatedDown, usable, noStream},
		{"one that is known to show no forms", &wire.Options{Name: "shows no forms"}, usable, needsForm},
		{"the first again", nil, all, ""},
	} {
		t.Run(fmt.Sprintf("%s/%v", c.explanation, c.client), func(t *testing.T) {
			before := len(seen.Of(observe.ToolHidden))
			client := kit.Connect(t, server, c.client)
			require.Equal(t, c.want, listed(t, client, len(all)))
			hidden := seen.Of(observe.ToolHidden)[before:]
			require.Len(t, hidden, len(all)-len(c.want))
			for i, e := range hidden {
				require.Equal(t, []string{"a.needs", "e.steps"}[i], e.Name)
				require.Contains(t, e.Reason, c.reason)
				require.NotEmpty(t, e.Client)
			}
			if c.reason == needsForm { // it is there, and refuses as it does without a list
				kit.RefusedWith(t, kit.Send(t, client, wire.Request{Name: "a.needs"}).Error, -32021)
			}
		})
	}
	prompt := mrtr.Native(func(context.Context, *mrtr.Call, map[string]string) (*mrtr.IncompleteResult, *mcp.GetPromptResult, error) {
		return nil, nil, nil
	})
	require.NotPanics(t, func() { rt.Prompt(prompt, nil) })
	require.Panics(t, func() { rt.Prompt(prompt, &mrtr.HandlerOptions{Name: "x"}) })
}

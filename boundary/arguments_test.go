package boundary_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
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
)

// The tests of package shape have the keywords. The result and its report say all problems,
// and never a value. A client that gets very much wrong learns of some of it, and how much more
// there is.
func TestArguments(t *testing.T) {
	s := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, &mcp.ServerOptions{Logger: silent, PageSize: 1})
	for _, other := range []string{"a", "b", "c"} {
		mcp.AddTool(s, &mcp.Tool{Name: other}, outputs("fine"))
	}
	var many strings.Builder
	var first []string
	for i := range 1000 {
		fmt.Fprintf(&many, `"argument_%04d":{},`, i)
		if i < 20 {
			first = append(first, fmt.Sprintf("argument_%04d", i))
		}
	}
	many.WriteString(`"z":{}`)
	const sentIt = ", though Some Agent 1 sent it"
	for name, schema := range map[string]string{
		"trip":    `{"type":"object","required":["place","days"],"properties":{"place":{"type":"string","pattern":"^[A-Z]"},"days":{"type":"integer","maximum":7}}}`,
		"tag":     `{"type":"object","properties":{"tag":{"type":"string","default":"x"}},"minProperties":1}`,
		"many":    `{"type":"object","properties":{` + many.String() + `}}`,
		"shut":    `{"type":"object","additionalProperties":false}`,
		"free":    `{"type":"object"}`,
		"open":    `{"type":"object","properties":{"a":{}},"additionalProperties":true}`,
		"dialect": `{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"a":{"type":"string"}}}`,
	} {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(schema)}, returns(text("fine")))
	}
	type numbers struct {
		At    time.Time `json:"at,omitzero"`
		Small int8      `json:"small,omitempty"`
		Big   int64     `json:"big,omitempty"`
		Count uint64    `json:"count,omitempty"`
		Ratio float32   `json:"ratio,omitempty"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "numbers"}, func(context.Context, *mcp.CallToolRequest, numbers) (*mcp.CallToolResult, any, error) {
		return text("fine"), nil, nil
	})
	session := connect(t, s, nil)
	_, report := callTool(t, session, "tag", json.RawMessage(`{`+many.String()+`,"tag":1}`))
	require.Len(t, report.Fields, 50)
	require.Equal(t, boundary.FieldError{Problem: "have 952 more names that are not arguments of this tool"}, report.Fields[0])
	require.Len(t, report.Hints, 10)
	for _, tc := range []struct {
		tool, args string
		want       []string // "pointer problem"; empty if accepted
		hint       string
	}{
		{tool: "trip", args: `{"place":"Lisbon","days":2}`},
		{tool: "trip", args: `{}`, want: []string{"/days is required", "/place is required"}},
		{tool: "trip", args: `{"place":"s3cret","days":99}`, want: []string{"/days must be at most 7", "/place must match the pattern ^[A-Z]"}},
		{tool: "trip", args: `{"plaec":"s3cret","place":"Lisbon","days":1}`, want: []string{"/plaec is not an argument of this tool, though Some Agent 1 sent it"}, hint: `Did you mean "place"? Valid arguments: days, place.`},
		{tool: "trip", args: `"s3cret"`, want: []string{" must be a JSON object"}},
		{tool: "tag", args: `{}`}, // the default counts
		{tool: "free", args: `{"b":1}`},
		{tool: "open", args: `{"b":1}`},
		{tool: "tag", args: `{"s":1}`, want: []string{"/s is not an argument of this tool" + sentIt}, hint: "Valid arguments: tag."},
		{tool: "tag", args: `{"s":1,"tag":2,"s":3}`, want: []string{"/s is not an argument of this tool" + sentIt, "/tag must be a string, not an integer"}, hint: "Valid arguments: tag."},
		{tool: "shut", args: `{"s":1}`, want: []string{"/s is not an argument of this tool" + sentIt}, hint: "This tool takes no arguments."},
		{tool: "many", args: `{"argument_1000":1}`, want: []string{"/argument_1000 is not an argument of this tool" + sentIt}, hint: `Did you mean "argument_0000"? Valid arguments: ` + strings.Join(first, ", ") + ", and 981 more."},
		{tool: "tag", args: `{"wait_for_previous":true}`, want: []string{"/wait_for_previous is not an argument of this tool"}, hint: `"wait_for_previous" is a scheduling flag of the agent's own runtime and was sent to the tool by mistake, by Some Agent 1: leave it out.`},
		{tool: "dialect", args: `{"a":1}`}, // a schema that cannot be judged by
		// go-sdk alone refuses these, in Go's words and with their values.
		{tool: "numbers", args: `{"at":"s3cret"}`, want: []string{"/at must be a time such as 2006-01-02T15:04:05Z"}},
		{tool: "numbers", args: `{"small":300}`, want: []string{"/small must be at most 127"}},
		{tool: "numbers", args: `{"big":1e30}`, want: []string{"/big must be an integer from -9223372036854775808 to 9223372036854775807"}},
		{tool: "numbers", args: `{"count":99999999999999999999}`, want: []string{"/count must be an integer from 0 to 18446744073709551615"}},
		{tool: "numbers", args: `{"ratio":1e300}`, want: []string{"/ratio must be a number that is not so large"}},
	} {
		res, report := callTool(t, session, tc.tool, json.RawMessage(tc.args))
		require.Equal(t, len(tc.want) > 0, res.IsError, tc.args)
		if !res.IsError {
			continue
		}
		var got []string
		for _, f := range report.Fields {
			got = append(got, f.Pointer+" "+f.Problem)
		}
		require.Equal(t, tc.want, got)
		require.Equal(t, "validation", report.Type)
		require.Empty(t, report.Effect)
		require.NotContains(t, strings.Join(texts(res), "\n"), "s3cret")
		if tc.hint != "" {
			require.Equal(t, []string{tc.hint}, report.Hints)
			require.Equal(t, tc.hint, texts(res)[len(res.Content)-1])
		}
	}
}

// A client's name for itself is cut and, unless it is plain, quoted.
func TestAClientsNameIsDisplayed(t *testing.T) {
	s := newServer()
	mcp.AddTool(s, &mcp.Tool{Name: "t"}, outputs("fine"))
	require.NoError(t, boundary.Install(s, &boundary.Options{Logger: silent}))
	for name, want := range map[string]string{
		strings.Repeat("x", 64): strings.Repeat("x", 64) + " 1", strings.Repeat("x", 65): strings.Repeat("x", 64) + "... 1",
		" An-Agent_0.9/z ": "An-Agent_0.9/z 1", "\x1b[31m": `"\x1b[31m" 1`, "é": `"é" 1`,
	} {
		_, report := callTool(t, dialAs(t, s, name, "", nil), "t", map[string]any{"none": 1})
		require.Equal(t, "is not an argument of this tool, though "+want+" sent it", report.Fields[0].Problem)
	}
}

// The list is read once a second for calls that it passes, and the last one is used while the
// server fails to list its tools.
func TestTheListIsReadOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lists, failing := 0, false
		s := newServer()
		mcp.AddTool(s, &mcp.Tool{Name: "t"}, outputs("fine"))
		listing(s, func(_ *mcp.ListToolsRequest, list *mcp.ListToolsResult) (*mcp.ListToolsResult, error) {
			if lists++; failing {
				return nil, errors.New("rate limited")
			}
			return list, nil
		})
		session := connect(t, s, nil)
		for _, tc := range []struct {
			later   time.Duration
			failing bool
			args    map[string]any
			lists   int
		}{{0, false, nil, 1}, {0, false, nil, 1}, {999 * time.Millisecond, false, nil, 1}, {time.Millisecond, false, nil, 2}, {0, false, map[string]any{"none": 1}, 3}, {time.Hour, true, map[string]any{"none": 1}, 5}, {0, true, nil, 6}} {
			time.Sleep(tc.later)
			failing = tc.failing
			res, _ := callTool(t, session, "t", tc.args)
			require.Equal(t, tc.args != nil, res.IsError)
			require.Equal(t, tc.lists, lists)
		}
	})
}

// Tools added after Install, and tools replaced under their name, are judged by
// their current definition: a remembered one never refuses a call.
func TestToolsChange(t *testing.T) {
	s := newServer()
	session := connect(t, s, nil)
	add := func(schema string, output any, res *mcp.CallToolResult) {
		s.AddTool(&mcp.Tool{Name: "t", InputSchema: json.RawMessage(schema), OutputSchema: output}, returns(res))
	}
	call := func(args string) *mcp.CallToolResult {
		res, _ := callTool(t, session, "t", json.RawMessage(args))
		return res
	}
	add(`{"type":"object","properties":{"a":{"type":"string"}}}`, nil, text("fine"))
	require.False(t, call(`{"a":"x"}`).IsError)
	add(`{"type":"object","properties":{"a":{"type":"integer"},"b":{}}}`, celsius, structured(map[string]any{"celsius": 1}))
	require.False(t, call(`{"a":1,"b":2}`).IsError, "judged by the schema of a tool that is gone")
	require.True(t, call(`{"a":"x"}`).IsError)
	// It promises no output any more, so that its text is cut.
	add(`{"type":"object"}`, nil, text(strings.Repeat("x", 2<<20)))
	res := call(`{}`)
	require.False(t, res.IsError)
	require.Contains(t, texts(res)[0], "bytes of this text were cut.]")
}

// asker connects a client that can be asked and leaves the rounds to the test.
func asker(t *testing.T, s *mcp.Server, version string) *mcp.ClientSession {
	t.Helper()
	return dialAs(t, s, "c", version, &mcp.ClientOptions{
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"units": "metric"}}, nil
		}})
}

// A request of a modern revision gets a resultType in a legacy session too.
func TestResultTypeFollowsTheRequest(t *testing.T) {
	s := newServer()
	mcp.AddTool(s, &mcp.Tool{Name: "t"}, outputs("fine"))
	require.NoError(t, boundary.Install(s, &boundary.Options{Logger: silent}))
	modern := mcp.Meta{mcp.MetaKeyProtocolVersion: "2026-07-28", mcp.MetaKeyClientInfo: map[string]any{"name": "c", "version": "1"}, mcp.MetaKeyClientCapabilities: map[string]any{}}
	for _, meta := range []mcp.Meta{nil, modern} {
		res := must(asker(t, s, "2025-11-25").CallTool(t.Context(), &mcp.CallToolParams{Name: "t", Meta: meta}))(t)
		require.Equal(t, meta != nil, strings.Contains(string(must(json.Marshal(res))(t)), `"resultType":"complete"`))
	}
}

// A legacy client is not shown an output schema that describes no object, for which a
// strict one refuses the whole list, and gets such an output as text.
func TestOutputsThatLegacyClientsDoNotKnow(t *testing.T) {
	s := newServer()
	s.AddTool(&mcp.Tool{Name: "array", InputSchema: &jsonschema.Schema{Type: "object"}, OutputSchema: json.RawMessage(`{"type":"array"}`)}, returns(&mcp.CallToolResult{StructuredContent: []int{1}}))
	s.AddTool(&mcp.Tool{Name: "object", InputSchema: &jsonschema.Schema{Type: "object"}, OutputSchema: celsius}, returns(structured(map[string]any{"celsius": 1})))
	require.NoError(t, boundary.Install(s, &boundary.Options{Logger: silent}))
	for _, tc := range []struct {
		version string
		shown   bool
	}{{"2025-11-25", false}, {"2026-07-28", true}} {
		session := asker(t, s, tc.version)
		list := must(session.ListTools(t.Context(), nil))(t)
		require.Len(t, list.Tools, 2)
		require.Equal(t, tc.shown, list.Tools[0].OutputSchema != nil, tc.version)
		require.NotNil(t, list.Tools[1].OutputSchema)
		res, _ := callTool(t, session, "array", nil)
		require.Equal(t, tc.shown, res.StructuredContent != nil)
		require.Equal(t, tc.shown, len(res.Content) == 0)
		if !tc.shown {
			require.Equal(t, []string{"[1]"}, texts(res))
		}
		res, _ = callTool(t, session, "object", nil)
		require.NotNil(t, res.StructuredContent)
	}
}

// listing adds middleware that changes the answer to tools/list.
func listing(s *mcp.Server, change func(*mcp.ListToolsRequest, *mcp.ListToolsResult) (*mcp.ListToolsResult, error)) {
	around(s, func(ctx context.Context, next mcp.MethodHandler, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		request, ok := req.(*mcp.ListToolsRequest)
		if !ok {
			return res, err
		}
		list, _ := res.(*mcp.ListToolsResult) // nil for a cursor that is none of go-sdk's
		if list, err = change(request, list); err != nil || list == nil {
			return nil, err
		}
		return list, nil
	})
}

// denying offers no destructive tools.
func denying(log *journal) *boundary.Options {
	return &boundary.Options{Logger: log.logger(), Deny: []boundary.Tier{boundary.Destructive}}
}

// While a tier is denied, only tools known to be of another tier run.
func TestTheGateFailsShut(t *testing.T) {
	page := 0
	for explanation, list := range map[string]func() (*mcp.ListToolsResult, error){
		"a rate limiter refuses the list": func() (*mcp.ListToolsResult, error) { return nil, errors.New("rate limited") },
		"middleware answers with nothing": func() (*mcp.ListToolsResult, error) { return nil, nil },
		"the pages go in a circle":        func() (*mcp.ListToolsResult, error) { return &mcp.ListToolsResult{NextCursor: "again"}, nil },
		"the pages never end": func() (*mcp.ListToolsResult, error) {
			page++
			return &mcp.ListToolsResult{NextCursor: strconv.Itoa(page)}, nil
		},
		"a filter hides the tool, which is then unknown": func() (*mcp.ListToolsResult, error) { return &mcp.ListToolsResult{Tools: []*mcp.Tool{nil}}, nil },
	} {
		var log journal
		s := newServer()
		mcp.AddTool(s, &mcp.Tool{Name: "wipe"}, typed(makes(func() *mcp.CallToolResult { t.Error(explanation); return nil })))
		listing(s, func(*mcp.ListToolsRequest, *mcp.ListToolsResult) (*mcp.ListToolsResult, error) { return list() })
		session := connect(t, s, denying(&log))
		if strings.Contains(explanation, "unknown") {
			require.Equal(t, refusal(t, dial(t, newServer()), "wipe"), refusal(t, session, "wipe"), "as go-sdk says it without a boundary")
			continue
		}
		_, report := callTool(t, session, "wipe", nil)
		require.Equal(t, "denied", report.Type)
		require.Empty(t, report.Effect)
		records := log.take(t)
		last := records[len(records)-1]
		require.Equal(t, "ERROR", last["level"], "an operator must mend the list")
		require.Contains(t, last["cause"], "tools/list")
	}
	require.Equal(t, 1000, page)
}

// refusal is the JSON of the protocol error that a call ends in.
func refusal(t *testing.T, session *mcp.ClientSession, name string) string {
	t.Helper()
	_, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name})
	var wire *jsonrpc.Error
	require.ErrorAs(t, err, &wire)
	return string(must(json.Marshal(wire))(t))
}

// Tools of a denied tier are neither listed nor run. A list that was read while the tool was
// harmless does not pass it later.
func TestTiers(t *testing.T) {
	var log journal
	var ran, refuse atomic.Bool
	s := newServer()
	runs := func(context.Context, *mcp.CallToolRequest, input) (*mcp.CallToolResult, any, error) {
		ran.Store(true)
		return text("fine"), nil, nil
	}
	no, yes := false, true
	for name, a := range map[string]*mcp.ToolAnnotations{
		"reads": {ReadOnlyHint: true}, "writes": {DestructiveHint: &no}, "destroys": {DestructiveHint: &yes}, "unsaid": nil, "unsaid_too": {},
	} {
		mcp.AddTool(s, &mcp.Tool{Name: name, Annotations: a}, runs)
	}
	listing(s, func(_ *mcp.ListToolsRequest, list *mcp.ListToolsResult) (*mcp.ListToolsResult, error) {
		if refuse.Load() {
			return nil, errors.New("rate limited")
		}
		return list, nil
	})
	session := connect(t, s, denying(&log))
	var names []string
	for _, tool := range must(session.ListTools(t.Context(), nil))(t).Tools {
		names = append(names, tool.Name)
	}
	require.Equal(t, []string{"reads", "writes"}, names)
	for _, name := range []string{"destroys", "unsaid", "unsaid_too"} {
		res, report := callTool(t, session, name, nil)
		require.True(t, res.IsError)
		require.Equal(t, "denied", report.Type)
		require.Empty(t, report.Effect)
	}
	require.False(t, ran.Load())
	records := log.take(t)
	require.Len(t, records, 3, "a refusal is audited")
	require.Equal(t, "denied", records[0]["type"])
	require.NotContains(t, refusal(t, session, "destroy"), "destroys", "a suggestion")
	require.Contains(t, refusal(t, session, "write"), "writes")

	for _, name := range []string{"reads", "writes"} {
		res, _ := callTool(t, session, name, nil)
		require.False(t, res.IsError)
		ran.Store(false)
		mcp.AddTool(s, &mcp.Tool{Name: name}, runs)
		refuse.Store(name == "writes")
		_, report := callTool(t, session, name, nil)
		require.Equal(t, "denied", report.Type, "a tool that was replaced by a more dangerous one")
		require.False(t, ran.Load())
	}
}

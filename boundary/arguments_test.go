package boundary_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
)

var tripSchema = json.RawMessage(`{
	"type": "object", "additionalProperties": false, "required": ["place", "days"],
	"properties": {
		"place": {"type": "string", "minLength": 2, "maxLength": 20, "pattern": "^[A-Z]"},
		"days": {"type": "integer", "minimum": 1, "maximum": 7},
		"units": {"enum": ["metric", "imperial"]},
		"stops": {"type": "array", "maxItems": 2, "uniqueItems": true, "items": {"$ref": "#/$defs/stop"}},
		"budget": {"anyOf": [{"type": "number"}, {"type": "null"}]}
	},
	"$defs": {"stop": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}}
}`)

func TestArguments(t *testing.T) {
	s := newServer()
	s.AddTool(&mcp.Tool{Name: "trip", InputSchema: tripSchema}, returns(text("fine")))
	s.AddTool(&mcp.Tool{Name: "open", InputSchema: json.RawMessage(`{"type":"object"}`)}, returns(text("fine")))
	s.AddTool(&mcp.Tool{Name: "more", InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{}},"additionalProperties":true}`)}, returns(text("fine")))
	s.AddTool(&mcp.Tool{Name: "mute", InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{}}}`)}, returns(text("fine")))
	s.AddTool(&mcp.Tool{Name: "defaults", InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","default":"x"}}}`)}, returns(text("fine")))
	s.AddTool(&mcp.Tool{Name: "dialect", InputSchema: json.RawMessage(`{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"a":{"type":"string"}}}`)}, returns(text("fine")))
	session := connect(t, s, nil)
	for _, tc := range []struct {
		tool, args string
		want       []string // "pointer problem"; empty if accepted
		hint       string
	}{
		{tool: "trip", args: `{"place":"Lisbon","days":2,"units":"metric","stops":[{"name":"a"}],"budget":null}`},
		{tool: "trip", args: `{}`, want: []string{"/days is required", "/place is required"}},
		{tool: "trip", args: `{"place":"s3cret","days":99}`, want: []string{"/days must be at most 7", "/place must match the pattern ^[A-Z]"}},
		{tool: "trip", args: `{"place":3,"days":1.5}`, want: []string{"/days must be an integer, not a number", "/place must be a string, not an integer"}},
		{tool: "trip", args: `{"place":"S","days":1,"units":"s3cret"}`, want: []string{"/place must have at least 2 characters", `/units must be one of "metric", "imperial"`}},
		{tool: "trip", args: `{"place":"Lisbon","days":1,"stops":[{"name":1},{},{}]}`, want: []string{"/stops must have at most 2 items", "/stops must not have the same item twice", "/stops/0/name must be a string, not an integer", "/stops/1/name is required", "/stops/2/name is required"}},
		{tool: "trip", args: `{"place":"Lisbon","days":1,"budget":"s3cret"}`, want: []string{"/budget must fit one of the allowed forms"}},
		{tool: "trip", args: `{"plaec":"s3cret","place":"Lisbon","days":1}`, want: []string{"/plaec is not an argument of this tool, though Some Agent 1 sent it"}, hint: `Did you mean "place"? Valid arguments: budget, days, place, stops, units.`},
		{tool: "trip", args: `{"wait_for_previous":true,"place":"Lisbon","days":1}`, want: []string{"/wait_for_previous is not an argument of this tool"}, hint: `"wait_for_previous" is a scheduling flag of the agent's own runtime and was sent to the tool by mistake, by Some Agent 1: leave it out.`},
		{tool: "trip", args: `{"a/b~c":1,"place":"Lisbon","days":1}`, want: []string{"/a~1b~0c is not an argument of this tool, though Some Agent 1 sent it"}, hint: "Valid arguments: budget, days, place, stops, units."},
		{tool: "trip", args: `"s3cret"`, want: []string{" must be a JSON object"}},
		{tool: "open", args: `{"anything":1}`},
		{tool: "more", args: `{"b":1}`},
		{tool: "mute", args: `{"b":1}`, want: []string{"/b is not an argument of this tool, though Some Agent 1 sent it"}, hint: "Valid arguments: a."},
		{tool: "defaults", args: `{}`},
		{tool: "dialect", args: `{"a":1}`},
	} {
		for range 3 { // the same every time
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
}

// Tools added after Install, and tools replaced under their name, are judged by
// their current definition: a remembered one never refuses a call.
func TestToolsChange(t *testing.T) {
	s := newServer()
	session := connect(t, s, nil)
	add := func(schema string) {
		s.AddTool(&mcp.Tool{Name: "t", InputSchema: json.RawMessage(schema)}, returns(text("fine")))
	}
	add(`{"type":"object","properties":{"a":{"type":"string"}}}`)
	res, _ := callTool(t, session, "t", map[string]any{"a": "x"})
	require.False(t, res.IsError)
	add(`{"type":"object","properties":{"a":{"type":"integer"},"b":{}}}`)
	res, _ = callTool(t, session, "t", map[string]any{"a": 1, "b": 2})
	require.False(t, res.IsError, "judged by the schema of a tool that is gone")
	res, _ = callTool(t, session, "t", map[string]any{"a": "x"})
	require.True(t, res.IsError)
}

// The boundary rebuilds results field by field, so a field that go-sdk adds needs a
// look.
func TestResultHasTheKnownFields(t *testing.T) {
	require.ElementsMatch(t, []string{"Meta", "Content", "StructuredContent", "IsError", "InputRequests", "RequestState"}, boundary.ResultFields())
}

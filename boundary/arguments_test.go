package boundary_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
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
		{tool: "trip", args: `{"plaec":"s3cret","place":"Lisbon","days":1}`, want: []string{"/plaec is not an argument of this tool, though Some Agent sent it"}, hint: `Did you mean "place"? Valid arguments: budget, days, place, stops, units.`},
		{tool: "trip", args: `{"wait_for_previous":true,"place":"Lisbon","days":1}`, want: []string{"/wait_for_previous is not an argument of this tool"}, hint: `"wait_for_previous" is a scheduling flag of the agent's own runtime and was sent to the tool by mistake: leave it out.`},
		{tool: "trip", args: `{"a/b~c":1,"place":"Lisbon","days":1}`, want: []string{"/a~1b~0c is not an argument of this tool, though Some Agent sent it"}, hint: "Valid arguments: budget, days, place, stops, units."},
		{tool: "trip", args: `"s3cret"`, want: []string{" must be a JSON object"}},
		{tool: "open", args: `{"anything":1}`},
		{tool: "more", args: `{"b":1}`},
		{tool: "mute", args: `{"b":1}`, want: []string{"/b is not an argument of this tool, though Some Agent sent it"}, hint: "Valid arguments: a."},
		{tool: "defaults", args: `{}`},
		{tool: "dialect", args: `{"a":1}`},
	} {
		for range 3 { // the same every time
			res, face := callTool(t, session, tc.tool, json.RawMessage(tc.args))
			require.Equal(t, len(tc.want) > 0, res.IsError, tc.args)
			if !res.IsError {
				continue
			}
			var got []string
			for _, f := range face.Fields {
				got = append(got, f.Pointer+" "+f.Problem)
			}
			require.Equal(t, tc.want, got)
			require.Equal(t, "validation", face.Type)
			require.Empty(t, face.Effect)
			require.NotContains(t, strings.Join(texts(res), "\n"), "s3cret")
			if tc.hint != "" {
				require.Equal(t, []string{tc.hint}, face.Hints)
				require.Equal(t, tc.hint, texts(res)[len(res.Content)-1])
			}
		}
	}
}

// Tools added after Install, and those replaced under their name, are judged by
// what they are now: a remembered definition never fails a call.
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

// The quick way to accept must accept nothing that the validator does not.
func FuzzPlainSchemasAgree(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"type":"string","enum":["x"]}},"required":["a"],"additionalProperties":false}`, `{"a":"x"}`)
	f.Add(`{"type":"object","properties":{"a":{"type":["null","integer"]},"b":{"type":"array","items":{"type":"number"}}}}`, `{"a":null,"b":[1,2.5]}`)
	f.Add(`{"type":"object","properties":{"a":{"minimum":1}}}`, `{"a":0}`)
	f.Add(`{"type":"object","properties":{"a":{"type":"boolean"},"b":{"type":"object","properties":{"c":{"type":"integer"}},"required":["c"]}},"required":["a","b"]}`, ` { "a" : true, "b":{"c":-1}, "a":false } `)
	f.Add(string(tripSchema), `{"place":"Lisbon","days":1}`)
	f.Fuzz(func(t *testing.T, schema, args string) {
		var parsed *jsonschema.Schema
		if json.Unmarshal([]byte(schema), &parsed) != nil || parsed == nil {
			return
		}
		var value map[string]any
		err := json.Unmarshal([]byte(args), &value)
		decoded, scanned, resolved := boundary.PlainAccepts(parsed, value, []byte(args))
		if resolved == nil || value == nil && !scanned {
			return
		}
		if scanned {
			if parsed.Type != "object" {
				return // the arguments are an object, or the SDK has refused the tool
			}
			require.NoError(t, err, "accepted what is no JSON object")
		}
		if (decoded || scanned) && err == nil {
			require.NoError(t, resolved.Validate(value))
		}
	})
}

// Results are made anew, field by field: one that the SDK adds must be looked at.
func TestResultHasTheKnownFields(t *testing.T) {
	require.ElementsMatch(t, []string{"Meta", "Content", "StructuredContent", "IsError", "InputRequests", "RequestState"}, boundary.ResultFields())
}

// Common arguments must be accepted as they came: otherwise each call decodes
// them once more.
func TestCommonArgumentsAreNotDecoded(t *testing.T) {
	schema, err := jsonschema.For[struct {
		Place string   `json:"place"`
		Days  int      `json:"days,omitempty"`
		Tags  []string `json:"tags,omitempty"`
	}](nil)
	require.NoError(t, err)
	for args, want := range map[string]bool{
		`{"place":"Lisbon","days":3}`:           true,
		` { "place" : "São Paulo", "days":-3 }`: true,
		`{"place":"a","tags":["b","c"]}`:        true,
		`{"days":3}`:                            false,
		`{"place":3}`:                           false,
		`{"place":"a","days":1.5}`:              false,
		`{"place":"a","more":1}`:                false,
		`{"place":"a"`:                          false,
		`{"place":"a"}}`:                        false,
		`{"place":"a",}`:                        false,
		`{"place":"a\n"}`:                       false,
	} {
		_, scanned, _ := boundary.PlainAccepts(schema, nil, []byte(args))
		require.Equal(t, want, scanned, args)
	}
}

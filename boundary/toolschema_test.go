package boundary_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary/internal/toolschema"
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

func compile(t *testing.T, schema string) *toolschema.Schema {
	t.Helper()
	s, err := toolschema.Compile(json.RawMessage(schema))
	require.NoError(t, err)
	return s
}

func TestArgumentsAgainstASchema(t *testing.T) {
	const tags = `{"type":"object","properties":{"tag":{"type":"string"}}}`
	for _, tc := range []struct {
		explanation, schema, args string
		want                      []string // "pointer problem"
		hint                      string
	}{
		{explanation: "all of it fits", schema: string(tripSchema), args: `{"place":"Lisbon","days":2,"units":"metric","stops":[{"name":"a"}],"budget":null}`},
		{explanation: "absent arguments are an empty object", schema: tags},
		{explanation: "and so is null", schema: tags, args: `null`},
		{explanation: "defaults are filled in first", schema: `{"type":"object","properties":{"a":{"type":"string","default":"x"}},"minProperties":1}`, args: `{}`},
		{explanation: "an open schema takes any name", schema: `{"type":"object","properties":{"a":{}},"additionalProperties":true}`, args: `{"b":1}`},
		{explanation: "a schema without names takes any name", schema: `{"type":"object"}`, args: `{"b":1}`},
		{"every problem, sorted", string(tripSchema), `{"place":"s3cret","days":99}`, []string{"/days must be at most 7", "/place must match the pattern ^[A-Z]"}, ""},
		{"a wrong type hides the other keywords", string(tripSchema), `{"place":3,"days":1.5}`, []string{"/days must be an integer, not a number", "/place must be a string, not an integer"}, ""},
		{"lengths and choices", string(tripSchema), `{"place":"S","days":1,"units":"s3cret"}`, []string{"/place must have at least 2 characters", `/units must be one of "metric", "imperial"`}, ""},
		{"too many items, one of them twice", string(tripSchema), `{"place":"Li","days":1,"stops":[{"name":"a"},{"name":"b"},{"name":"b"}]}`, []string{"/stops must have at most 2 items", "/stops must not have the same item twice"}, ""},
		{"within items, by reference", string(tripSchema), `{"place":"Li","days":1,"stops":[{"name":1},{}]}`, []string{"/stops/0/name must be a string, not an integer", "/stops/1/name is required"}, ""},
		{"alternatives", string(tripSchema), `{"place":"Li","days":1,"budget":"s3cret"}`, []string{"/budget must fit one of the allowed forms"}, ""},
		{"a misspelled name", tags, `{"tagg":"s3cret"}`, []string{"/tagg is not an argument of this tool, though Some Agent sent it"}, `Did you mean "tag"? Valid arguments: tag.`},
		{"a name that is like none", tags, `{"s":1}`, []string{"/s is not an argument of this tool, though Some Agent sent it"}, "Valid arguments: tag."},
		{"a tool without arguments", `{"type":"object","additionalProperties":false}`, `{"s":1}`, []string{"/s is not an argument of this tool, though Some Agent sent it"}, "This tool takes no arguments."},
		{"a scheduling flag is nobody's argument", tags, `{"wait_for_previous":true}`, []string{"/wait_for_previous is not an argument of this tool"}, `"wait_for_previous" is a scheduling flag of the agent's own runtime and was sent to the tool by mistake, by Some Agent: leave it out.`},
		{"a name cannot speak to the model", tags, `{"a\n\u001b[31m\u202e\u2028\ufeff\udb40\udc41\\":1}`, []string{`/a\u000a\u001b[31m\u202e\u2028\ufeff\U000e0041\ is not an argument of this tool, though Some Agent sent it`}, "Valid arguments: tag."},
		{"nor can one within", `{"type":"object","properties":{"a":{"type":"object","additionalProperties":false}}}`, `{"a":{"\n\u202e":1}}`, []string{`/a/\u000a\u202e is not a known member`}, ""},
		{"a pointer escapes its names, and cuts long ones", tags, `{"a/b~c":1,"` + strings.Repeat("x", 70) + `":1}`, []string{"/a~1b~0c is not an argument of this tool, though Some Agent sent it", "/" + strings.Repeat("x", 64) + "... is not an argument of this tool, though Some Agent sent it"}, "Valid arguments: tag."},
		{"not an object", tags, `"s3cret"`, []string{" must be a JSON object"}, ""},
		{"not JSON", tags, `{"tag":`, []string{" must be a JSON object"}, ""},
		{"a problem that no keyword explains", `{"type":"object","properties":{"a":{"$ref":"#/properties/b"},"b":{"type":"string"}}}`, `{"a":1}`, []string{" do not satisfy the tool's input schema"}, ""},
	} {
		t.Run(tc.explanation, func(t *testing.T) {
			s := compile(t, tc.schema)
			for range 3 { // the same every time
				var got []string
				for _, f := range s.Arguments(t.Context(), json.RawMessage(tc.args), func() string { return "Some Agent" }) {
					got = append(got, f.Pointer+" "+f.Problem)
					require.Equal(t, tc.hint, f.Hint)
					require.NotContains(t, f.Problem+f.Hint, "s3cret")
				}
				require.Equal(t, tc.want, got)
			}
		})
	}
	require.Equal(t, "is not an argument of this tool", compile(t, tags).Arguments(t.Context(), json.RawMessage(`{"b":1}`), nil)[0].Problem)
}

func TestOutputAgainstASchema(t *testing.T) {
	s := compile(t, `{"type":"object","properties":{"celsius":{"type":"number"}},"required":["celsius"]}`)
	for _, tc := range []struct {
		raw string
		err string
	}{
		{`{"celsius":1}`, ""},
		{`{"celsius":1e1,"more":"\u00e9"}`, ""},
		{``, "there is none"},
		{`{"celsius":"cold"}`, "celsius"},
		{`{"celsius":`, "unexpected end of JSON input"},
		{`null`, "type"},
	} {
		err := s.Output(json.RawMessage(tc.raw))
		if tc.err == "" {
			require.NoError(t, err, tc.raw)
		} else {
			require.ErrorContains(t, err, tc.err, tc.raw)
		}
	}
}

func TestSchemasThatAreRefused(t *testing.T) {
	type self map[string]any
	loop := self{}
	loop["loop"] = loop
	for _, tc := range []struct {
		explanation string
		schema      any
	}{
		{"no schema", nil},
		{"a nil schema", (*jsonschema.Schema)(nil)},
		{"an unknown dialect", json.RawMessage(`{"$schema":"http://json-schema.org/draft-04/schema#"}`)},
		{"not a schema", "a string"},
		{"a value that does not marshal", loop},
		{"a pattern that does not compile", &jsonschema.Schema{Pattern: "("}},
		{"a value whose marshalling panics", panicking{}},
	} {
		_, err := toolschema.Compile(tc.schema)
		require.Error(t, err, tc.explanation)
	}
}

type panicking struct{}

func (panicking) MarshalJSON() ([]byte, error) { panic("boom") }

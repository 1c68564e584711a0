package toolschema

import (
	"encoding/json"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"
)

// Common arguments must be accepted from their bytes: otherwise each call decodes
// them once more.
func TestCommonArgumentsAreNotDecoded(t *testing.T) {
	type place struct {
		Place string   `json:"place"`
		Days  int      `json:"days,omitempty"`
		Hot   float64  `json:"hot,omitempty"`
		Tags  []string `json:"tags,omitempty"`
		Dry   bool     `json:"dry,omitempty"`
		Near  *string  `json:"near,omitempty"`
	}
	source, err := jsonschema.For[place](nil)
	require.NoError(t, err)
	source.Properties["tags"].Type, source.Properties["tags"].Types = "array", nil
	schema, err := Compile(source)
	require.NoError(t, err)
	for _, tc := range []struct {
		args string
		want bool
	}{
		{`{"place":"Lisbon","days":3}`, true},
		{` { "place" : "São Paulo", "days":-3 }`, true},
		{`{"place":"a","tags":["b","c"]}`, true},
		{`{"place":"a","tags":[]}`, true},
		{`{"place":"a\n\"b\""}`, true},
		{`{"place":"a","hot":-21.50,"dry":true,"near":null}`, true},
		{`{"place":"a","hot":3,"dry":false,"near":"b"}`, true},
		{`{"days":3}`, false},
		{`{}`, false},
		{`{"place":3}`, false},
		{`{"place":null}`, false},
		{`{"place":"a","dry":"true"}`, false},
		{`{"place":"a","days":1.5}`, false},
		{`{"place":"a","days":1.0}`, false},
		{`{"place":"a","days":01}`, false},
		{`{"place":"a","days":-}`, false},
		{`{"place":"a","days":1234567890123456}`, false},
		{`{"place":"a","hot":1.}`, false},
		{`{"place":"a","hot":1e3}`, false},
		{`{"place":"a","hot":1.5e3}`, false},
		{`{"place":"a","more":1}`, false},
		{`{"place":"a"`, false},
		{`{"place":"a"}}`, false},
		{`{"place":"a",}`, false},
		{`{"place":"a" "days":1}`, false},
		{`{"place":"a\u00e9"}`, false},
		{`{"place":"a\x"}`, false},
		{`{"place":"a\`, false},
		{"{\"place\":\"a\nb\"}", false},
		{`{"place":"a","tags":["b",]}`, false},
		{`{"place":"a","tags":["b",1]}`, false},
		{`{"pl\\ace":"a","place":"b"}`, false},
	} {
		require.Equal(t, tc.want, schema.quick.accepts([]byte(tc.args)), tc.args)
	}
}

// An enum is compared as bytes, which an escape would make ambiguous.
func TestQuickEnums(t *testing.T) {
	schema, err := Compile(json.RawMessage(`{"enum":["a\\n","b"]}`))
	require.NoError(t, err)
	require.True(t, schema.quick.accepts([]byte(`"b"`)))
	require.False(t, schema.quick.accepts([]byte(`"a\n"`)), "a line feed is not a backslash and an n")
	require.False(t, schema.quick.accepts([]byte(`1`)))
}

// The quick way to accept must accept nothing that the library refuses.
func FuzzQuickAgreesWithTheLibrary(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"type":"string","enum":["x"]}},"required":["a"],"additionalProperties":false}`, `{"a":"x"}`)
	f.Add(`{"type":"object","properties":{"a":{"type":["null","integer"]},"b":{"type":"array","items":{"type":"number"}}}}`, `{"a":null,"b":[1,2.5]}`)
	f.Add(`{"type":"object","properties":{"a":{"minimum":1}}}`, `{"a":0}`)
	f.Add(`{"type":"object","properties":{"a":{"type":"boolean"},"b":{"type":"object","properties":{"c":{"type":"integer"}},"required":["c"]}},"required":["a","b"]}`, ` { "a" : true, "b":{"c":-1}, "a":false } `)
	f.Add(`{"properties":{"a":{},"b":{"enum":["x\\n"]}},"required":["a","a"]}`, `{"a":-0.50,"b":"x\n"}`)
	f.Add(`{"enum":["x"]}`, `"x"`)
	f.Add(`{"enum":[]}`, `"x"`)
	f.Add(`{"type":["string","null"]}`, `"a\"b\\"`)
	f.Add(string(trip), `{"place":"Lisbon","days":1}`)
	f.Fuzz(func(t *testing.T, schema, data string) {
		s, err := Compile(json.RawMessage(schema))
		if err != nil || !s.quick.accepts([]byte(data)) {
			return
		}
		var value any
		require.NoError(t, json.Unmarshal([]byte(data), &value), "accepted, and is not JSON")
		require.NoError(t, s.resolved.Validate(value))
	})
}

package internal_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/shape"
)

// A drawer draws schemas, and texts that often satisfy them.
type drawer struct{ *rand.Rand }

func (d drawer) one(of ...string) string { return of[d.IntN(len(of))] }
func (d drawer) in(n int) bool           { return d.IntN(n) == 0 }

func (d drawer) name() string { return d.one("a", "b", "c", "é") }

func (d drawer) schemas(depth, least int) []any {
	var all []any
	for range least + d.IntN(3) {
		all = append(all, d.schema(depth))
	}
	return all
}

func (d drawer) named(depth int) map[string]any {
	all := map[string]any{}
	for range d.IntN(4) {
		all[d.name()] = d.schema(depth)
	}
	return all
}

// schema has one to four keywords.
func (d drawer) schema(depth int) any {
	if depth == 0 || d.in(12) {
		return []any{true, true, map[string]any{"type": d.kind()}, map[string]any{"$ref": d.one("#/$defs/leaf", "#/$defs/node", "#/$defs/node/items")}, false}[d.IntN(5)]
	}
	s := map[string]any{}
	if d.in(2) {
		s["type"] = d.kind()
	}
	for range 1 + d.IntN(4) {
		keyword := d.keyword()
		s[keyword] = d.operand(keyword, depth-1)
	}
	return s
}

func (d drawer) kind() any {
	kinds := []string{"object", "array", "string", "integer", "number", "boolean", "null"}
	if d.in(5) {
		i := d.IntN(len(kinds) - 1)
		return kinds[i : i+2]
	}
	return d.one(kinds...)
}

func (d drawer) keyword() string {
	return d.one("enum", "const", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "pattern",
		"prefixItems", "items", "minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains", "unevaluatedItems",
		"properties", "properties", "properties", "required", "patternProperties", "additionalProperties", "propertyNames", "minProperties", "maxProperties",
		"dependentRequired", "dependentSchemas", "unevaluatedProperties", "allOf", "anyOf", "oneOf", "not", "if", "then", "else")
}

func (d drawer) operand(keyword string, depth int) any {
	switch keyword {
	case "enum":
		return []any{json.RawMessage(d.value(1)), json.RawMessage(d.value(2)), "a"}
	case "const":
		return json.RawMessage(d.value(1))
	case "multipleOf":
		return []float64{1, 2, 0.5}[d.IntN(3)]
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		return float64(d.IntN(5) - 1)
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
		return d.IntN(4)
	case "pattern":
		return d.one("^a", "é", "b$")
	case "uniqueItems":
		return true
	case "prefixItems", "allOf", "anyOf", "oneOf":
		return d.schemas(depth, 1)
	case "properties", "dependentSchemas":
		return d.named(depth)
	case "patternProperties":
		return map[string]any{d.one("^[ab]", "é", "c"): d.schema(depth), "a": d.schema(depth)}
	case "required":
		return []string{d.name(), d.name()}
	case "dependentRequired":
		return map[string]any{d.name(): []string{d.name()}}
	}
	return d.schema(depth)
}

// value is a JSON text. Some names stand twice, some texts are escaped.
func (d drawer) value(depth int) string {
	kind := d.IntN(8)
	if depth == 0 {
		kind = d.IntN(6)
	}
	switch kind {
	case 0:
		return d.one("null", "true", "false")
	case 1, 2:
		return d.one("0", "1", "2", "-1", "1.5", "3", "1e2", "-0", "1.0", "2E0")
	case 3, 4, 5:
		return d.one(`"a"`, `"ab"`, `"é"`, `"\u00e9"`, `""`, `"\ud800"`, "\"\xff\"", `"aéb"`)
	case 6:
		text := "["
		for i := range d.IntN(4) {
			if i > 0 {
				text += " ,"
			}
			text += d.value(depth - 1)
		}
		return text + " ]"
	}
	text := "{ "
	for i := range d.IntN(5) {
		if i > 0 {
			text += ", "
		}
		text += d.one(strconv.Quote(d.name()), strconv.Quote(d.name()), `"\u0061"`, `"d"`) + " : " + d.value(depth-1)
	}
	return text + "}"
}

// pairs is how many schemas and values are drawn.
func pairs() int {
	if n, err := strconv.Atoi(os.Getenv("MRTR_PAIRS")); err == nil {
		return n
	}
	return 8_000
}

// A Shape and jsonschema-go always say the same.
func TestShapesJudgeAsTheLibraryDoes(t *testing.T) {
	t.Parallel()
	fitting, whole := 0, 0
	d := drawer{rand.New(rand.NewPCG(46, 0))}
	const values = 40
	for i := 0; i*values < pairs(); i++ {
		schema := map[string]any{"type": "object", "properties": d.named(3), "$defs": map[string]any{"leaf": map[string]any{"type": d.kind(), "minLength": 1, "minimum": 1}, "node": map[string]any{"items": map[string]any{"$ref": "#/$defs/node"}, "type": d.kind()}}}
		if d.in(3) {
			if other, ok := d.schema(3).(map[string]any); ok {
				other["$defs"] = schema["$defs"]
				schema = other
			}
		}
		text, err := json.Marshal(schema)
		require.NoError(t, err)
		var source jsonschema.Schema
		require.NoError(t, json.Unmarshal(text, &source))
		library, err := source.Resolve(nil)
		require.NoError(t, err)
		compiled, err := shape.Compile(&source)
		require.NoError(t, err)
		whole++
		for range values {
			value := d.value(3)
			var decoded any
			require.NoError(t, json.Unmarshal([]byte(value), &decoded))
			want := library.Validate(decoded)
			found := compiled.Findings([]byte(value), 5)
			require.Equal(t, want == nil, found == nil, "%s of %s: %v, %v", value, text, want, found)
			require.Equal(t, want == nil, compiled.Fits([]byte(value)), "%s of %s", value, text)
			require.LessOrEqual(t, len(found), 5)
			if want == nil {
				fitting++
			}
		}
	}
	require.GreaterOrEqual(t, whole*values, pairs())
	require.Greater(t, fitting, whole*values/20, "too few values fit")
	t.Log(fmt.Sprint(whole*values, " pairs, of which ", fitting, " fit"))
}

func compiled(t *testing.T, schema string) *shape.Shape {
	t.Helper()
	s, err := shape.Compile(json.RawMessage(schema))
	require.NoError(t, err)
	return s
}

// Findings speak of the schema and never of the value. A wrong type hides the other keywords.
func TestFindings(t *testing.T) {
	trip := compiled(t, `{"type":"object","additionalProperties":false,"required":["place","days"],"properties":{
		"place":{"type":"string","minLength":2,"maxLength":7,"pattern":"^[A-Z]"},"days":{"type":"integer","minimum":1,"maximum":7},
		"units":{"enum":["metric","imperial"]},"fixed":{"const":1},"rate":{"exclusiveMinimum":0,"exclusiveMaximum":1},"even":{"multipleOf":2},
		"stops":{"type":"array","minItems":1,"maxItems":2,"uniqueItems":true,"contains":{"required":["name"]},"items":{"$ref":"#/$defs/stop"}},
		"open":{"type":"object","minProperties":1,"maxProperties":2,"additionalProperties":{"type":["string","null"]},"propertyNames":{"maxLength":3}},
		"any":{"anyOf":[{"type":"number"},{"type":"null"}]},"one":{"oneOf":[{"minimum":1},{"minimum":2}]},"not":{"not":{"type":"string"}},
		"if":{"if":{"minimum":5},"then":{"maximum":6}},"with":{"dependentRequired":{"a":["b"]},"dependentSchemas":{"c":{"required":["d"]}}},
		"none":false,"left":{"properties":{"a":{}},"unevaluatedProperties":false}},
		"$defs":{"stop":{"type":"object","required":["name"],"properties":{"name":{"type":"string"}}}}}`)
	cases := map[string][]string{
		`{}`: {"/days is required", "/place is required"},
		`{"place":"Lisbon","days":2,"units":"metric","stops":[{"name":"a"}],"any":null}`: nil,
		`{"place":3,"days":1.5}`:                                                   {"/days must be an integer, not a number", "/place must be a string, not an integer"},
		`{"place":"s3cret!!","days":99}`:                                           {"/days must be at most 7", "/place must have at most 7 characters", "/place must match the pattern ^[A-Z]"},
		`{"place":"Li","days":0,"units":"s3cret","fixed":"s3cret"}`:                {"/days must be at least 1", "/fixed must be 1", `/units must be one of "metric", "imperial"`},
		`{"place":"S","days":1,"rate":0,"even":3}`:                                 {"/even must be a multiple of 2", "/place must have at least 2 characters", "/rate must be more than 0"},
		`{"place":"Li","days":1,"rate":1,"stops":[]}`:                              {"/rate must be less than 1", "/stops does not have the items it must", "/stops must have at least 1 items"},
		`{"place":"Li","days":1,"stops":[{"name":"a"},{"name":"b"},{"name":"b"}]}`: {"/stops must have at most 2 items", "/stops must not have the same item twice"},
		`{"place":"Li","days":1,"stops":[{"name":1},{}]}`:                          {"/stops/0/name must be a string, not an integer", "/stops/1/name is required"},
		`{"place":"Li","days":1,"open":{}}`:                                        {"/open must have at least 1 members"},
		`{"place":"Li","days":1,"open":{"abcd":1,"b":"","c":null}}`:                {"/open has a member whose name is not allowed", "/open must have at most 2 members", "/open/abcd must be a string or null, not an integer"},
		`{"place":"Li","days":1,"any":"s3cret","one":3}`:                           {"/any must fit one of the allowed forms", "/one must fit exactly one of the allowed forms"},
		`{"place":"Li","days":1,"not":"s3cret","if":7}`:                            {"/if breaks a condition of the schema", "/not has a form that is not allowed"},
		`{"place":"Li","days":1,"with":{"a":1,"c":1}}`:                             {"/with breaks a condition of the schema", `/with/b is required together with "a"`},
		`{"place":"Li","days":1,"none":1,"n\n/~\u202e\udb40\udc41":1}`:             {`/n\u000a~1~0\u202e\U000e0041 is not a known member`, "/none is not allowed"},
		`{"place":"Li","days":1,"left":{"s3cret":1}}`:                              {" must satisfy the schema"},
		`{"place":"Li","days":1e999}`:                                              {" must be JSON"},
		`{"place":`:                                                                {" must be JSON"},
	}
	require.NotEmpty(t, cases)
	for text, want := range cases {
		var got []string
		for _, f := range trip.Findings([]byte(text), 10) {
			got = append(got, f.Pointer+" "+f.Problem)
		}
		require.Equal(t, want, got, text)
		require.Equal(t, want == nil, trip.Fits([]byte(text)), text)
	}
}

// A text that gets very much wrong costs work that is linear in its size.
func TestFindingsAreBounded(t *testing.T) {
	s := compiled(t, `{"properties":{"list":{"items":{"type":"string","pattern":"^[a-z]+$","anyOf":[{"minLength":1},{"maxLength":3}]}},
		"open":{"additionalProperties":{"type":"integer","multipleOf":2,"enum":[2,4]}},"shut":{"additionalProperties":false}}}`)
	for _, member := range []string{`"list":[%s"A"]`, `"open":{%s"a":3}`, `"shut":{%s"a":1}`} {
		item := map[bool]string{true: `"a",`, false: `"n%d":3,`}[member[1] == 'l']
		var work []float64
		for _, n := range []int{1000, 4000} {
			var many string
			for i := range n {
				many += strings.ReplaceAll(item, "%d", strconv.Itoa(i))
			}
			text := fmt.Appendf(nil, "{"+member+"}", many)
			found := s.Findings(text, 50)
			require.NotEmpty(t, found)
			require.LessOrEqual(t, len(found), 50)
			require.Equal(t, found, s.Findings(text, 50), "the same every time")
			work = append(work, testing.AllocsPerRun(1, func() { s.Findings(text, 50) }))
		}
		require.Less(t, work[1], 5*work[0]+10, member)
	}
}

// A schema without end does not end the process.
func TestASchemaWithoutEnd(t *testing.T) {
	require.False(t, compiled(t, `{"$ref":"#"}`).Fits([]byte(`1`)))
}

func TestDefaultsAreFilledIn(t *testing.T) {
	s := compiled(t, `{"properties":{"a":{"default":"x"}},"minProperties":1}`)
	require.True(t, s.HasDefaults())
	for _, text := range []string{`{}`, `null`} {
		filled, err := s.Filled([]byte(text))
		require.NoError(t, err)
		require.JSONEq(t, `{"a":"x"}`, string(filled))
	}
	_, err := s.Filled([]byte(`1`))
	require.Error(t, err)
	plain := compiled(t, `{}`)
	require.False(t, plain.HasDefaults())
	filled, err := plain.Filled([]byte(`{ }`))
	require.NoError(t, err)
	require.Equal(t, `{ }`, string(filled))
}

func TestSchemasThatAreRefused(t *testing.T) {
	type self map[string]any
	loop := self{}
	loop["loop"] = loop
	for explanation, schema := range map[string]any{
		"no schema": nil, "a nil schema": (*jsonschema.Schema)(nil), "not a schema": "a string",
		"an unknown dialect":               json.RawMessage(`{"$schema":"http://json-schema.org/draft-04/schema#"}`),
		"a value that does not marshal":    loop,
		"a pattern that does not compile":  &jsonschema.Schema{Pattern: "("},
		"a value whose marshalling panics": panicking{},
		"a reference that leads nowhere":   &jsonschema.Schema{Ref: "#/$defs/none"},
	} {
		_, err := shape.Compile(schema)
		require.Error(t, err, explanation)
	}
}

type panicking struct{}

func (panicking) MarshalJSON() ([]byte, error) { panic("boom") }

package prove

import (
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

var inputRules = []Rule{
	{"input/missing", "A call without a required argument ends in an error.", Must, validated, badArguments(withoutRequired)},
	{"input/wrong-type", "An argument of another type than the schema's ends in an error.", Must, validated, badArguments(ofAnotherType)},
	{"input/unknown", "An argument that the schema forbids ends in an error.", Must, validated, badArguments(forbidden)},
	{"input/not-an-object", "Arguments that are no object end in an error.", Must, validated, notArguments},
	{"input/later-round", "The arguments are validated in later rounds as well.", Must, validated, laterRound},
}

// badArgument is a set of arguments that the schema does not allow.
type badArgument struct {
	what      string
	arguments map[string]any
}

// badArguments sends bad arguments in the first round. Asking is no error: the
// call goes on.
func badArguments(of func(schema *jsonschema.Schema, good map[string]any) []badArgument) func(*trial) {
	return func(t *trial) {
		all := of(t.inputSchema(), t.scenario.Arguments)
		if len(all) == 0 {
			t.skip("needs a schema that can be broken so")
		}
		for _, bad := range all {
			t.mustRefuse(t.exchange(t.client(), t.request(bad.arguments)), bad.what)
		}
	}
}

func (t *trial) mustRefuse(s exchange, what string) {
	if !s.refused() {
		t.failAt(s, "%s", strings.TrimSpace("the call goes on "+what))
	}
}

func (t *trial) inputSchema() *jsonschema.Schema {
	if t.tool.input == nil {
		t.skip("needs an input schema that reads: %v", t.tool.inputErr)
	}
	return t.tool.input
}

func withoutRequired(schema *jsonschema.Schema, good map[string]any) []badArgument {
	var all []badArgument
	for _, name := range slices.Sorted(slices.Values(schema.Required)) {
		bad := maps.Clone(good)
		delete(bad, name)
		all = append(all, badArgument{"without " + name, bad})
	}
	return all
}

func ofAnotherType(schema *jsonschema.Schema, good map[string]any) []badArgument {
	var all []badArgument
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		p := schema.Properties[name]
		if p == nil || p.Type == "" {
			continue
		}
		value := any("text")
		if p.Type == "string" {
			value = []any{"text"}
		}
		all = append(all, badArgument{"with a " + name + " of another type than " + p.Type, with(good, name, value)})
	}
	return all
}

func forbidden(schema *jsonschema.Schema, good map[string]any) []badArgument {
	if !closed(schema) {
		return nil
	}
	return []badArgument{{"with an argument that the tool does not have", with(good, "no_such_argument", "text")}}
}

// closed reports whether a schema allows no properties but its own.
func closed(schema *jsonschema.Schema) bool {
	return schema.AdditionalProperties != nil && schema.AdditionalProperties.Not != nil
}

// with is a copy of an object in which one member is another.
func with(object map[string]any, name string, value any) map[string]any {
	changed := maps.Clone(object)
	if changed == nil {
		changed = map[string]any{}
	}
	changed[name] = value
	return changed
}

func notArguments(t *trial) {
	for _, arguments := range []any{7, "text", []any{1}} {
		t.mustRefuse(t.exchange(t.client(), withParam(t.client(), t.request(nil), "arguments", arguments)), "")
	}
}

func laterRound(t *trial) {
	schema := t.inputSchema()
	all := slices.Concat(withoutRequired(schema, t.scenario.Arguments), ofAnotherType(schema, t.scenario.Arguments))
	if len(all) == 0 {
		t.skip("needs a schema that can be broken")
	}
	for _, i := range t.rounds() {
		for _, bad := range all {
			r := t.reach(t.client(), i)
			r.Arguments = bad.arguments
			t.mustRefuse(t.exchange(t.client(), r), bad.what)
		}
	}
}

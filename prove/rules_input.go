package prove

import (
	"maps"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/mrtr-go/sdk/internal/probe"
	"github.com/mrtr-go/sdk/internal/wire"
)

const validated = "Tools, Security: servers MUST validate all tool inputs"

var inputRules = []Rule{
	{"input/missing", "A call without a required argument ends in an error.", Must, validated,
		func(t *trial) { t.badArguments(withoutRequired) }},
	{"input/wrong-type", "An argument of another type than the schema's ends in an error.", Must, validated,
		func(t *trial) { t.badArguments(ofAnotherType) }},
	{"input/unknown", "An argument that the schema forbids ends in an error.", Must, validated,
		func(t *trial) { t.badArguments(forbidden) }},
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
func (t *trial) badArguments(of func(schema *jsonschema.Schema, good map[string]any) []badArgument) {
	schema, err := probe.ReadSchema(t.tool.InputSchema)
	if err != nil {
		t.skip("needs an input schema that reads: %v", err)
	}
	all := of(schema, t.scenario.Arguments)
	if len(all) == 0 {
		t.skip("needs a schema that can be broken so")
	}
	for _, bad := range all {
		s := t.send(t.client(), wire.Request{Name: t.scenario.Tool, Arguments: bad.arguments})
		t.answered(s)
		if !s.refused() {
			t.failAt(s, "the call goes on %s", bad.what)
		}
	}
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
		bad := maps.Clone(good)
		if bad[name] = any("text"); p.Type == "string" {
			bad[name] = []any{"text"}
		}
		all = append(all, badArgument{"with a " + name + " of another type than " + p.Type, bad})
	}
	return all
}

func forbidden(schema *jsonschema.Schema, good map[string]any) []badArgument {
	if closed := schema.AdditionalProperties; closed == nil || closed.Not == nil {
		return nil
	}
	bad := maps.Clone(good)
	bad["no_such_argument"] = "text"
	return []badArgument{{"with an argument that the tool does not have", bad}}
}

func notArguments(t *trial) {
	for _, arguments := range []any{7, "text", []any{1}} {
		s := t.send(t.client(), withParam(t.client(), wire.Request{Name: t.scenario.Tool}, "arguments", arguments))
		t.answered(s)
		if !s.refused() {
			t.failAt(s, "the call goes on")
		}
	}
}

func laterRound(t *trial) {
	schema, err := probe.ReadSchema(t.tool.InputSchema)
	if err != nil {
		t.skip("needs an input schema that reads: %v", err)
	}
	all := slices.Concat(withoutRequired(schema, t.scenario.Arguments), ofAnotherType(schema, t.scenario.Arguments))
	if len(all) == 0 {
		t.skip("needs a schema that can be broken")
	}
	for _, i := range t.rounds() {
		for _, bad := range all {
			r := t.reach(t.client(), i)
			r.Arguments = bad.arguments
			s := t.send(t.client(), r)
			t.answered(s)
			if !s.refused() {
				t.failAt(s, "the call goes on %s", bad.what)
			}
		}
	}
}

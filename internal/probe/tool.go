package probe

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// A tool is one that the server lists, as far as the probe minds.
type tool struct {
	Name         string          `json:"name"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  struct {
		ReadOnlyHint bool `json:"readOnlyHint"`
	} `json:"annotations"`

	schema *jsonschema.Schema
	output *jsonschema.Resolved
}

// read resolves the tool's schemas. An input schema that does not read counts as
// one that says nothing; an output schema that does not is not judged by.
func (t *tool) read() {
	t.schema = &jsonschema.Schema{}
	if json.Unmarshal(t.InputSchema, &t.schema) != nil || t.schema == nil {
		t.schema = &jsonschema.Schema{}
	}
	var output *jsonschema.Schema
	if len(t.OutputSchema) > 0 && json.Unmarshal(t.OutputSchema, &output) == nil && output != nil {
		t.output, _ = output.Resolve(nil)
	}
}

// good makes arguments with every required property and no other.
func (t *tool) good() map[string]any {
	args := map[string]any{}
	for _, name := range t.schema.Required {
		args[name] = sample(t.schema.Properties[name], 0)
	}
	return args
}

// spoiled is good with one argument of a type it must not have.
func (t *tool) spoiled() (any, bool) {
	args := t.good()
	for _, name := range slices.Sorted(maps.Keys(t.schema.Properties)) {
		switch p := t.schema.Properties[name]; {
		case p.Type == "" || p.Type == "null":
		case p.Type == "string":
			args[name] = []any{secret}
			return args, true
		default:
			args[name] = secret
			return args, true
		}
	}
	return nil, false
}

// closed reports whether the schema allows no arguments but its own.
func (t *tool) closed() bool {
	a := t.schema.AdditionalProperties
	return a != nil && a.Not != nil
}

// sample makes a value that fits the commonest schemas: an enum's first, a
// default, an example, or the least value of the type.
func sample(s *jsonschema.Schema, depth int) any {
	const deepest = 8
	switch {
	case s == nil || depth > deepest:
		return "x"
	case s.Const != nil:
		return *s.Const
	case len(s.Enum) > 0:
		return s.Enum[0]
	case len(s.Default) > 0:
		return s.Default
	case len(s.Examples) > 0:
		return s.Examples[0]
	}
	kind := s.Type
	if kind == "" && len(s.Types) > 0 {
		kind = s.Types[len(s.Types)-1] // "null" comes first, if at all
	}
	switch kind {
	case "integer", "number":
		if s.Minimum != nil {
			return *s.Minimum
		}
		return 1
	case "boolean":
		return true
	case "null":
		return nil
	case "array":
		items := []any{}
		for s.MinItems != nil && len(items) < *s.MinItems {
			items = append(items, sample(s.Items, depth+1))
		}
		return items
	case "object":
		object := map[string]any{}
		for _, name := range s.Required {
			object[name] = sample(s.Properties[name], depth+1)
		}
		return object
	}
	if s.MinLength != nil {
		return strings.Repeat("x", max(1, *s.MinLength))
	}
	return "x"
}

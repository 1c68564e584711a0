package toolschema

import (
	"strconv"

	"github.com/google/jsonschema-go/jsonschema"
)

func (e *explainer) array(s *jsonschema.Schema, v []any, at string, depth int) {
	if s.MinItems != nil && len(v) < *s.MinItems {
		e.add(at, "must have at least %d items", *s.MinItems)
	}
	if s.MaxItems != nil && len(v) > *s.MaxItems {
		e.add(at, "must have at most %d items", *s.MaxItems)
	}
	if s.UniqueItems && !validates(&jsonschema.Schema{UniqueItems: true}, v) {
		e.add(at, "must not have the same item twice")
	}
	first := s.PrefixItems
	rest := s.Items
	if s.ItemsArray != nil { // draft 7
		first, rest = s.ItemsArray, s.AdditionalItems
	}
	for i, item := range v {
		sub := rest
		if i < len(first) {
			sub = first[i]
		}
		e.walk(sub, item, pointer(at, strconv.Itoa(i)), depth+1)
	}
}

func (e *explainer) object(s *jsonschema.Schema, v map[string]any, at string, depth int) {
	for _, name := range s.Required {
		if _, ok := v[name]; !ok {
			e.add(pointer(at, name), "is required")
		}
	}
	for name, needs := range s.DependentRequired {
		if _, ok := v[name]; !ok {
			continue
		}
		for _, need := range needs {
			if _, ok := v[need]; !ok {
				e.add(pointer(at, need), "is required together with %q", name)
			}
		}
	}
	if s.MinProperties != nil && len(v) < *s.MinProperties {
		e.add(at, "must have at least %d members", *s.MinProperties)
	}
	if s.MaxProperties != nil && len(v) > *s.MaxProperties {
		e.add(at, "must have at most %d members", *s.MaxProperties)
	}
	for name, value := range v {
		switch sub := s.Properties[name]; {
		case sub != nil:
			e.walk(sub, value, pointer(at, name), depth+1)
		case len(s.PatternProperties) > 0: // composed judges these
		case isFalse(s.AdditionalProperties):
			e.add(pointer(at, name), "is not a known member")
		case s.AdditionalProperties != nil:
			e.walk(s.AdditionalProperties, value, pointer(at, name), depth+1)
		}
	}
}

// composed judges the keywords that offer alternatives or conditions. It reports
// only that none fits, since it would have to guess which branch was meant.
func (e *explainer) composed(s *jsonschema.Schema, v any, at string) {
	for _, k := range []struct {
		present bool
		schema  jsonschema.Schema
		problem string
	}{
		{s.AnyOf != nil, jsonschema.Schema{AnyOf: s.AnyOf}, "must fit one of the allowed forms"},
		{s.OneOf != nil, jsonschema.Schema{OneOf: s.OneOf}, "must fit exactly one of the allowed forms"},
		{s.Not != nil, jsonschema.Schema{Not: s.Not}, "has a form that is not allowed"},
		{s.If != nil, jsonschema.Schema{If: s.If, Then: s.Then, Else: s.Else}, "breaks a condition of the schema"},
		{s.Contains != nil, jsonschema.Schema{Contains: s.Contains, MinContains: s.MinContains, MaxContains: s.MaxContains}, "does not have the items it must"},
		{s.PropertyNames != nil, jsonschema.Schema{PropertyNames: s.PropertyNames}, "has a member whose name is not allowed"},
		{s.PatternProperties != nil, jsonschema.Schema{Properties: s.Properties, PatternProperties: s.PatternProperties, AdditionalProperties: s.AdditionalProperties}, "has a member that is not allowed or has the wrong form"},
		{s.DependentSchemas != nil, jsonschema.Schema{DependentSchemas: s.DependentSchemas}, "breaks a condition of the schema"},
	} {
		if !k.present {
			continue
		}
		k.schema.Schema, k.schema.Defs, k.schema.Definitions = e.root.Schema, e.root.Defs, e.root.Definitions
		if !validates(&k.schema, v) {
			e.add(at, "%s", k.problem)
		}
	}
}

package toolschema

import (
	"fmt"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

func (e *explainer) array(s *jsonschema.Schema, v []any, depth int) {
	if s.MinItems != nil && len(v) < *s.MinItems {
		e.add(fmt.Sprintf("must have at least %d items", *s.MinItems))
	}
	if s.MaxItems != nil && len(v) > *s.MaxItems {
		e.add(fmt.Sprintf("must have at most %d items", *s.MaxItems))
	}
	if s.UniqueItems && !e.validates(s, uniquePart, v) {
		e.add("must not have the same item twice")
	}
	first := s.PrefixItems
	rest := s.Items
	if s.ItemsArray != nil { // draft 7
		first, rest = s.ItemsArray, s.AdditionalItems
	}
	for i, item := range v {
		if rest == nil && i >= len(first) || e.done() {
			break
		}
		sub := rest
		if i < len(first) {
			sub = first[i]
		}
		e.within(step{index: i}, sub, item, depth)
	}
}

func (e *explainer) object(s *jsonschema.Schema, v map[string]any, depth int) {
	for _, name := range s.Required {
		if _, ok := v[name]; !ok {
			e.add("is required", name)
		}
	}
	for name, needs := range s.DependentRequired {
		if _, ok := v[name]; !ok {
			continue
		}
		for _, need := range needs {
			if _, ok := v[need]; !ok {
				e.add(fmt.Sprintf("is required together with %q", name), need)
			}
		}
	}
	if s.MinProperties != nil && len(v) < *s.MinProperties {
		e.add(fmt.Sprintf("must have at least %d members", *s.MinProperties))
	}
	if s.MaxProperties != nil && len(v) > *s.MaxProperties {
		e.add(fmt.Sprintf("must have at most %d members", *s.MaxProperties))
	}
	if len(s.Properties) > 0 {
		for _, name := range e.parts.names(s) {
			if value, ok := v[name]; ok {
				e.within(step{name: name, member: true}, s.Properties[name], value, depth)
			}
		}
	}
	if len(s.PatternProperties) > 0 || s.AdditionalProperties == nil {
		return // a pattern's members are judged by composed
	}
	others := func(yield func(string) bool) {
		for name := range v {
			if s.Properties[name] == nil && !yield(name) {
				return
			}
		}
	}
	if e.parts.isFalse(s.AdditionalProperties) {
		names, _ := smallest(e.room-len(e.found), others)
		for _, name := range names {
			e.add("is not a known member", name)
		}
		return
	}
	for _, name := range slices.Sorted(others) { // so that the same findings come first every time
		if e.done() {
			return
		}
		e.within(step{name: name, member: true}, s.AdditionalProperties, v[name], depth)
	}
}

// composed judges the keywords that offer alternatives or conditions. It reports
// only that none fits, since it would have to guess which branch was meant.
func (e *explainer) composed(s *jsonschema.Schema, v any) {
	for i := range composedParts {
		k := &composedParts[i]
		if k.present(s) && !e.validates(s, k.part, v) {
			e.add(k.problem)
		}
	}
}

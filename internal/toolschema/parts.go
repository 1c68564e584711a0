package toolschema

import (
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// parts keeps the parts that the explainer makes of single keywords. Each is made
// once for the schema, however many values are judged by it.
type parts struct {
	mu       sync.Mutex
	made     int                              // how often something was made
	compiled map[partKey]*jsonschema.Resolved // nil: it does not compile
	values   map[partKey][]any                // of enum and const, as they are decoded
	sorted   map[*jsonschema.Schema][]string
	nothing  map[*jsonschema.Schema]bool
}

type partKey struct {
	schema  *jsonschema.Schema
	keyword string
}

// A part is a keyword, with those that belong to it, as a schema of its own.
type part struct {
	keyword string
	of      func(s *jsonschema.Schema) *jsonschema.Schema
}

var (
	patternPart  = part{"pattern", func(s *jsonschema.Schema) *jsonschema.Schema { return &jsonschema.Schema{Pattern: s.Pattern} }}
	multiplePart = part{"multipleOf", func(s *jsonschema.Schema) *jsonschema.Schema { return &jsonschema.Schema{MultipleOf: s.MultipleOf} }}
	uniquePart   = part{"uniqueItems", func(s *jsonschema.Schema) *jsonschema.Schema { return &jsonschema.Schema{UniqueItems: true} }}
)

var composedParts = []struct {
	part
	present func(s *jsonschema.Schema) bool
	problem string
}{
	{part{"anyOf", func(s *jsonschema.Schema) *jsonschema.Schema { return &jsonschema.Schema{AnyOf: s.AnyOf} }},
		func(s *jsonschema.Schema) bool { return s.AnyOf != nil }, "must fit one of the allowed forms"},
	{part{"oneOf", func(s *jsonschema.Schema) *jsonschema.Schema { return &jsonschema.Schema{OneOf: s.OneOf} }},
		func(s *jsonschema.Schema) bool { return s.OneOf != nil }, "must fit exactly one of the allowed forms"},
	{part{"not", func(s *jsonschema.Schema) *jsonschema.Schema { return &jsonschema.Schema{Not: s.Not} }},
		func(s *jsonschema.Schema) bool { return s.Not != nil }, "has a form that is not allowed"},
	{part{"if", func(s *jsonschema.Schema) *jsonschema.Schema {
		return &jsonschema.Schema{If: s.If, Then: s.Then, Else: s.Else}
	}},
		func(s *jsonschema.Schema) bool { return s.If != nil }, "breaks a condition of the schema"},
	{part{"contains", func(s *jsonschema.Schema) *jsonschema.Schema {
		return &jsonschema.Schema{Contains: s.Contains, MinContains: s.MinContains, MaxContains: s.MaxContains}
	}},
		func(s *jsonschema.Schema) bool { return s.Contains != nil }, "does not have the items it must"},
	{part{"propertyNames", func(s *jsonschema.Schema) *jsonschema.Schema {
		return &jsonschema.Schema{PropertyNames: s.PropertyNames}
	}},
		func(s *jsonschema.Schema) bool { return s.PropertyNames != nil }, "has a member whose name is not allowed"},
	{part{"patternProperties", func(s *jsonschema.Schema) *jsonschema.Schema {
		return &jsonschema.Schema{Properties: s.Properties, PatternProperties: s.PatternProperties, AdditionalProperties: s.AdditionalProperties}
	}},
		func(s *jsonschema.Schema) bool { return s.PatternProperties != nil }, "has a member that is not allowed or has the wrong form"},
	{part{"dependentSchemas", func(s *jsonschema.Schema) *jsonschema.Schema {
		return &jsonschema.Schema{DependentSchemas: s.DependentSchemas}
	}},
		func(s *jsonschema.Schema) bool { return s.DependentSchemas != nil }, "breaks a condition of the schema"},
}

// validates judges a value by a part of a schema.
func (e *explainer) validates(s *jsonschema.Schema, k part, v any) bool {
	resolved := e.parts.compile(e.root, s, k)
	return resolved != nil && resolved.Validate(v) == nil
}

func (p *parts) compile(root, s *jsonschema.Schema, k part) *jsonschema.Resolved {
	return once(p, &p.compiled, partKey{s, k.keyword}, func() *jsonschema.Resolved {
		alone := k.of(s)
		alone.Schema, alone.Defs, alone.Definitions = root.Schema, root.Defs, root.Definitions
		resolved, err := alone.Resolve(nil)
		if err != nil {
			return nil
		}
		return resolved
	})
}

// allows reports whether a decoded value is among those of a schema, which go through
// JSON first: one written in Go may say int where JSON has a float64.
func (p *parts) allows(s *jsonschema.Schema, keyword string, values []any, v any) bool {
	allowed := once(p, &p.values, partKey{s, keyword}, func() []any { return decoded(values) })
	return slices.ContainsFunc(allowed, func(a any) bool { return reflect.DeepEqual(a, v) })
}

// names are those of the schema's properties, sorted.
func (p *parts) names(s *jsonschema.Schema) []string {
	return once(p, &p.sorted, s, func() []string { return slices.Sorted(maps.Keys(s.Properties)) })
}

func (p *parts) isFalse(s *jsonschema.Schema) bool {
	if s.Not == nil {
		return false
	}
	return once(p, &p.nothing, s, func() bool { return isFalse(s) })
}

// once is the value under key, which is made if it is missing.
func once[K comparable, V any](p *parts, kept *map[K]V, key K, makeOne func() V) V {
	p.mu.Lock()
	defer p.mu.Unlock()
	v, ok := (*kept)[key]
	if !ok {
		if *kept == nil {
			*kept = map[K]V{}
		}
		v = makeOne()
		p.made++
		(*kept)[key] = v
	}
	return v
}

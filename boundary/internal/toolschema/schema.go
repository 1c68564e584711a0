// Package toolschema decides whether JSON satisfies a tool's schema and says why it
// does not: every problem at once, sorted, by JSON pointer, in terms of the
// schema and never of the value, which may be secret.
//
// [Compile] a schema once, then judge any number of values by it: arguments with
// [Schema.Arguments], an output with [Schema.Output].
package toolschema

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/mrtr-go/sdk/internal/jsontext"
)

// A Schema is a JSON Schema compiled for judging. It is safe for concurrent use.
type Schema struct {
	source   *jsonschema.Schema
	resolved *jsonschema.Resolved
	closed   bool     // arguments that the schema does not name are unknown
	names    []string // of the arguments, sorted
	parts    parts    // compiled by the explainer
}

// Compile makes a Schema of a *jsonschema.Schema or of anything that marshals to
// one. Compiling costs many times as much as judging. The error is for a
// dialect or a schema that jsonschema-go cannot judge by.
func Compile(schema any) (_ *Schema, err error) {
	defer func() {
		if v := recover(); v != nil { // the author of a tool can generate its schema at run time
			err = panicked(v)
		}
	}()
	source, ok := schema.(*jsonschema.Schema)
	if !ok {
		data, err := json.Marshal(schema)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(data, &source); err != nil {
			return nil, err
		}
	}
	if source == nil {
		return nil, errors.New("the schema is nil")
	}
	switch source.Schema {
	case "", "https://json-schema.org/draft/2020-12/schema",
		"http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft-07/schema#":
	default:
		return nil, fmt.Errorf("the dialect %q is not supported", source.Schema)
	}
	resolved, err := source.Resolve(nil)
	if err != nil {
		return nil, err
	}
	return &Schema{
		source: source, resolved: resolved, closed: isClosed(source),
		names: slices.Sorted(maps.Keys(source.Properties)),
	}, nil
}

// Output returns nil if the JSON satisfies the schema. The error may quote the
// value, so it is for the log alone. Empty JSON stands for no output at all.
func (s *Schema) Output(raw json.RawMessage) error {
	if len(raw) == 0 {
		return errors.New("there is none, and the tool has an output schema")
	}
	w := jsontext.Walk(raw, jsontext.MaxDepth)
	value := w.Decode()
	if !w.End() {
		if err := json.Unmarshal(raw, &value); err != nil { // which says where it went wrong
			return err
		}
	}
	return s.validate(value)
}

// validate is the library's own judgement. A panic in the library becomes an
// error: it asserts types that it has not checked.
func (s *Schema) validate(v any) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = panicked(r)
		}
	}()
	return s.resolved.Validate(v)
}

// panicked shows a value of an unknown type by its type alone: formatting a map
// that contains itself would end the process.
func panicked(v any) error {
	switch v := v.(type) {
	case error:
		return fmt.Errorf("panic: %w", v)
	case string:
		return fmt.Errorf("panic: %s", v)
	}
	return fmt.Errorf("panic: a value of type %T", v)
}

// parts keeps the parts that the explainer makes of single keywords. Each is made
// once for the schema, however many values are judged by it.
type parts struct {
	mu       sync.Mutex                       // guards the fields below
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

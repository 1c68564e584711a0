package toolschema

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
)

const (
	maxDepth    = 64
	maxFindings = 50
)

// explain returns every problem of a value that the library has refused. The
// library stops at one problem and quotes the value; explain speaks of the schema,
// which is public. It returns nothing for a problem it cannot find.
func explain(schema *jsonschema.Schema, v any) []Finding {
	e := explainer{root: schema}
	e.walk(schema, v, "", 0)
	return e.found
}

type explainer struct {
	root  *jsonschema.Schema
	found []Finding
}

func (e *explainer) add(at, format string, args ...any) {
	if len(e.found) < maxFindings {
		e.found = append(e.found, Finding{Pointer: at, Problem: fmt.Sprintf(format, args...)})
	}
}

func (e *explainer) walk(s *jsonschema.Schema, v any, at string, depth int) {
	if s == nil || depth > maxDepth {
		return
	}
	if isFalse(s) {
		e.add(at, "is not allowed")
		return
	}
	if s.Ref != "" {
		e.walk(e.definition(s.Ref), v, at, depth+1)
	}
	if !e.typed(s, v, at) {
		return // the other keywords are for values of the right type
	}
	e.equal(s, v, at)
	switch v := v.(type) {
	case string:
		e.text(s, v, at)
	case float64:
		e.number(s, v, at)
	case []any:
		e.array(s, v, at, depth)
	case map[string]any:
		e.object(s, v, at, depth)
	}
	for _, sub := range s.AllOf {
		e.walk(sub, v, at, depth+1)
	}
	e.composed(s, v, at)
}

// definition resolves a reference within the schema, and is nil for any other.
func (e *explainer) definition(ref string) *jsonschema.Schema {
	if name, ok := strings.CutPrefix(ref, "#/$defs/"); ok {
		return e.root.Defs[name]
	}
	if name, ok := strings.CutPrefix(ref, "#/definitions/"); ok {
		return e.root.Definitions[name]
	}
	return nil
}

func (e *explainer) typed(s *jsonschema.Schema, v any, at string) bool {
	want := s.Types
	if s.Type != "" {
		want = []string{s.Type}
	}
	if len(want) == 0 {
		return true
	}
	got := typeName(v)
	if slices.Contains(want, got) || got == "integer" && slices.Contains(want, "number") {
		return true
	}
	e.add(at, "must be %s, not %s", withArticle(want), withArticle([]string{got}))
	return false
}

func (e *explainer) equal(s *jsonschema.Schema, v any, at string) {
	if s.Enum != nil && !slices.ContainsFunc(s.Enum, func(allowed any) bool { return same(allowed, v) }) {
		e.add(at, "must be one of %s", listed(s.Enum))
	}
	if s.Const != nil && !same(*s.Const, v) {
		e.add(at, "must be %s", listed([]any{*s.Const}))
	}
}

func (e *explainer) text(s *jsonschema.Schema, v, at string) {
	n := utf8.RuneCountInString(v)
	if s.MinLength != nil && n < *s.MinLength {
		e.add(at, "must have at least %d characters", *s.MinLength)
	}
	if s.MaxLength != nil && n > *s.MaxLength {
		e.add(at, "must have at most %d characters", *s.MaxLength)
	}
	if s.Pattern != "" && !validates(&jsonschema.Schema{Pattern: s.Pattern}, v) {
		e.add(at, "must match the pattern %s", s.Pattern)
	}
}

func (e *explainer) number(s *jsonschema.Schema, v float64, at string) {
	if s.Minimum != nil && v < *s.Minimum {
		e.add(at, "must be at least %s", plain(*s.Minimum))
	}
	if s.Maximum != nil && v > *s.Maximum {
		e.add(at, "must be at most %s", plain(*s.Maximum))
	}
	if s.ExclusiveMinimum != nil && v <= *s.ExclusiveMinimum {
		e.add(at, "must be more than %s", plain(*s.ExclusiveMinimum))
	}
	if s.ExclusiveMaximum != nil && v >= *s.ExclusiveMaximum {
		e.add(at, "must be less than %s", plain(*s.ExclusiveMaximum))
	}
	if s.MultipleOf != nil && !validates(&jsonschema.Schema{MultipleOf: s.MultipleOf}, v) {
		e.add(at, "must be a multiple of %s", plain(*s.MultipleOf))
	}
}

// validates compiles a part of a schema and judges by it.
func validates(s *jsonschema.Schema, v any) bool {
	resolved, err := s.Resolve(nil)
	return err == nil && resolved.Validate(v) == nil
}

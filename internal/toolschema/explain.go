package toolschema

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
)

const (
	maxDepth    = 64
	maxFindings = 50
	maxHints    = 10
)

// explain returns at most room problems of a value that the library has refused.
// The library stops at one problem and quotes the value; explain speaks of the
// schema, which is public. It returns nothing for a problem it cannot find, and stops
// where it has enough or ctx ends.
func (s *Schema) explain(ctx context.Context, v any, room int) []Finding {
	e := explainer{ctx: ctx, root: s.source, parts: &s.parts, room: room}
	e.walk(s.source, v, 0)
	return e.found
}

type explainer struct {
	ctx   context.Context
	root  *jsonschema.Schema
	parts *parts
	room  int
	found []Finding
	path  []step // to the value that is judged
	steps int    // values judged, one by one
}

// add reports a problem of the current value, or of its member if one is named.
func (e *explainer) add(problem string, member ...string) {
	if len(e.found) < e.room {
		e.found = append(e.found, Finding{Pointer: pointerTo(e.path, member...), Problem: problem})
	}
}

// done reports whether there is enough to tell, or nobody left to tell it.
func (e *explainer) done() bool {
	const often = 1 << 10
	return len(e.found) >= e.room || e.steps%often == 0 && e.ctx.Err() != nil
}

func (e *explainer) within(at step, s *jsonschema.Schema, v any, depth int) {
	e.path = append(e.path, at)
	e.walk(s, v, depth+1)
	e.path = e.path[:len(e.path)-1]
}

func (e *explainer) walk(s *jsonschema.Schema, v any, depth int) {
	e.steps++
	if s == nil || depth > maxDepth || e.done() {
		return
	}
	if e.parts.isFalse(s) {
		e.add("is not allowed")
		return
	}
	if s.Ref != "" {
		e.walk(e.definition(s.Ref), v, depth+1)
	}
	if !e.typed(s, v) {
		return // the other keywords are for values of the right type
	}
	e.equal(s, v)
	switch v := v.(type) {
	case string:
		e.text(s, v)
	case float64:
		e.number(s, v)
	case []any:
		e.array(s, v, depth)
	case map[string]any:
		e.object(s, v, depth)
	}
	for _, sub := range s.AllOf {
		e.walk(sub, v, depth+1)
	}
	e.composed(s, v)
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

func (e *explainer) typed(s *jsonschema.Schema, v any) bool {
	if s.Type == "" && len(s.Types) == 0 {
		return true
	}
	got := typeName(v)
	fits := func(want string) bool { return want == got || want == "number" && got == "integer" }
	if s.Type != "" && fits(s.Type) || s.Type == "" && slices.ContainsFunc(s.Types, fits) {
		return true
	}
	want := s.Types
	if s.Type != "" {
		want = []string{s.Type}
	}
	e.add("must be " + withArticle(want) + ", not " + withArticle([]string{got}))
	return false
}

func (e *explainer) equal(s *jsonschema.Schema, v any) {
	if s.Enum != nil && !e.parts.allows(s, "enum", s.Enum, v) {
		e.add("must be one of " + listed(s.Enum))
	}
	if s.Const != nil && !e.parts.allows(s, "const", []any{*s.Const}, v) {
		e.add("must be " + listed([]any{*s.Const}))
	}
}

func (e *explainer) text(s *jsonschema.Schema, v string) {
	n := utf8.RuneCountInString(v)
	if s.MinLength != nil && n < *s.MinLength {
		e.add(fmt.Sprintf("must have at least %d characters", *s.MinLength))
	}
	if s.MaxLength != nil && n > *s.MaxLength {
		e.add(fmt.Sprintf("must have at most %d characters", *s.MaxLength))
	}
	if s.Pattern != "" && !e.validates(s, patternPart, v) {
		e.add("must match the pattern " + s.Pattern)
	}
}

func (e *explainer) number(s *jsonschema.Schema, v float64) {
	if s.Minimum != nil && v < *s.Minimum {
		e.add("must be at least " + plain(*s.Minimum))
	}
	if s.Maximum != nil && v > *s.Maximum {
		e.add("must be at most " + plain(*s.Maximum))
	}
	if s.ExclusiveMinimum != nil && v <= *s.ExclusiveMinimum {
		e.add("must be more than " + plain(*s.ExclusiveMinimum))
	}
	if s.ExclusiveMaximum != nil && v >= *s.ExclusiveMaximum {
		e.add("must be less than " + plain(*s.ExclusiveMaximum))
	}
	if s.MultipleOf != nil && !e.validates(s, multiplePart, v) {
		e.add("must be a multiple of " + plain(*s.MultipleOf))
	}
}

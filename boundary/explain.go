package boundary

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
)

const (
	maxExplainDepth  = 64
	maxExplainErrors = 50
)

// An explainer says everything that is wrong with a value, where the validator
// says one thing, and says it in terms of the schema, which is public, where the
// validator shows the value. It runs only on values that are known to be invalid;
// what it cannot find it leaves to the caller to put in general words.
type explainer struct {
	root  *jsonschema.Schema
	found []FieldError
}

func (e *explainer) add(at, format string, args ...any) {
	if len(e.found) < maxExplainErrors {
		e.found = append(e.found, FieldError{Pointer: at, Problem: fmt.Sprintf(format, args...)})
	}
}

func (e *explainer) walk(s *jsonschema.Schema, v any, at string, depth int) {
	if s == nil || depth > maxExplainDepth {
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
		return // of the wrong type, so no other keyword says anything new
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

// definition resolves references within the schema; others are left alone.
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

// validates judges by a schema without references.
func validates(s *jsonschema.Schema, v any) bool {
	resolved, err := s.Resolve(nil)
	return err == nil && resolved.Validate(v) == nil
}

func typeName(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	case float64:
		if v == math.Trunc(v) {
			return "integer"
		}
	}
	return "number"
}

func withArticle(types []string) string {
	named := make([]string, len(types))
	for i, t := range types {
		switch t {
		case "null":
			named[i] = t
		case "array", "integer", "object":
			named[i] = "an " + t
		default:
			named[i] = "a " + t
		}
	}
	return strings.Join(named, " or ")
}

// same compares a value of the schema with one of the arguments, after making
// both what JSON makes of them: a schema written in Go may say int.
func same(a, b any) bool {
	data, err := json.Marshal(a)
	if err != nil {
		return false
	}
	var decoded any
	return json.Unmarshal(data, &decoded) == nil && reflect.DeepEqual(decoded, b)
}

const maxListed = 20

func listed(values []any) string {
	var parts []string
	for _, v := range values[:min(len(values), maxListed)] {
		if data, err := json.Marshal(v); err == nil {
			parts = append(parts, string(data))
		}
	}
	if more := len(values) - maxListed; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, ", ")
}

func plain(f float64) string {
	data, err := json.Marshal(f)
	if err != nil {
		return "a number"
	}
	return string(data)
}

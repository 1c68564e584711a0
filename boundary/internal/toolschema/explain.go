package toolschema

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
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
// when it has enough or ctx ends.
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

// done reports whether there are enough findings, or nobody waits for them.
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

// decoded are values as they come out of JSON. One that does not marshal equals
// nothing that was decoded, and is left out.
func decoded(values []any) []any {
	var all []any
	for _, v := range values {
		var out any
		if data, err := json.Marshal(v); err == nil && json.Unmarshal(data, &out) == nil {
			all = append(all, out)
		}
	}
	return all
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

// A step leads from a value to a member or an item of it.
type step struct {
	name   string
	index  int
	member bool // name counts, else index
}

const maxPointerToken = 64

// pointerTo is a JSON pointer that is fit for a model to read. The names in it may
// come from the caller: a long one is cut, and a character that moves the cursor,
// ends the line or turns the direction of writing becomes an escape.
func pointerTo(path []step, member ...string) string {
	var b strings.Builder
	for _, s := range path {
		if s.member {
			writeToken(&b, s.name)
		} else {
			b.WriteByte('/')
			b.WriteString(strconv.Itoa(s.index))
		}
	}
	for _, name := range member {
		writeToken(&b, name)
	}
	return b.String()
}

func writeToken(b *strings.Builder, name string) {
	b.WriteByte('/')
	n := 0
	for _, r := range name {
		if n++; n > maxPointerToken {
			b.WriteString("...")
			return
		}
		switch {
		case r == '~':
			b.WriteString("~0")
		case r == '/':
			b.WriteString("~1")
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(b, `\U%08x`, r)
		default:
			fmt.Fprintf(b, `\u%04x`, r)
		}
	}
}

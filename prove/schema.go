package prove

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

const (
	maxSchemaBytes = 256 << 10
	maxSchemaDepth = 64
	maxSchemaParts = 10_000 // with each $ref replaced by its target
)

// readSchema reads a schema that somebody else wrote. One that could keep the
// library busy for ever is refused: a $ref that leads back to itself overflows the
// stack in validation, a chain of doubled ones never ends, and deep nesting is
// read once for each level.
func readSchema(raw json.RawMessage) (*jsonschema.Schema, error) {
	if len(raw) > maxSchemaBytes {
		return nil, fmt.Errorf("it has more than %d bytes", maxSchemaBytes)
	}
	var root any
	if err := json.Unmarshal(raw, &root); err != nil {
		return nil, err
	}
	m := measure{root: root, left: maxSchemaParts, open: map[string]bool{}}
	if err := m.add(root, 0); err != nil {
		return nil, err
	}
	var s *jsonschema.Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		// The library reads 1e9 as no integer, which it is.
		respelled, _ := json.Marshal(root) // it was JSON
		if s = nil; json.Unmarshal(respelled, &s) != nil {
			return nil, err
		}
	}
	if s == nil {
		return nil, errors.New("it is null")
	}
	return s, nil
}

// measure counts the parts of a schema.
type measure struct {
	root any
	left int
	open map[string]bool // the references that are being followed
}

func (m *measure) add(part any, depth int) error {
	if m.left--; m.left < 0 {
		return fmt.Errorf("it has more than %d parts", maxSchemaParts)
	}
	if depth > maxSchemaDepth {
		return fmt.Errorf("it is nested deeper than %d", maxSchemaDepth)
	}
	switch part := part.(type) {
	case map[string]any:
		for name, child := range part {
			if name == "$dynamicRef" || name == "$recursiveRef" {
				return fmt.Errorf("it has a %s", name)
			}
			if ref, ok := child.(string); ok && name == "$ref" {
				if err := m.follow(ref, depth); err != nil {
					return err
				}
			}
			if err := m.add(child, depth+1); err != nil {
				return err
			}
		}
	case []any:
		for _, child := range part {
			if err := m.add(child, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *measure) follow(ref string, depth int) error {
	if m.open[ref] {
		return fmt.Errorf("its $ref %q leads back to itself", ref)
	}
	target, ok := m.target(ref)
	if !ok {
		return fmt.Errorf("its $ref %q leads to no part of it by a JSON pointer", ref)
	}
	m.open[ref] = true
	defer delete(m.open, ref)
	return m.add(target, depth+1)
}

func (m *measure) target(ref string) (any, bool) {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok || pointer != "" && pointer[0] != '/' || strings.Contains(pointer, "%") {
		return nil, false
	}
	at := m.root
	for _, token := range strings.Split(pointer, "/")[1:] {
		object, ok := at.(map[string]any)
		if !ok {
			return nil, false
		}
		if at, ok = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(token)]; !ok {
			return nil, false
		}
	}
	return at, true
}

const (
	maxSampleValues = 10_000
	maxSampleBytes  = 1 << 20
	maxSampleDepth  = 8
)

var errLargeSample = fmt.Errorf("what fits the schema has more than %d values or %d bytes", maxSampleValues, maxSampleBytes)

// sample makes an object that fits a schema, with the required properties and no
// other. A schema that demands more than some ten thousand values is an error.
func sample(s *jsonschema.Schema) (made map[string]any, err error) {
	defer guarded(&err)
	return (&sampler{maxSampleValues, maxSampleBytes}).object(s, 0)
}

// guarded turns a panic of the schema library into an error: it panics on some
// schemas that nobody writes in good faith.
func guarded(err *error) {
	if p := recover(); p != nil {
		if v, ok := p.(verdict); ok {
			panic(v)
		}
		*err = fmt.Errorf("the schema cannot be judged by: %v", p)
	}
}

// A sampler makes values that fit schemas, within bounds: a schema demands a
// thousand million items in a few bytes.
type sampler struct{ values, bytes int }

// value makes a value that fits the commonest schemas: a constant, the first of an
// enum, of titled choices or of the examples, a default, or the least value of the type.
func (m *sampler) value(s *jsonschema.Schema, depth int) (any, error) {
	if m.values--; m.values < 0 {
		return nil, errLargeSample
	}
	if depth > maxSampleDepth {
		return nil, errors.New("the schema demands values nested too deep")
	}
	switch {
	case s == nil:
		return "x", nil
	case s.Const != nil:
		return *s.Const, nil
	case len(s.Enum) > 0:
		return s.Enum[0], nil
	case len(titled(s)) > 0:
		return titled(s)[0], nil
	case len(s.Examples) > 0:
		return s.Examples[0], nil
	case len(s.Default) > 0:
		return json.RawMessage(s.Default), nil
	}
	kind := s.Type
	if kind == "" && len(s.Types) > 0 {
		kind = s.Types[len(s.Types)-1] // "null" comes first, if at all
	}
	switch kind {
	case "integer", "number":
		return number(s, kind == "integer"), nil
	case "boolean":
		return true, nil
	case "null":
		return nil, nil
	case "array":
		items := []any{}
		for s.MinItems != nil && len(items) < *s.MinItems {
			item, err := m.value(s.Items, depth+1)
			if err != nil {
				return nil, err
			}
			items = append(items, item)
		}
		return items, nil
	case "object":
		return m.object(s, depth)
	}
	return m.text(s)
}

// object has the required properties and no other.
func (m *sampler) object(s *jsonschema.Schema, depth int) (map[string]any, error) {
	object := map[string]any{}
	for _, name := range s.Required {
		value, err := m.value(s.Properties[name], depth+1)
		if err != nil {
			return nil, err
		}
		object[name] = value
	}
	return object, nil
}

// titled are choices that each have a title.
func titled(s *jsonschema.Schema) (choices []any) {
	for _, one := range slices.Concat(s.OneOf, s.AnyOf) {
		if one.Const != nil {
			choices = append(choices, *one.Const)
		}
	}
	return choices
}

// formatted are texts of the formats that a form may ask for.
var formatted = map[string]string{
	"email": "somebody@example.org", "uri": "https://example.org", "date": "2030-01-31", "date-time": "2030-01-31T12:00:00Z",
}

func (m *sampler) text(s *jsonschema.Schema) (any, error) {
	if text, ok := formatted[s.Format]; ok {
		return text, nil
	}
	n := 1
	if s.MinLength != nil {
		n = max(1, *s.MinLength)
	}
	if n > m.bytes {
		return nil, errLargeSample
	}
	m.bytes -= n
	return strings.Repeat("x", n), nil
}

func number(s *jsonschema.Schema, whole bool) any {
	n := 1.0
	switch {
	case s.Minimum != nil:
		n = *s.Minimum
	case s.ExclusiveMinimum != nil:
		n = *s.ExclusiveMinimum + 1
	case s.Maximum != nil:
		n = min(n, *s.Maximum)
	}
	if whole {
		return math.Ceil(n)
	}
	return n
}

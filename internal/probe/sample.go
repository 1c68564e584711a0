package probe

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

const (
	maxSampleValues = 10_000
	maxSampleBytes  = 1 << 20
	maxSampleDepth  = 8
)

var errLargeSample = fmt.Errorf("what fits the schema has more than %d values or %d bytes", maxSampleValues, maxSampleBytes)

// Sample makes an object that fits a schema, with the required properties and no
// other. It is an error where that takes more than some ten thousand values.
func Sample(s *jsonschema.Schema) (map[string]any, error) {
	return (&sampler{maxSampleValues, maxSampleBytes}).object(s, 0)
}

// A sampler makes values that fit schemas, within bounds: a schema demands a
// thousand million items in a few bytes.
type sampler struct{ values, bytes int }

// value makes a value that fits the commonest schemas: a constant, the first of an
// enum or of the examples, a default, or the least value of the type.
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

func (m *sampler) text(s *jsonschema.Schema) (any, error) {
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

package boundary

import (
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// A plainSchema judges the commonest kind of schema, an object of simple values,
// without the validator's reflection. Only its yes counts: what it does not
// accept, the validator decides.
type plainSchema struct {
	types      []string
	enum       []string
	required   []string
	properties map[string]*plainSchema
	closed     bool // no other properties
	items      *plainSchema
}

// plainOf is nil for a schema that says more than a plainSchema can judge.
func plainOf(s *jsonschema.Schema) *plainSchema {
	return plainAt(s, 0)
}

func plainAt(s *jsonschema.Schema, depth int) *plainSchema {
	const deepest = 16 // a schema made in Go may hold itself
	if s == nil || depth > deepest || !saysNoMore(s) {
		return nil
	}
	p := &plainSchema{types: s.Types, required: s.Required}
	if s.Type != "" {
		p.types = []string{s.Type}
	}
	for _, v := range s.Enum {
		text, ok := v.(string)
		if !ok {
			return nil
		}
		p.enum = append(p.enum, text)
	}
	switch {
	case s.AdditionalProperties == nil:
	case isFalse(s.AdditionalProperties):
		p.closed = true
	default:
		return nil
	}
	if s.Items != nil {
		if p.items = plainAt(s.Items, depth+1); p.items == nil {
			return nil
		}
	}
	if len(s.Properties) > 0 {
		p.properties = make(map[string]*plainSchema, len(s.Properties))
	}
	for name, sub := range s.Properties {
		if p.properties[name] = plainAt(sub, depth+1); p.properties[name] == nil {
			return nil
		}
	}
	return p
}

// saysNoMore reports whether the schema has no keyword that bears on validity but
// those of a plainSchema. A keyword that a later version of the library learns
// makes it false.
func saysNoMore(s *jsonschema.Schema) bool {
	rest := *s
	rest.Type, rest.Types, rest.Enum, rest.Required = "", nil, nil, nil
	rest.Properties, rest.AdditionalProperties, rest.Items = nil, nil, nil
	rest.Schema, rest.Comment, rest.Title, rest.Description, rest.Examples = "", "", "", "", nil
	rest.Default, rest.Deprecated, rest.ReadOnly, rest.WriteOnly, rest.Format = nil, false, false, false, ""
	rest.PropertyOrder = nil
	return reflect.ValueOf(rest).IsZero()
}

func (p *plainSchema) accepts(v any) bool {
	if len(p.types) > 0 {
		got := typeName(v)
		if !slices.Contains(p.types, got) && !(got == "integer" && slices.Contains(p.types, "number")) {
			return false
		}
	}
	if p.enum != nil {
		text, ok := v.(string)
		if !ok || !slices.Contains(p.enum, text) {
			return false
		}
	}
	switch v := v.(type) {
	case []any:
		if p.items != nil {
			for _, item := range v {
				if !p.items.accepts(item) {
					return false
				}
			}
		}
	case map[string]any:
		for _, name := range p.required {
			if _, ok := v[name]; !ok {
				return false
			}
		}
		for name, value := range v {
			sub := p.properties[name]
			if sub == nil && p.closed || sub != nil && !sub.accepts(value) {
				return false
			}
		}
	}
	return true
}

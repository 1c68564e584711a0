// Package form knows the forms that a user can be asked to fill in: on the wire a
// flat object schema, in a small dialect of JSON Schema. It derives such schemas
// from Go types and from choices, checks foreign ones against the dialect, and
// judges answers by them.
package form

import (
	"encoding/json"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/google/jsonschema-go/jsonschema"
)

// Form is a schema that is ready to judge answers.
type Form struct {
	properties map[string]*property
	only       string               // the property's name, in a form of one
	plain      map[string]bool      // all values, in a form of one enum and nothing else
	whole      *jsonschema.Resolved // judges keywords beside the properties; nil where there are none
	expects    string

	schema json.RawMessage // set once it is kept
	short  atomic.Pointer[short]
	keptIn atomic.Uint64 // the generation of the collection that has the form and its short text
}

// Expects says in words which values the form takes.
func (f *Form) Expects() string { return f.expects }

// Of reads a schema. It returns an error where the protocol does not allow a form
// to be so: anything but an object of described properties, each of them a
// string, a number, an integer, a boolean or a list of choices. It reads a schema
// that was given to [Keep] only once.
func Of(schema json.RawMessage) (*Form, error) {
	if f := kept.find(schema); f != nil {
		return f, nil
	}
	return read(schema)
}

func read(schema json.RawMessage) (*Form, error) {
	var s jsonschema.Schema
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, fmt.Errorf("its schema cannot be read: %v", err)
	}
	if s.Type != "object" || s.Properties == nil {
		return nil, fmt.Errorf("its schema must be an object with properties")
	}
	f := &Form{properties: make(map[string]*property, len(s.Properties)), expects: expectation(&s)}
	root := s
	root.Title, root.Description, root.Schema, root.Required, root.PropertyOrder = "", "", "", nil, nil
	root.Properties = make(map[string]*jsonschema.Schema, len(s.Properties))
	whole := false
	for name, schema := range s.Properties {
		p, rest, err := newProperty(schema)
		if err != nil {
			return nil, fmt.Errorf("property %q: %v", name, err)
		}
		root.Properties[name] = rest
		if !isBare(rest) {
			// A schema that refers to another part of the form only works inside of it.
			if p.rest, err = rest.Resolve(nil); err != nil {
				whole = true
			}
		}
		if err := p.takesDefault(schema.Default); err != nil {
			return nil, fmt.Errorf("property %q: %v", name, err)
		}
		f.properties[name] = p
		f.only = name
	}
	for _, name := range s.Required {
		p := f.properties[name]
		if p == nil {
			return nil, fmt.Errorf("its schema requires %q, which it does not describe", name)
		}
		p.required = true
	}
	around := root
	around.Properties = nil
	if !isBare(&around) || whole {
		var err error
		if f.whole, err = root.Resolve(nil); err != nil {
			return nil, fmt.Errorf("its schema cannot be used: %v", err)
		}
	}
	if len(f.properties) > 1 {
		f.only = ""
	} else if p := f.properties[f.only]; p != nil && p.kind == "string" && p.format == "" && p.rest == nil && f.whole == nil && p.shortest == 0 && p.longest == math.MaxInt {
		f.plain = p.choices
	}
	return f, nil
}

func checkProperty(p *jsonschema.Schema) error {
	if p == nil {
		return fmt.Errorf("has no schema")
	}
	switch p.Type {
	case "string":
		switch p.Format {
		case "", "email", "uri", "date", "date-time":
			return nil
		}
		return fmt.Errorf("format %q is not one a form may use", p.Format)
	case "number", "integer", "boolean":
		return nil
	case "array":
		if p.Items == nil || (len(p.Items.Enum) == 0 && len(p.Items.AnyOf) == 0) {
			return fmt.Errorf("a list in a form must name its choices")
		}
		return nil
	}
	return fmt.Errorf("type %q is not one a form may use", p.Type)
}

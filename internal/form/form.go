// Package form knows the forms that a user can be asked to fill in: on the wire a
// flat object schema, in a small dialect of JSON Schema. It derives such schemas
// from Go types and from choices, checks foreign ones against the dialect, and
// judges answers by them.
package form

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// Form is a schema that is ready to judge answers.
type Form struct {
	resolved   *jsonschema.Resolved
	properties map[string]*jsonschema.Schema
	only       string          // the property's name, in a form of one
	choices    map[string]bool // all values, in a form of one plain enum
	expects    string
}

// Expects says in words which values the form takes.
func (f *Form) Expects() string { return f.expects }

// Of reads a schema. It returns an error where the protocol does not allow a form
// to be so: anything but an object of described properties, each of them a
// string, a number, an integer, a boolean or a list of choices.
//
// Forms are kept by the bytes of their schema, for reading one costs dozens of
// times as much as judging an answer. Forms with choices made at run time come
// without end, so there is a bound, after which the collection starts afresh.
func Of(schema json.RawMessage) (*Form, error) {
	forms.RLock()
	f := forms.bySchema[string(schema)]
	forms.RUnlock()
	if f != nil {
		return f, nil
	}
	f, err := read(schema)
	if err != nil {
		return nil, err
	}
	forms.Lock()
	defer forms.Unlock()
	if len(forms.bySchema) >= maxForms {
		clear(forms.bySchema)
	}
	forms.bySchema[string(schema)] = f
	return f, nil
}

const maxForms = 1024

var forms = struct {
	sync.RWMutex
	bySchema map[string]*Form
}{bySchema: map[string]*Form{}}

func read(schema json.RawMessage) (*Form, error) {
	var s jsonschema.Schema
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, fmt.Errorf("its schema cannot be read: %v", err)
	}
	if s.Type != "object" || len(s.Properties) == 0 {
		return nil, fmt.Errorf("its schema must be an object with properties")
	}
	for _, name := range s.Required {
		if s.Properties[name] == nil {
			return nil, fmt.Errorf("its schema requires %q, which it does not describe", name)
		}
	}
	f := &Form{properties: s.Properties}
	for name, p := range s.Properties {
		if err := checkProperty(p); err != nil {
			return nil, fmt.Errorf("property %q: %v", name, err)
		}
		f.only = name
	}
	if len(s.Properties) > 1 {
		f.only = ""
	}
	f.expects = expectation(&s)
	f.choices = onlyChoices(&s, f.only)
	var err error
	if f.resolved, err = s.Resolve(nil); err != nil {
		return nil, fmt.Errorf("its schema cannot be used: %v", err)
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

package mrtr

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// compiledForm is a form's schema, ready to judge answers.
type compiledForm struct {
	resolved   *jsonschema.Resolved
	properties map[string]*jsonschema.Schema
	only       string          // the property's name, in a form of one
	expects    string          // what it takes, in words
	choices    map[string]bool // all that it takes, in a form that only gives choices
}

// forms caches compiled schemas by their bytes: compiling costs dozens of
// times what judging an answer does. Forms with choices made at run time come
// without end, so the cache is bounded, and starts afresh when it is full.
var forms = formCache{byBytes: map[string]*compiledForm{}}

const maxForms = 1024

type formCache struct {
	mu      sync.RWMutex
	byBytes map[string]*compiledForm
}

// formOf compiles a schema, or finds it compiled.
func formOf(schema json.RawMessage) (*compiledForm, error) {
	forms.mu.RLock()
	f := forms.byBytes[string(schema)]
	forms.mu.RUnlock()
	if f != nil {
		return f, nil
	}
	f, err := compileForm(schema)
	if err != nil {
		return nil, err
	}
	forms.mu.Lock()
	defer forms.mu.Unlock()
	if len(forms.byBytes) >= maxForms {
		clear(forms.byBytes)
	}
	forms.byBytes[string(schema)] = f
	return f, nil
}

// compileForm also holds a schema to what the wire allows a form to be.
func compileForm(schema json.RawMessage) (*compiledForm, error) {
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
	f := &compiledForm{properties: s.Properties}
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

// check judges a value in the form the state keeps it: a default, or the
// answer of a question asked over the session.
func (s *spec) check(value json.RawMessage) error {
	if s.kind != formKind {
		return nil
	}
	f, err := formOf(s.schema)
	if err != nil {
		return err
	}
	var content map[string]any
	if err := json.Unmarshal(value, &content); err != nil {
		return err
	}
	_, err = f.accept(content)
	return err
}

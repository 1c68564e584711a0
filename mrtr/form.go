package mrtr

import (
	"encoding/json"
	"fmt"
	"net/mail"
	"net/url"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// compiledForm is a form's schema, ready to judge answers.
type compiledForm struct {
	resolved   *jsonschema.Resolved
	properties map[string]*jsonschema.Schema
	only       string // the property's name, in a form of one
	expects    string // what it takes, in words
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

// accept judges the content of an answer. What it returns is the value as the
// state keeps it: the properties the form asked for, and no others.
func (f *compiledForm) accept(content map[string]any) (json.RawMessage, error) {
	asked := content
	for name := range content {
		if f.properties[name] == nil {
			asked = f.onlyAsked(content)
			break
		}
	}
	if asked == nil {
		asked = map[string]any{}
	}
	if err := f.resolved.Validate(asked); err != nil {
		return nil, err
	}
	for name, v := range asked {
		if err := checkRange(f.properties[name], v); err != nil {
			return nil, err
		}
	}
	if text, ok := asked[f.only].(string); ok && f.only != "" {
		value := make(json.RawMessage, 0, len(f.only)+len(text)+8)
		value = append(appendString(append(value, '{'), f.only), ':')
		return append(appendString(value, text), '}'), nil
	}
	return json.Marshal(asked)
}

func (f *compiledForm) onlyAsked(content map[string]any) map[string]any {
	asked := make(map[string]any, len(content))
	for name, v := range content {
		if f.properties[name] != nil {
			asked[name] = v
		}
	}
	return asked
}

// checkRange holds what a JSON Schema validator leaves alone: formats, and
// integers that a JSON number cannot carry exactly.
func checkRange(p *jsonschema.Schema, v any) error {
	switch v := v.(type) {
	case float64:
		if p.Type == "integer" && (v > 1<<53 || v < -1<<53) {
			return fmt.Errorf("integer out of range")
		}
	case string:
		var err error
		switch p.Format {
		case "email":
			_, err = mail.ParseAddress(v)
		case "uri":
			var u *url.URL
			if u, err = url.Parse(v); err == nil && u.Scheme == "" {
				err = fmt.Errorf("no scheme")
			}
		case "date":
			_, err = time.Parse(time.DateOnly, v)
		case "date-time":
			// Stricter than time.Parse, and what a time.Time decodes with.
			err = new(time.Time).UnmarshalText([]byte(v))
		}
		if err != nil {
			return fmt.Errorf("not a %s", p.Format)
		}
	}
	return nil
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

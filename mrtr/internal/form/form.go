// Package form knows the forms that a user can be asked to fill in: on the wire a
// flat object schema, in a small dialect of JSON Schema. It derives such schemas
// from Go types and from choices, checks foreign ones against the dialect, and
// judges answers by them.
package form

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/mrtr-go/sdk/internal/jsontext"
	"github.com/mrtr-go/sdk/internal/plaintext"
)

// Form is a schema that is ready to judge answers.
type Form struct {
	properties map[string]*property
	only       string               // the property's name, in a form of one
	plain      map[string]bool      // all values, in a form of one enum and nothing else
	whole      *jsonschema.Resolved // judges keywords beside the properties; nil where there are none
	expects    string
	words      words

	schema json.RawMessage // set once it is kept, under the lock of the collection
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
	f.words = wordsOf(&s)
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

// maxKept bounds the memory of the forms that are kept, in bytes as [Form.weigh]
// estimates them.
const maxKept = 8 << 20

// kept are forms by the bytes of their schema, for reading one costs dozens of
// times as much as judging an answer. Forms with choices made at run time come
// without end, so that a full collection starts afresh.
var kept collection

type collection struct {
	sync.RWMutex
	bySchema map[string]*Form
	weight   int
}

// Keep keeps a form, for the answers to its question, and for the next question
// like it. It is for questions that have been sent: a schema that is too large to
// be sent never comes back, and would hold its memory for nothing.
func Keep(schema json.RawMessage, f *Form) {
	kept.keep(schema, f)
}

// Kept finds the form of a schema, and its schema in memory that they share. Both are nil
// for a schema that is not kept.
func Kept(schema string) (*Form, json.RawMessage) {
	kept.RLock()
	defer kept.RUnlock()
	if f := kept.bySchema[schema]; f != nil {
		return f, f.schema
	}
	return nil, nil
}

func (c *collection) find(schema json.RawMessage) *Form {
	c.RLock()
	defer c.RUnlock()
	return c.bySchema[string(schema)]
}

func (c *collection) keep(schema json.RawMessage, f *Form) {
	weight := f.weigh(schema)
	if weight > maxKept || c.find(schema) != nil {
		return
	}
	c.Lock()
	defer c.Unlock()
	if c.bySchema[string(schema)] != nil { // somebody was quicker
		return
	}
	if c.bySchema == nil || c.weight+weight > maxKept {
		c.bySchema, c.weight = map[string]*Form{}, 0
	}
	f.schema = schema
	c.bySchema[string(schema)] = f
	c.weight += weight
}

// weigh estimates the memory of a form by the size of its schema, and by how much of
// the schema the library has to judge, which needs far more.
func (f *Form) weigh(schema json.RawMessage) int {
	weight := 2<<10 + 8*len(schema)
	for _, p := range f.properties {
		if p.rest != nil {
			weight += 4 << 10
		}
	}
	if f.whole != nil {
		weight += 96 * len(schema)
	}
	return weight
}

// Plain puts the titles and descriptions of a form through [plaintext.Text]. Everything
// else stays byte for byte: values and the names of properties, since answers are
// compared with them. A schema with nothing to replace is returned itself.
func Plain(schema json.RawMessage) json.RawMessage {
	if bytes.IndexByte(schema, '\\') < 0 && bytes.IndexFunc(schema, plaintext.Steers) < 0 {
		return schema
	}
	plain, _ := plainIn("", schema)
	return plain
}

// plainIn is Plain for the value of a member.
func plainIn(name string, value json.RawMessage) (_ json.RawMessage, changed bool) {
	w := jsontext.Walk(value, jsontext.MaxDepth)
	switch w.Kind() {
	case '"':
		var text string
		if !shown[name] || json.Unmarshal(value, &text) != nil {
			return value, false
		}
		if plain := plaintext.Text(text); plain != text {
			return jsontext.AppendString(nil, plain), true
		}
	case '{':
		object, err := membersOf(value)
		if err != nil {
			return value, false
		}
		for i, m := range object {
			plain, one := plainIn(m.name, m.value)
			object[i].value, changed = plain, changed || one
		}
		if changed {
			return object.encode(), true
		}
	case '[':
		list := json.RawMessage{'['}
		for i := range w.Elements {
			if i > 0 {
				list = append(list, ',')
			}
			plain, one := plainIn(name, w.Value())
			list, changed = append(list, plain...), changed || one
		}
		if changed {
			return append(list, ']'), true
		}
	}
	return value, false
}

// shown are the members of a schema that are text for the user, where they are strings.
var shown = map[string]bool{"title": true, "description": true, "enumNames": true}

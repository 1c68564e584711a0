package form

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/mrtr-go/sdk/internal/jsontext"
	"github.com/mrtr-go/sdk/internal/plaintext"
)

// field is one field of a form that is being derived.
type field struct {
	name     string
	schema   json.RawMessage
	required bool
}

// Types derives forms from Go types.
type Types struct {
	// Choices gives the values of an enum type, and false for any other type.
	Choices func(t reflect.Type) ([]Choice, bool)

	// derived holds the form of a struct, and the one property of any other type.
	// Its size is bounded by the program's types, not by names, which may be made
	// at run time.
	derived sync.Map // reflect.Type to json.RawMessage
}

// Schema derives a form from a Go type. A struct is the whole form; any other
// type is its one property, with the given name. It returns an error for a type
// that has no form: one that nests, or that no JSON value of a form can fill.
func (d *Types) Schema(t reflect.Type, name string) (json.RawMessage, error) {
	whole := IsWhole(t)
	schema, ok := d.derived.Load(t)
	if !ok {
		var made json.RawMessage
		var err error
		if whole {
			made, err = d.structSchema(t)
		} else {
			made, err = d.valueSchema(t, "")
		}
		if err != nil {
			return nil, err
		}
		schema, _ = d.derived.LoadOrStore(t, made)
	}
	if whole {
		return schema.(json.RawMessage), nil
	}
	return oneProperty(name, schema.(json.RawMessage)), nil
}

func (d *Types) structSchema(t reflect.Type) (json.RawMessage, error) {
	fields, err := fieldsOf(t)
	if err != nil {
		return nil, err
	}
	var properties []field
	for _, f := range fields {
		value, err := d.valueSchema(f.typ, f.description)
		if err == nil {
			value, err = applyTags(value, f.tag)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %v", f.place, err)
		}
		properties = append(properties, field{name: f.name, schema: value, required: !f.optional})
	}
	return objectSchema(properties), nil
}

// valueSchema is the schema of one property. It is written by hand because
// the wire's form schemas are a small dialect (flat, no null, enums spelled
// out) and because the order of a form's fields matters to people.
func (d *Types) valueSchema(t reflect.Type, description string) (json.RawMessage, error) {
	if c, ok := d.Choices(t); ok {
		if t.Kind() != reflect.String {
			return nil, fmt.Errorf("%s has a method Choices, which only string types may", t)
		}
		s, err := enumSchema(c, "oneOf")
		return describe(s, description), err
	}
	if t == reflect.TypeFor[time.Time]() {
		return describe(json.RawMessage(`{"type":"string","format":"date-time"}`), description), nil
	}
	if t == reflect.TypeFor[json.Number]() {
		return describe(json.RawMessage(`{"type":"number"}`), description), nil
	}
	if readsText(t) {
		return describe(json.RawMessage(`{"type":"string"}`), description), nil
	}
	var s string
	switch t.Kind() {
	case reflect.String:
		s = `{"type":"string"}`
	case reflect.Bool:
		s = `{"type":"boolean"}`
	case reflect.Float64:
		s = `{"type":"number"}`
	case reflect.Float32:
		s = fmt.Sprintf(`{"type":"number","minimum":%g,"maximum":%[2]g}`, -math.MaxFloat32, math.MaxFloat32)
	case reflect.Int, reflect.Int64:
		s = `{"type":"integer"}`
	case reflect.Uint, reflect.Uint64, reflect.Uintptr:
		s = `{"type":"integer","minimum":0}`
	case reflect.Int8, reflect.Int16, reflect.Int32:
		s = fmt.Sprintf(`{"type":"integer","minimum":%d,"maximum":%d}`, -1<<(t.Bits()-1), 1<<(t.Bits()-1)-1)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		s = fmt.Sprintf(`{"type":"integer","minimum":0,"maximum":%d}`, uint64(1)<<t.Bits()-1)
	case reflect.Slice:
		c, ok := d.Choices(t.Elem())
		if !ok || t.Elem().Kind() != reflect.String {
			return nil, fmt.Errorf("%s: a list can only hold an enum (a string type with a method Choices)", t)
		}
		list, err := listSchema(c)
		return describe(list, description), err
	default:
		return nil, fmt.Errorf("%s cannot be asked for in a form: only strings, booleans, numbers, enums and lists of enums can", t)
	}
	return describe(json.RawMessage(s), description), nil
}

// describe puts a description into a schema object.
func describe(schema json.RawMessage, description string) json.RawMessage {
	if description == "" || len(schema) == 0 {
		return schema
	}
	s := append(json.RawMessage(nil), schema[:len(schema)-1]...)
	s = append(s, `,"description":`...)
	s = jsontext.AppendString(s, description)
	return append(s, '}')
}

func oneProperty(name string, schema json.RawMessage) json.RawMessage {
	return objectSchema([]field{{name: name, schema: schema, required: true}})
}

func objectSchema(properties []field) json.RawMessage {
	s := make(json.RawMessage, 0, 256)
	s = append(s, `{"type":"object","properties":{`...)
	for i, p := range properties {
		if i > 0 {
			s = append(s, ',')
		}
		s = append(jsontext.AppendString(s, p.name), ':')
		s = append(s, p.schema...)
	}
	s = append(s, '}')
	separator := `,"required":[`
	for _, p := range properties {
		if p.required {
			s = jsontext.AppendString(append(s, separator...), p.name)
			separator = ","
		}
	}
	if separator == "," {
		s = append(s, ']')
	}
	return append(s, '}')
}

// Choice is one of the values that a person may pick. The title is shown instead
// of the value, where there is one.
type Choice struct{ Value, Title string }

// OfChoices is the schema of a form with one property, an enum of the choices.
func OfChoices(name string, choices []Choice) (json.RawMessage, error) {
	values, err := enumSchema(choices, "oneOf")
	if err != nil {
		return nil, err
	}
	return oneProperty(name, values), nil
}

// OfSeveralChoices is the schema of a form with one property, a list of the choices.
func OfSeveralChoices(name string, choices []Choice) (json.RawMessage, error) {
	list, err := listSchema(choices)
	if err != nil {
		return nil, err
	}
	return oneProperty(name, list), nil
}

// enumSchema is a string of which the schema lists the values, with titles where
// any choice has one: in a oneOf, and for the items of a list in an anyOf without the type.
func enumSchema(choices []Choice, titles string) (json.RawMessage, error) {
	titled, err := checkChoices(choices)
	if err != nil {
		return nil, err
	}
	open := `{"type":"string",`
	if titled && titles == "anyOf" {
		open = `{`
	}
	return appendChoices(json.RawMessage(open), choices, titled, titles), nil
}

// listSchema is a list that takes each of the choices once.
func listSchema(choices []Choice) (json.RawMessage, error) {
	items, err := enumSchema(choices, "anyOf")
	if err != nil {
		return nil, err
	}
	return json.RawMessage(`{"type":"array","items":` + string(items) + `,"uniqueItems":true,"maxItems":` + strconv.Itoa(len(choices)) + `}`), nil
}

func checkChoices(choices []Choice) (titled bool, _ error) {
	if len(choices) == 0 {
		return false, fmt.Errorf("there is nothing to choose from")
	}
	seen := make(map[string]bool, len(choices))
	for _, c := range choices {
		if c.Value == "" || seen[c.Value] || !utf8.ValidString(c.Value) {
			return false, fmt.Errorf("choice %q is empty, given twice or not UTF-8", c.Value)
		}
		seen[c.Value] = true
		// A value is sent as it is, for answers are compared with it. One that would steer
		// what shows it has a title, which is shown instead and is put right by Plain.
		titled = titled || c.Title != "" || plaintext.Text(c.Value) != c.Value
	}
	return titled, nil
}

func appendChoices(s json.RawMessage, choices []Choice, titled bool, keyword string) json.RawMessage {
	if !titled {
		s = append(s, `"enum":[`...)
	} else {
		s = append(append(append(s, '"'), keyword...), `":[`...)
	}
	for i, c := range choices {
		if i > 0 {
			s = append(s, ',')
		}
		if !titled {
			s = jsontext.AppendString(s, c.Value)
			continue
		}
		title := c.Title
		if title == "" {
			title = c.Value
		}
		s = jsontext.AppendString(append(s, `{"const":`...), c.Value)
		s = jsontext.AppendString(append(s, `,"title":`...), title)
		s = append(s, '}')
	}
	return append(s, "]}"...)
}

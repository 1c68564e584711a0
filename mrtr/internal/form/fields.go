package form

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// structField is a field that an answer's struct is filled by.
type structField struct {
	name        string // in JSON
	place       string // in Go, for messages
	typ         reflect.Type
	tag         reflect.StructTag
	description string
	optional    bool
}

// setting matches a tag that is written as if it set a keyword. go-sdk refuses the
// same in a tool's input.
var setting = regexp.MustCompile(`^[^ \t\n]*=`)

// fieldsOf are the fields of a struct, and those of the structs that it embeds, as
// encoding/json finds them. Two of one name are an error: of those, encoding/json
// may fill neither.
func fieldsOf(t reflect.Type) ([]structField, error) {
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("%s is not a struct", t)
	}
	fields, err := appendFields(nil, t)
	if err != nil {
		return nil, err
	}
	if len(fields) == 0 {
		return nil, fmt.Errorf("%s has no fields to fill in", t)
	}
	seen := map[string]bool{}
	for _, f := range fields {
		if seen[f.name] {
			return nil, fmt.Errorf("%s: two fields are named %q", t, f.name)
		}
		seen[f.name] = true
	}
	return fields, nil
}

func appendFields(fields []structField, t reflect.Type) (_ []structField, err error) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" && options == "" {
			continue
		}
		place := fmt.Sprintf("%s.%s", t, f.Name)
		if f.Anonymous && f.Type.Kind() == reflect.Struct && name == "" {
			if refusesItself(f.Type) {
				return nil, fmt.Errorf("%s: an embedded type that decodes itself would decode the whole answer", place)
			}
			if fields, err = appendFields(fields, f.Type); err != nil {
				return nil, err
			}
			continue
		}
		if f.Anonymous || !f.IsExported() {
			return nil, fmt.Errorf("%s: a form has exported, named fields only, and those of embedded structs", place)
		}
		if name == "" {
			name = f.Name
		}
		own := structField{name: name, place: place, typ: f.Type, tag: f.Tag, description: f.Tag.Get("jsonschema")}
		for _, option := range strings.Split(options, ",") {
			own.optional = own.optional || option == "omitempty" || option == "omitzero"
			if option == "string" {
				return nil, fmt.Errorf("%s: the json option \"string\" makes its value another type than the form's", place)
			}
		}
		if setting.MatchString(own.description) {
			return nil, fmt.Errorf("%s: its jsonschema tag is a description, and %q would set nothing: a limit has a tag of its own, as in minLength:\"5\"", place, own.description)
		}
		if own.typ.Kind() == reflect.Pointer {
			own.optional, own.typ = true, own.typ.Elem()
		}
		fields = append(fields, own)
	}
	return fields, nil
}

// Fits says why answers to a form that was made at run time cannot be read into a
// type, nil if they can: as far as the kinds of its properties tell. A field that the
// form lacks stays zero. A type that is not a whole form is the property of the given
// name.
func Fits(t reflect.Type, name string, schema json.RawMessage) error {
	if t.Kind() == reflect.Map {
		return nil
	}
	var form jsonschema.Schema
	if err := json.Unmarshal(schema, &form); err != nil {
		return fmt.Errorf("its schema cannot be read: %v", err)
	}
	fields := []structField{{name: name, place: t.String(), typ: t}}
	if IsWhole(t) {
		var err error
		if fields, err = fieldsOf(t); err != nil {
			return err
		}
	}
	types := map[string]string{}
	for _, f := range fields {
		if types[f.name] = jsonType(f.typ); types[f.name] == "" {
			return fmt.Errorf("%s: %s cannot be filled by a form", f.place, f.typ)
		}
	}
	for property, p := range form.Properties {
		typ, ok := types[property]
		switch {
		case !ok:
			return fmt.Errorf("its schema has property %q, and %s has no field for it", property, t)
		case p != nil && typ != anyType && typ != p.Type && (typ != "number" || p.Type != "integer"):
			return fmt.Errorf("property %q is of type %q, and its field in %s takes %q", property, p.Type, t, typ)
		}
	}
	return nil
}

// Fillable reports whether the answers to some form can be read into a type.
func Fillable(t reflect.Type) bool {
	return Fits(t, "property", json.RawMessage(`{}`)) == nil
}

// anyType stands for a type that reads JSON of any type.
const anyType = "any"

// jsonType is the type of the property that fills a Go type, "" where none does.
func jsonType(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[json.Number]():
		return "number"
	case t == reflect.TypeFor[time.Time](), readsText(t):
		return "string"
	case refusesItself(t):
		return anyType
	}
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Float32, reflect.Float64:
		return "number"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return "integer"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.String {
			return "array"
		}
	}
	return ""
}

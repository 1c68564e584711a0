package form

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/mrtr-go/sdk/internal/jsontext"
)

// The tags of a field that set a keyword of its property, in the order in which the
// keywords are written, and the types of property that have the keyword.
var keywordTags = []struct {
	keyword string
	types   string
	value   func(tag, typ string) (json.RawMessage, bool)
}{
	{"title", "string number integer boolean array", textValue},
	{"format", "string", textValue},
	{"minLength", "string", countValue},
	{"maxLength", "string", countValue},
	{"minimum", "number integer", numberValue},
	{"maximum", "number integer", numberValue},
	{"minItems", "array", countValue},
	{"maxItems", "array", countValue},
	{"default", "string number integer boolean array", defaultValue},
}

// foreignTags are keywords of JSON Schema that no form has. A tag of one would set
// nothing, and whoever wrote it believes that it does.
var foreignTags = map[string]string{
	"description":      "the description is the jsonschema tag",
	"pattern":          "a form has no patterns: give the type a method UnmarshalText that refuses what does not match",
	"enum":             "give the type a method Choices",
	"exclusiveMinimum": "a form has minimum",
	"exclusiveMaximum": "a form has maximum",
	"multipleOf":       "a form has minimum and maximum alone",
}

// applyTags puts the keywords that a field's tags set into the schema of its value.
func applyTags(schema json.RawMessage, tag reflect.StructTag) (json.RawMessage, error) {
	if tag == "" {
		return schema, nil
	}
	for keyword, instead := range foreignTags {
		if _, ok := tag.Lookup(keyword); ok {
			return nil, fmt.Errorf("its tag %s would set nothing: %s", keyword, instead)
		}
	}
	property, err := membersOf(schema)
	if err != nil {
		return nil, err
	}
	var typ string
	if err := json.Unmarshal(property.get("type"), &typ); err != nil {
		return nil, err
	}
	chosen, instant := property.get("enum") != nil || property.get("oneOf") != nil, property.get("format") != nil
	for _, k := range keywordTags {
		for _, other := range []string{strings.ToLower(k.keyword), strings.ToUpper(k.keyword[:1]) + k.keyword[1:]} {
			if _, ok := tag.Lookup(other); ok && other != k.keyword {
				return nil, fmt.Errorf("its tag %s would set nothing: it is spelled %s", other, k.keyword)
			}
		}
		text, ok := tag.Lookup(k.keyword)
		if !ok {
			continue
		}
		limits := k.keyword != "title" && k.keyword != "default"
		switch {
		case !strings.Contains(k.types, typ), chosen && limits:
			return nil, fmt.Errorf("its tag %s does not go with its type", k.keyword)
		case instant && limits:
			return nil, fmt.Errorf("its tag %s does not go with its type: a time.Time is an instant (date-time), and a day is a string with the tag format:\"date\"", k.keyword)
		}
		value, ok := k.value(text, typ)
		if !ok {
			return nil, fmt.Errorf("its tag %s:%q cannot be read", k.keyword, text)
		}
		if widens(k.keyword, property.get(k.keyword), value) {
			return nil, fmt.Errorf("its tag %s:%q allows what its type cannot hold", k.keyword, text)
		}
		property = property.set(k.keyword, value)
	}
	return property.encode(), nil
}

// widens reports whether a bound lets more through than the one of the type.
func widens(keyword string, types, tags json.RawMessage) bool {
	of, err := strconv.ParseFloat(string(types), 64)
	if err != nil { // the type has none
		return false
	}
	to, _ := strconv.ParseFloat(string(tags), 64)
	return strings.HasPrefix(keyword, "min") && to < of || strings.HasPrefix(keyword, "max") && to > of
}

func textValue(tag, _ string) (json.RawMessage, bool) {
	return jsontext.AppendString(nil, tag), tag != ""
}

func countValue(tag, _ string) (json.RawMessage, bool) {
	n, err := strconv.Atoi(tag)
	return json.RawMessage(strconv.Itoa(n)), err == nil && n >= 0
}

func numberValue(tag, _ string) (json.RawMessage, bool) {
	var n json.Number
	err := json.Unmarshal([]byte(tag), &n)
	return json.RawMessage(tag), err == nil && !strings.HasPrefix(tag, `"`)
}

// defaultValue reads a default. That of a list is its values with commas between.
func defaultValue(tag, typ string) (json.RawMessage, bool) {
	switch typ {
	case "string":
		return jsontext.AppendString(nil, tag), true
	case "boolean":
		return json.RawMessage(tag), tag == "true" || tag == "false"
	case "array":
		value, err := json.Marshal(strings.Split(tag, ","))
		return value, err == nil
	}
	return numberValue(tag, typ)
}

// members are those of a JSON object in their order, which a map would lose. The
// order of a form's fields matters to people.
type members []member

type member struct {
	name  string
	value json.RawMessage
}

func membersOf(object json.RawMessage) (members, error) {
	var all members
	w := jsontext.Walk(object, jsontext.MaxDepth)
	for name := range w.Members {
		all = append(all, member{string(name), w.Value()})
	}
	if !w.End() {
		return nil, errors.New("its schema is not a JSON object")
	}
	return all, nil
}

// get is the value of a member, nil where there is none.
func (m members) get(name string) json.RawMessage {
	for _, one := range m {
		if one.name == name {
			return one.value
		}
	}
	return nil
}

// set replaces a member, or adds it at the end.
func (m members) set(name string, value json.RawMessage) members {
	for i := range m {
		if m[i].name == name {
			m[i].value = value
			return m
		}
	}
	return append(m, member{name, value})
}

func (m members) encode() json.RawMessage {
	s := json.RawMessage{'{'}
	for i, one := range m {
		if i > 0 {
			s = append(s, ',')
		}
		s = append(jsontext.AppendString(s, one.name), ':')
		s = append(s, one.value...)
	}
	return append(s, '}')
}

// Prefill puts the values of an answer into a form as its defaults, so that the user
// finds them filled in. A value that is empty leaves its property empty; one for a
// property that the form lacks is an error.
func Prefill(schema, answer json.RawMessage) (json.RawMessage, error) {
	values, err := membersOf(answer)
	if err != nil {
		return nil, err
	}
	for _, v := range values {
		if isEmpty(v.value) {
			continue
		}
		if schema, err = Set(schema, v.name, "default", v.value); err != nil {
			return nil, err
		}
	}
	return schema, nil
}

// Set sets a keyword of one property of a form.
func Set(schema json.RawMessage, name, keyword string, value json.RawMessage) (json.RawMessage, error) {
	form, err := membersOf(schema)
	if err != nil {
		return nil, err
	}
	properties, err := membersOf(form.get("properties"))
	if err != nil {
		return nil, err
	}
	described := properties.get(name)
	if described == nil {
		return nil, fmt.Errorf("the form has no property %q", name)
	}
	property, err := membersOf(described)
	if err != nil {
		return nil, err
	}
	properties.set(name, property.set(keyword, value).encode())
	return form.set("properties", properties.encode()).encode(), nil
}

// SetText sets a keyword whose value is text.
func SetText(schema json.RawMessage, name, keyword, text string) (json.RawMessage, error) {
	return Set(schema, name, keyword, jsontext.AppendString(nil, text))
}

// Limit bounds how many items one property of a form takes, which is a list of choices.
func Limit(schema json.RawMessage, name string, least, most int) (json.RawMessage, error) {
	schema, err := Set(schema, name, "minItems", json.RawMessage(strconv.Itoa(least)))
	if err != nil {
		return nil, err
	}
	return Set(schema, name, "maxItems", json.RawMessage(strconv.Itoa(most)))
}

// isEmpty reports whether a value is the zero value of its Go type.
func isEmpty(value json.RawMessage) bool {
	switch string(value) {
	case `null`, `""`, `0`, `false`, `[]`, `"0001-01-01T00:00:00Z"`:
		return true
	}
	return false
}

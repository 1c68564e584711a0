package form

import (
	"encoding/json"
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
	chosen := property.get("enum") != nil || property.get("oneOf") != nil
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
		case k.keyword == "format" && property.get("format") != nil:
			return nil, fmt.Errorf("its type has a format already")
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

package form

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/mrtr-go/sdk/internal/jsontext"
)

// OfTexts is a form as it is sent to a client that shows texts alone: every property is a
// string, and its description says what to write there. [FromTexts] reads the answers.
func OfTexts(schema json.RawMessage) (json.RawMessage, error) {
	form, err := membersOf(schema)
	if err != nil {
		return nil, err
	}
	properties, err := membersOf(form.get("properties"))
	if err != nil {
		return nil, err
	}
	for i := range properties {
		var p jsonschema.Schema
		if err := json.Unmarshal(properties[i].value, &p); err != nil {
			return nil, err
		}
		properties[i].value = textProperty(&p)
	}
	s := members{{"type", json.RawMessage(`"object"`)}, {"properties", properties.encode()}}
	if required := form.get("required"); required != nil {
		s = append(s, member{"required", required})
	}
	return s.encode(), nil
}

func textProperty(p *jsonschema.Schema) json.RawMessage {
	s := members{{"type", json.RawMessage(`"string"`)}}
	text := func(name, value string) {
		if value != "" {
			s = append(s, member{name, jsontext.AppendString(nil, value)})
		}
	}
	count := func(name string, value *int) {
		if value != nil {
			s = append(s, member{name, json.RawMessage(strconv.Itoa(*value))})
		}
	}
	text("title", p.Title)
	description := p.Description
	if words := writtenAs(p); words != "" && description != "" {
		description += " (" + words + ")"
	} else {
		description += words
	}
	text("description", description)
	text("format", p.Format)
	count("minLength", p.MinLength)
	count("maxLength", p.MaxLength)
	text("default", textDefault(p.Default))
	return s.encode()
}

// writtenAs tells a person what to write, "" where any text will do.
func writtenAs(p *jsonschema.Schema) string {
	switch p.Type {
	case "boolean":
		return "yes or no"
	case "integer":
		return "a whole number" + limits(p)
	case "number":
		return "a number" + limits(p)
	case "array":
		return "any of these, with commas between them: " + choicesIn(p).shown() + listLimits(p)
	}
	if len(p.Enum)+len(p.OneOf) > 0 {
		return "one of: " + choicesIn(p).shown()
	}
	return ""
}

// textDefault is the default of a property, as its user would write it.
func textDefault(value json.RawMessage) string {
	var v any
	if len(value) == 0 || json.Unmarshal(value, &v) != nil {
		return ""
	}
	switch v := v.(type) {
	case string:
		return v
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case []any:
		items := make([]string, len(v))
		for i := range v {
			items[i], _ = v[i].(string)
		}
		return strings.Join(items, ", ")
	}
	return string(value)
}

// FromTexts is the content of an answer with the texts read as the form asks for them. A
// text that cannot be read stays, for [Form.Accept] to refuse, and so does one of more than
// limit bytes. One that is left empty is no answer, unless any text is one.
func FromTexts(schema json.RawMessage, content map[string]any, limit int) (map[string]any, error) {
	var form jsonschema.Schema
	if err := json.Unmarshal(schema, &form); err != nil {
		return nil, err
	}
	read := maps.Clone(content)
	for name, p := range form.Properties {
		text, ok := content[name].(string)
		if !ok || len(text) > limit {
			continue
		}
		v, ok := readText(p, text)
		switch {
		case ok:
			read[name] = v
		case strings.TrimSpace(text) == "":
			delete(read, name)
		}
	}
	return read, nil
}

func readText(p *jsonschema.Schema, text string) (any, bool) {
	trimmed := strings.TrimSpace(text)
	switch p.Type {
	case "boolean":
		yes := strings.EqualFold(trimmed, "yes") || strings.EqualFold(trimmed, "true")
		return yes, yes || strings.EqualFold(trimmed, "no") || strings.EqualFold(trimmed, "false")
	case "integer", "number":
		if strings.Trim(trimmed, "+-.0123456789eE") != "" { // ParseFloat reads more than JSON has
			return nil, false
		}
		n, err := strconv.ParseFloat(trimmed, 64)
		return n, err == nil && !math.IsInf(n, 0)
	case "array":
		all := choicesIn(p)
		if list, ok := all.list(trimmed, all.value); ok {
			return list, true
		}
		return all.list(trimmed, all.find)
	}
	if len(p.Enum)+len(p.OneOf) > 0 {
		return choicesIn(p).find(text)
	}
	return text, true
}

// choices are those of an enum or a list, in their order.
type choices []Choice

func choicesIn(p *jsonschema.Schema) (all choices) {
	plain, titled := p.Enum, p.OneOf
	if p.Type == "array" {
		plain, titled = p.Items.Enum, p.Items.AnyOf
	}
	for _, v := range plain {
		text, _ := v.(string)
		all = append(all, Choice{Value: text})
	}
	for _, s := range titled {
		c := Choice{Title: s.Title}
		if s.Const != nil {
			c.Value, _ = (*s.Const).(string)
		}
		all = append(all, c)
	}
	return all
}

// shown lists the choices for a person, who may write a title in place of its value.
func (all choices) shown() string {
	words := make([]string, len(all))
	separator := ", "
	for i, c := range all {
		if words[i] = c.Title; c.Title == "" {
			words[i] = c.Value
		}
		if strings.Contains(words[i], ",") {
			separator = "; "
		}
	}
	return strings.Join(words, separator)
}

// find is the choice that a text names: by its value, else by its title, else by one of
// them in other letters. A name that two choices share names neither.
func (all choices) find(text string) (string, bool) {
	if value, ok := all.value(text); ok {
		return value, true
	}
	text = strings.TrimSpace(text)
	for _, names := range []func(Choice) bool{
		func(c Choice) bool { return c.Title != "" && c.Title == text },
		func(c Choice) bool {
			return text != "" && (strings.EqualFold(c.Value, text) || strings.EqualFold(c.Title, text))
		},
	} {
		i := slices.IndexFunc(all, names)
		if i >= 0 {
			return all[i].Value, !slices.ContainsFunc(all[i+1:], names)
		}
	}
	return "", false
}

// value is the choice of this value.
func (all choices) value(text string) (string, bool) {
	for _, value := range []string{text, strings.TrimSpace(text)} {
		if slices.ContainsFunc(all, func(c Choice) bool { return c.Value == value }) {
			return value, true
		}
	}
	return "", false
}

// list reads choices with commas between them. The name of a choice may itself have commas:
// the longest name that fits is taken.
func (all choices) list(text string, find func(string) (string, bool)) (any, bool) {
	list := []any{}
	if text == "" {
		return list, false
	}
	most := 1
	for _, c := range all {
		most = max(most, 1+strings.Count(c.Value, ","), 1+strings.Count(c.Title, ","))
	}
	parts := strings.Split(text, ",")
	for len(parts) > 0 {
		n := min(most, len(parts))
		value, ok := "", false
		for ; n > 0 && !ok; n-- {
			if value, ok = find(strings.Join(parts[:n], ",")); ok {
				parts = parts[n:]
			}
		}
		if !ok || len(list) > len(all) {
			return nil, false
		}
		list = append(list, value)
	}
	return list, true
}

package prove

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Values that a schema does not allow: each of its keywords is negated, and each text gets its
// neighbours, which a careless comparison takes for it.

// wrongValue is a value that breaks a schema.
type wrongValue struct {
	what  string
	value any
}

// longestText is as long as a text gets that is made here.
const longestText = 1 << 16

// wrongObjects are the objects that a schema does not allow, made from a good one by one change
// each.
func wrongObjects(s *jsonschema.Schema, good map[string]any) (all []wrongValue) {
	defer func() { _ = recover() }() // the library panics on some schemas that nobody writes in good faith
	resolved, err := s.Resolve(nil)
	if err != nil || s == nil {
		return nil
	}
	add := func(what string, object map[string]any) {
		if resolved.Validate(asJSON(object)) != nil {
			all = append(all, wrongValue{what, object})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		value, has := good[name]
		if slices.Contains(s.Required, name) && has {
			without := maps.Clone(good)
			delete(without, name)
			add("without "+name, without)
			add("with "+name+" null", with(good, name, nil))
		}
		if !has {
			value, _ = (&sampler{maxSampleValues, maxSampleBytes}).value(s.Properties[name], 0)
		}
		for _, w := range wrongValues(s.Properties[name], value) {
			if formatted[s.Properties[name].Format] != "" && strings.HasPrefix(w.what, "no ") {
				all = append(all, wrongValue{"with " + name + ", " + w.what, with(good, name, w.value)}) // the library takes a format for a remark
				continue
			}
			add("with "+name+", "+w.what, with(good, name, w.value))
		}
	}
	if closed(s) {
		add("with a property that it does not have", with(good, "no_such_property", "text"))
	}
	return all
}

// nonObjects are arguments for no tool.
var nonObjects = []wrongValue{
	{"with a number for arguments", 7}, {"with a text for arguments", "text"}, {"with a list for arguments", []any{1}},
}

// badInputs are arguments that an input schema does not allow. A format is a remark, unless
// somebody says otherwise.
func badInputs(s *jsonschema.Schema, good map[string]any) []wrongValue {
	remarks := func(w wrongValue) bool { return strings.Contains(w.what, ", no ") }
	return append(slices.DeleteFunc(wrongObjects(s, good), remarks), nonObjects...)
}

// asJSON is an object as the other side reads it.
func asJSON(object map[string]any) (read map[string]any) {
	_ = json.Unmarshal([]byte(marshal(object)), &read) // it was made here
	return read
}

// closed reports whether a schema allows no properties but its own.
func closed(schema *jsonschema.Schema) bool {
	return schema.AdditionalProperties != nil && schema.AdditionalProperties.Not != nil
}

// wrongValues break a schema by each of its keywords.
func wrongValues(s *jsonschema.Schema, good any) (all []wrongValue) {
	if s == nil {
		return nil
	}
	add := func(what string, value any) { all = append(all, wrongValue{what, value}) }
	switch s.Type {
	case "string":
		add("a number", 7)
		add("an object", map[string]any{"a": "b"})
		if good != nil {
			add("in a list", []any{good})
		}
	case "boolean":
		add("a text", "yes")
		add("a text", "false")
		add("a text", "true")
		add("a number", 1)
	case "integer", "number":
		add("a text", "many")
		add("as text", fmt.Sprint(good))
		add("a truth value", true)
		add("a fraction", 1.5)
		if n, ok := asNumber(good); ok {
			add("a fraction that rounds to it", n+0.4)
		}
	case "array":
		add("a text", "none-of-the-choices")
		add("a list of other things", []any{"none-of-the-choices"})
		add("a list of objects", []any{map[string]any{}})
	case "object":
		add("a text", "text")
	}
	all = append(all, beyond(s, good)...)
	if choices := choicesOf(s); len(choices) > 0 && s.Type != "boolean" {
		for _, other := range []string{"none-of-the-choices", "", "constructor", "__proto__"} {
			add("none of the choices", other)
		}
	}
	if s.Const != nil || s.Pattern != "" || len(choicesOf(s)) > 0 {
		if text, ok := good.(string); ok {
			all = append(all, neighbours(text)...)
		}
	}
	if s.Pattern != "" {
		add("against its pattern", "\u2603")
		add("with a line behind what its pattern allows", fmt.Sprint(good)+"\n\u2603")
	}
	if formatted[s.Format] != "" {
		add("no "+s.Format, "not-one")
	}
	return all
}

// beyond are values outside of the bounds of a schema.
func beyond(s *jsonschema.Schema, good any) (all []wrongValue) {
	add := func(what string, value any) { all = append(all, wrongValue{what, value}) }
	if s.Minimum != nil {
		add("less than its minimum", *s.Minimum-1)
		add("much less than its minimum", -math.Abs(*s.Minimum)*1000-1)
	}
	if s.Maximum != nil {
		add("more than its maximum", *s.Maximum+1)
		add("much more than its maximum", math.Abs(*s.Maximum)*1000+1)
	}
	if s.ExclusiveMinimum != nil {
		add("its exclusive minimum", *s.ExclusiveMinimum)
	}
	if s.ExclusiveMaximum != nil {
		add("its exclusive maximum", *s.ExclusiveMaximum)
	}
	if s.MultipleOf != nil {
		if n, ok := asNumber(good); ok {
			add("no multiple", n+*s.MultipleOf/2)
		}
	}
	if s.MinLength != nil && *s.MinLength > 0 && *s.MinLength < longestText {
		add("too short", strings.Repeat("x", *s.MinLength-1))
	}
	if s.MaxLength != nil && *s.MaxLength < longestText {
		add("too long", strings.Repeat("x", *s.MaxLength+1))
	}
	list, _ := good.([]any)
	if s.MinItems != nil && *s.MinItems > 0 && len(list) > 0 {
		add("too short", list[:min(len(list), *s.MinItems-1)])
	}
	if s.MaxItems != nil && len(list) > 0 && *s.MaxItems < 1000 {
		add("too long", slices.Repeat(list, *s.MaxItems/len(list)+1))
	}
	if s.UniqueItems && len(list) > 0 {
		add("with an item twice", append(slices.Clone(list), list[0]))
	}
	return all
}

func asNumber(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case int:
		return float64(v), true
	case json.Number:
		n, err := v.Float64()
		return n, err == nil
	}
	return 0, false
}

// lookalikes are letters of another script, by those that they look like.
var lookalikes = map[rune]rune{'a': 'а', 'c': 'с', 'e': 'е', 'o': 'о', 'p': 'р', 'x': 'х', 'y': 'у', 'i': 'і', 'A': 'А', 'E': 'Е', 'O': 'О', 'T': 'Т', 'K': 'К', 'D': 'Ꭰ', 'R': 'Ꭱ', 's': 'ѕ', 'n': 'ո', 'd': 'ԁ', 'l': 'ӏ', 't': 'τ'}

// neighbours of a text, which a careless comparison takes for it.
func neighbours(text string) []wrongValue {
	all := []wrongValue{
		{"in capitals", strings.ToUpper(text)}, {"in small letters", strings.ToLower(text)},
		{"with a blank behind it", text + " "}, {"with a blank before it", " " + text}, {"with a line end behind it", text + "\n"},
		{"with more behind it", text + "x"}, {"with more before it", "x" + text}, {"with more words around it", "do not " + text + " this"},
		{"in letters that look alike", alike(text)},
	}
	if len(text) > 1 {
		_, size := firstRune(text)
		all = append(all, wrongValue{"without its end", text[:len(text)-1]}, wrongValue{"its first letter", text[:size]})
	}
	return slices.DeleteFunc(all, func(w wrongValue) bool { return w.value == text })
}

func firstRune(text string) (r rune, size int) {
	for i, c := range text {
		if i > 0 {
			return r, i
		}
		r = c
	}
	return r, len(text)
}

// alike is a text with one letter of another script.
func alike(text string) string {
	for i, c := range text {
		if other, ok := lookalikes[c]; ok {
			return text[:i] + string(other) + text[i+len(string(c)):]
		}
	}
	return text + "\u200b"
}

// actions are what is sent in the place of accept: its neighbours, and words that sound like it
// or like its contrary.
func actions() (all []any) {
	for _, w := range neighbours("accept") {
		all = append(all, w.value)
	}
	return append(all, "accepted", "submit", "approve", "ok", "yes", "abort", "reject", "no", "", nil, 7, true, []any{"accept"})
}

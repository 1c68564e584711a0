package form

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// words are the parts of a form that an answer is held against: a choice by the label that
// was chosen, and everything else as it stands.
type words struct {
	frame  json.RawMessage              // the schema without its choices
	labels map[string]map[string]string // by property and value; nil in a form without choices
}

// AppendWords appends the words that an answer was given to. Choices that were not chosen are
// no part of them.
func (f *Form) AppendWords(b []byte, schema, answer json.RawMessage) []byte {
	if f.words.labels == nil {
		return append(b, schema...)
	}
	b = append(b, f.words.frame...)
	if text, ok := plainText(answer, f.only); ok && f.only != "" {
		return f.words.appendChosen(b, f.only, text)
	}
	var content map[string]any
	_ = json.Unmarshal(answer, &content) // it was judged, and is an object
	for _, name := range slices.Sorted(maps.Keys(f.words.labels)) {
		switch v := content[name].(type) {
		case string:
			b = f.words.appendChosen(b, name, v)
		case []any:
			for _, item := range v {
				text, _ := item.(string)
				b = f.words.appendChosen(b, name, text)
			}
		}
	}
	return b
}

// appendChosen appends a choice with its label. A choice that is no longer offered has another
// text than any that is.
func (w *words) appendChosen(b []byte, property, value string) []byte {
	label, offered := w.labels[property][value]
	b = append(append(append(append(b, 0), property...), 0), value...)
	if !offered {
		return append(b, 0, 0xff)
	}
	return append(append(b, 0), label...)
}

// wordsOf reads the words of a form.
func wordsOf(s *jsonschema.Schema) (w words) {
	frame := *s
	frame.Properties = maps.Clone(s.Properties)
	for name, p := range s.Properties {
		labels := labelsOf(p)
		if labels == nil {
			continue
		}
		if w.labels == nil {
			w.labels = map[string]map[string]string{}
		}
		w.labels[name] = labels
		own := *p
		own.Enum, own.OneOf, own.Items, own.Extra = nil, nil, nil, maps.Clone(p.Extra)
		if own.MaxItems != nil && *own.MaxItems == len(labels) { // no bound, but their number
			own.MaxItems = nil
		}
		delete(own.Extra, "enumNames")
		frame.Properties[name] = &own
	}
	if w.labels != nil {
		w.frame, _ = json.Marshal(&frame) // it was read from JSON
	}
	return w
}

// labelsOf are the choices of a property with their labels; nil if it has no choices.
func labelsOf(p *jsonschema.Schema) map[string]string {
	plain, titled, extra := p.Enum, p.OneOf, p.Extra
	if p.Items != nil {
		plain, titled, extra = p.Items.Enum, p.Items.AnyOf, p.Items.Extra
	}
	if len(plain)+len(titled) == 0 {
		return nil
	}
	labels := map[string]string{}
	names, _ := extra["enumNames"].([]any)
	for i, v := range plain {
		text, _ := v.(string)
		labels[text] = text
		if i < len(names) {
			labels[text], _ = names[i].(string)
		}
	}
	for _, choice := range titled {
		text, _ := (*choice.Const).(string)
		labels[text] = choice.Title
	}
	return labels
}

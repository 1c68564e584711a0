package mrtr

import (
	"encoding/json"
	"fmt"
	"net/mail"
	"net/url"
	"reflect"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// accept judges the content of an answer. What it returns is the value as the
// state keeps it: the properties the form asked for, and no others.
func (f *compiledForm) accept(content map[string]any) (json.RawMessage, error) {
	if text, ok := content[f.only].(string); ok && f.choices[text] {
		return f.onlyText(text), nil
	}
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
	return json.Marshal(asked)
}

// onlyText is the value of a form whose one property is a string.
func (f *compiledForm) onlyText(text string) json.RawMessage {
	value := make(json.RawMessage, 0, len(f.only)+len(text)+8)
	value = append(appendString(append(value, '{'), f.only), ':')
	return append(appendString(value, text), '}')
}

// onlyChoices is what a form takes, where a plain enum is all there is to it,
// as in most forms: then the answer need not go through the validator, which
// costs several times as much as the rest of its round. It is nil for others.
func onlyChoices(s *jsonschema.Schema, only string) map[string]bool {
	p := s.Properties[only]
	if only == "" || !reflect.DeepEqual(s, &jsonschema.Schema{Type: s.Type, Properties: s.Properties, Required: s.Required}) ||
		!reflect.DeepEqual(p, &jsonschema.Schema{Type: "string", Enum: p.Enum}) {
		return nil
	}
	choices := make(map[string]bool, len(p.Enum))
	for _, v := range p.Enum {
		if text, ok := v.(string); ok {
			choices[text] = true
		}
	}
	return choices
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

package form

import (
	"encoding/json"
	"fmt"
	"net/mail"
	"net/url"
	"reflect"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/mrtr-go/sdk/internal/jsontext"
)

// Accept judges the content of an answer. It returns the answer as JSON, with the
// properties that the form asks for and no others, or an error where it does not
// fit the schema.
func (f *Form) Accept(content map[string]any) (json.RawMessage, error) {
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

// Check judges an answer that is encoded already, such as a default.
func (f *Form) Check(answer json.RawMessage) error {
	var content map[string]any
	if err := json.Unmarshal(answer, &content); err != nil {
		return err
	}
	_, err := f.Accept(content)
	return err
}

// onlyText is the answer to a form whose one property is a string.
func (f *Form) onlyText(text string) json.RawMessage {
	value := make(json.RawMessage, 0, len(f.only)+len(text)+8)
	value = append(jsontext.AppendString(append(value, '{'), f.only), ':')
	return append(jsontext.AppendString(value, text), '}')
}

// onlyChoices gives the values of a form that consists of one plain enum, as most
// forms do, and nil for any other. An answer to such a form need not go through
// the validator, which costs several times as much as the rest of its round.
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

func (f *Form) onlyAsked(content map[string]any) map[string]any {
	asked := make(map[string]any, len(content))
	for name, v := range content {
		if f.properties[name] != nil {
			asked[name] = v
		}
	}
	return asked
}

// checkRange judges formats, and integers that a JSON number cannot carry
// exactly; a JSON Schema validator does neither.
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
			// Stricter than time.Parse: a time.Time decodes with it.
			err = new(time.Time).UnmarshalText([]byte(v))
		}
		if err != nil {
			return fmt.Errorf("not a %s", p.Format)
		}
	}
	return nil
}

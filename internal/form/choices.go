package form

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/mrtr-go/sdk/internal/jsontext"
)

// Choice is one of the values that a person may pick. The title is shown instead
// of the value, where there is one.
type Choice struct{ Value, Title string }

// OfChoices is the schema of a form with one property, an enum of the choices.
func OfChoices(name string, choices []Choice) (json.RawMessage, error) {
	values, err := enumSchema(choices)
	if err != nil {
		return nil, err
	}
	return objectSchema([]field{{name: name, schema: values, required: true}}), nil
}

// enumSchema is a string of which the schema lists the values, with titles where
// any choice has one.
func enumSchema(choices []Choice) (json.RawMessage, error) {
	titled, err := checkChoices(choices)
	if err != nil {
		return nil, err
	}
	return appendChoices(json.RawMessage(`{"type":"string",`), choices, titled, "oneOf"), nil
}

// itemsSchema is enumSchema for the items of a list, where the protocol has
// another spelling.
func itemsSchema(choices []Choice) (json.RawMessage, error) {
	titled, err := checkChoices(choices)
	if err != nil {
		return nil, err
	}
	open := `{"type":"string",`
	if titled {
		open = `{`
	}
	return appendChoices(json.RawMessage(open), choices, titled, "anyOf"), nil
}

func checkChoices(choices []Choice) (titled bool, _ error) {
	if len(choices) == 0 {
		return false, fmt.Errorf("there is nothing to choose from")
	}
	seen := make(map[string]bool, len(choices))
	for _, c := range choices {
		if c.Value == "" || seen[c.Value] || !utf8.ValidString(c.Value) || !utf8.ValidString(c.Title) {
			return false, fmt.Errorf("choice %q is empty, given twice or not UTF-8", c.Value)
		}
		seen[c.Value] = true
		titled = titled || c.Title != ""
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

package mrtr

import (
	"encoding/json"
	"fmt"
	"reflect"
	"unicode/utf8"
)

// chooser is a string type that knows its own values.
type chooser interface{ Choices() []Choice }

// choicesOf is what a type says it can be, by a method of its own or of its
// pointer's.
func choicesOf(t reflect.Type) ([]Choice, bool) {
	c, ok := reflect.New(t).Interface().(chooser)
	if !ok {
		return nil, false
	}
	return c.Choices(), true
}

// enumSchema spells out the choices: plainly, or with titles where any has one.
func enumSchema(choices []Choice) (json.RawMessage, error) {
	titled, err := checkChoices(choices)
	if err != nil {
		return nil, err
	}
	return appendChoices(json.RawMessage(`{"type":"string",`), choices, titled, "oneOf"), nil
}

// itemsSchema is the same inside a list, where the wire spells it otherwise.
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
			s = appendString(s, c.Value)
			continue
		}
		title := c.Title
		if title == "" {
			title = c.Value
		}
		s = appendString(append(s, `{"const":`...), c.Value)
		s = appendString(append(s, `,"title":`...), title)
		s = append(s, '}')
	}
	return append(s, "]}"...)
}

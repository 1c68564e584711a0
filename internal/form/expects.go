package form

import (
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// expectation says in words which values a form takes, for a user who gave
// another. It is made from the schema alone and repeats nothing of the answer.
func expectation(s *jsonschema.Schema) string {
	parts := make([]string, 0, len(s.Properties))
	for name, p := range s.Properties {
		parts = append(parts, name+" "+expected(p))
	}
	slices.Sort(parts)
	text := strings.Join(parts, ", ")
	if len(s.Properties) > len(s.Required) {
		text += "; required: " + strings.Join(slices.Sorted(slices.Values(s.Required)), ", ")
		if len(s.Required) == 0 {
			text += "nothing"
		}
	}
	return text
}

func expected(p *jsonschema.Schema) string {
	switch {
	case p.Type == "array":
		return "must be a list of the choices" + listLimits(p)
	case len(p.Enum) > 0, len(p.OneOf) > 0:
		return "must be one of the choices"
	}
	text := "must be of type " + p.Type
	if p.Format != "" {
		text = "must be a string in the format " + p.Format
	}
	if p.Minimum != nil {
		text += ", at least " + number(*p.Minimum)
	}
	if p.Maximum != nil {
		text += ", at most " + number(*p.Maximum)
	}
	if p.MinLength != nil {
		text += ", at least " + strconv.Itoa(*p.MinLength) + " long"
	}
	if p.MaxLength != nil {
		text += ", at most " + strconv.Itoa(*p.MaxLength) + " long"
	}
	return text
}

func listLimits(p *jsonschema.Schema) (text string) {
	if p.MinItems != nil && *p.MinItems > 0 {
		text += ", at least " + strconv.Itoa(*p.MinItems)
	}
	if choices := len(p.Items.Enum) + len(p.Items.AnyOf); p.MaxItems != nil && *p.MaxItems < choices {
		text += ", at most " + strconv.Itoa(*p.MaxItems)
	}
	return text
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

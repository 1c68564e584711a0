package form

import (
	"encoding/json"
	"fmt"
	"math"
	"net/mail"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
)

// MaxInteger is the largest whole number of an answer, and its negative the
// smallest. The JSON numbers beyond it stand for more than one integer each.
const MaxInteger = 1<<53 - 1

// property judges the values of one property of a form.
//
// The keywords that forms use are judged here, in time linear in the value: the
// library holds each item of a list against each choice in turn. It judges the
// other keywords.
type property struct {
	kind     string
	required bool
	expects  string
	format   string
	choices  map[string]bool // of a string, or of the items of a list; nil for none
	minItems int
	maxItems int
	unique   bool
	min, max float64
	shortest int // in characters
	longest  int
	rest     *jsonschema.Resolved // nil where no keyword is left
}

// newProperty reads the schema of a property. It returns the rest of the
// schema without the keywords that are judged here.
func newProperty(s *jsonschema.Schema) (*property, *jsonschema.Schema, error) {
	if err := checkProperty(s); err != nil {
		return nil, nil, err
	}
	p := &property{kind: s.Type, expects: expected(s), format: s.Format, unique: s.UniqueItems, min: math.Inf(-1), max: math.Inf(1), longest: math.MaxInt}
	rest := *s
	rest.Title, rest.Description, rest.Format, rest.Default, rest.Extra = "", "", "", nil, nil
	var err error
	switch s.Type {
	case "string":
		if p.choices, err = choiceSet(s.Enum, s.OneOf); err != nil {
			return nil, nil, err
		}
		if s.MinLength != nil {
			p.shortest = *s.MinLength
		}
		if s.MaxLength != nil {
			p.longest = *s.MaxLength
		}
		rest.Enum, rest.OneOf, rest.MinLength, rest.MaxLength = nil, nil, nil, nil
	case "array":
		if p.choices, err = choiceSet(s.Items.Enum, s.Items.AnyOf); err != nil {
			return nil, nil, err
		}
		// More items than choices say nothing that fewer could not.
		if p.maxItems = len(p.choices); s.MaxItems != nil {
			p.maxItems = *s.MaxItems
		}
		if s.MinItems != nil {
			p.minItems = *s.MinItems
		}
		rest.MinItems, rest.MaxItems, rest.UniqueItems, rest.Items = nil, nil, false, itemsRest(s.Items)
	case "integer":
		p.min, p.max = -MaxInteger, MaxInteger
		fallthrough
	case "number":
		if s.Minimum != nil {
			p.min = max(p.min, *s.Minimum)
		}
		if s.Maximum != nil {
			p.max = min(p.max, *s.Maximum)
		}
		rest.Minimum, rest.Maximum = nil, nil
	}
	if p.min > p.max || p.shortest > p.longest || p.minItems > min(p.maxItems, len(p.choices)) {
		return nil, nil, fmt.Errorf("its limits let nothing through")
	}
	return p, &rest, nil
}

// takesDefault judges the value that is filled in before the user sees the form.
func (p *property) takesDefault(value json.RawMessage) error {
	if len(value) == 0 {
		return nil
	}
	var v any
	if err := json.Unmarshal(value, &v); err != nil || !p.kindFits(v) || p.judge(v) != "" {
		return fmt.Errorf("its default does not fit: it %s", p.expects)
	}
	return nil
}

func itemsRest(items *jsonschema.Schema) *jsonschema.Schema {
	rest := *items
	rest.Enum, rest.AnyOf, rest.Title, rest.Description = nil, nil, "", ""
	if rest.Type == "string" {
		rest.Type = "" // every choice is one
	}
	if reflect.DeepEqual(rest, jsonschema.Schema{}) {
		return nil
	}
	return &rest
}

// isBare reports whether nothing but the type is left of a schema.
func isBare(rest *jsonschema.Schema) bool {
	return reflect.DeepEqual(rest, &jsonschema.Schema{Type: rest.Type})
}

// choiceSet reads the choices that a schema lists plainly, or with their titles. It
// is nil for a schema without any.
func choiceSet(plain []any, titled []*jsonschema.Schema) (map[string]bool, error) {
	if len(plain)+len(titled) == 0 {
		return nil, nil
	}
	if len(plain) > 0 && len(titled) > 0 {
		return nil, fmt.Errorf("its choices are listed twice, plainly and with titles")
	}
	set := make(map[string]bool, len(plain)+len(titled))
	for _, v := range plain {
		text, ok := v.(string)
		if !ok {
			return nil, fmt.Errorf("its choices must be strings")
		}
		set[text] = true
	}
	for _, s := range titled {
		var text string
		ok := s != nil && s.Const != nil
		if ok {
			text, ok = (*s.Const).(string)
		}
		if !ok {
			return nil, fmt.Errorf("its choices must be strings")
		}
		set[text] = true
	}
	return set, nil
}

// kindFits reports whether a value is of the property's type. It looks at the
// outside of a value only.
func (p *property) kindFits(v any) bool {
	ok := false
	switch p.kind {
	case "string":
		_, ok = v.(string)
	case "boolean":
		_, ok = v.(bool)
	case "number", "integer":
		_, ok = v.(float64)
	case "array":
		_, ok = v.([]any)
	}
	return ok
}

// judge names the rule that a value of the right type breaks, "" if it fits.
func (p *property) judge(v any) string {
	ok := true
	switch v := v.(type) {
	case string:
		ok = (p.choices == nil || p.choices[v]) && p.lengthFits(v) && formatFits(p.format, v)
	case float64:
		if p.kind == "integer" && math.Abs(v) > MaxInteger {
			return fmt.Sprintf("must be a whole number from %d to %d", -MaxInteger, MaxInteger)
		}
		ok = v >= p.min && v <= p.max && (p.kind != "integer" || v == math.Trunc(v))
	case []any:
		ok = p.listFits(v)
	}
	if !ok || p.rest != nil && p.rest.Validate(v) != nil {
		return p.expects
	}
	return ""
}

// lengthFits counts characters, as JSON Schema does.
func (p *property) lengthFits(text string) bool {
	if len(text) <= p.longest && p.shortest == 0 {
		return true
	}
	n := utf8.RuneCountInString(text)
	return n >= p.shortest && n <= p.longest
}

func (p *property) listFits(list []any) bool {
	if len(list) < p.minItems || len(list) > p.maxItems {
		return false
	}
	seen := make(map[string]bool, len(list))
	for _, item := range list {
		text, ok := item.(string)
		if !ok || !p.choices[text] || p.unique && seen[text] {
			return false
		}
		seen[text] = true
	}
	return true
}

// formatFits judges formats, which a JSON Schema validator does not.
func formatFits(format, text string) bool {
	var err error
	switch format {
	case "email":
		var a *mail.Address
		a, err = mail.ParseAddress(text)
		return err == nil && a.Address == text // and no name beside it
	case "uri":
		var u *url.URL
		u, err = url.Parse(text)
		return err == nil && u.Scheme != ""
	case "date":
		_, err = time.Parse(time.DateOnly, text)
	case "date-time":
		// Stricter than time.Parse: a time.Time decodes with it.
		err = new(time.Time).UnmarshalText([]byte(text))
	}
	return err == nil
}

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
	text += limits(p)
	if p.MinLength != nil {
		text += ", at least " + strconv.Itoa(*p.MinLength) + " long"
	}
	if p.MaxLength != nil {
		text += ", at most " + strconv.Itoa(*p.MaxLength) + " long"
	}
	return text
}

func limits(p *jsonschema.Schema) (text string) {
	if p.Minimum != nil {
		text += ", at least " + number(*p.Minimum)
	}
	if p.Maximum != nil {
		text += ", at most " + number(*p.Maximum)
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

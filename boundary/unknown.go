package boundary

import (
	"encoding/json"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/mrtr-go/sdk/internal/jsontext"
	"github.com/mrtr-go/sdk/internal/shape"
	"github.com/mrtr-go/sdk/internal/spelling"
)

// A client may make any number of mistakes. It reads about the first ones.
const (
	maxFindings = 50
	maxHints    = 10 // of them with a hint
	maxListed   = 20 // names in a hint
)

// An inputSchema judges a call's arguments.
type inputSchema struct {
	*shape.Shape
	closed bool     // arguments that the schema does not name are unknown
	names  []string // of the arguments, sorted
}

func newInputSchema(schema any) (*inputSchema, error) {
	compiled, err := shape.Compile(schema)
	if err != nil {
		return nil, err
	}
	source, err := shape.Source(schema)
	if err != nil {
		return nil, err
	}
	made := &inputSchema{Shape: compiled, closed: isClosed(source)}
	for name := range source.Properties {
		made.names = append(made.names, name)
	}
	slices.Sort(made.names)
	return made, nil
}

// isClosed reports whether arguments that the schema does not name are refused.
// A schema that names some arguments and is silent about others counts as closed:
// a typed handler would drop the others without a word. A schema that says
// "additionalProperties": true, or allows more in any other way, is open.
func isClosed(s *jsonschema.Schema) bool {
	if others := s.AdditionalProperties; others != nil && others.Not != nil && reflect.ValueOf(*others.Not).IsZero() {
		return len(s.PatternProperties) == 0
	}
	return len(s.Properties) > 0 && s.AdditionalProperties == nil &&
		len(s.PatternProperties) == 0 && s.UnevaluatedProperties == nil &&
		s.Ref == "" && s.DynamicRef == "" && len(s.AllOf) == 0 && len(s.AnyOf) == 0 &&
		len(s.OneOf) == 0 && s.If == nil && len(s.DependentSchemas) == 0
}

// problems are those of a call's arguments, or nil if they satisfy the schema. Absent
// arguments and null count as an empty object, and defaults are filled in first, as go-sdk
// does. client names the client that sent them. It is called only for an unknown argument.
func (s *inputSchema) problems(text json.RawMessage, client func() string) []FieldError {
	if len(text) == 0 || string(text) == "null" {
		text = json.RawMessage("{}")
	}
	unknown, left, ok := s.unknown(text)
	if !ok {
		return []FieldError{{Problem: "must be a JSON object"}}
	}
	var found []FieldError
	if len(unknown) > 0 {
		text = s.without(text)
		found = s.unknownFields(unknown, left, client())
	}
	text, err := s.Filled(text)
	if err != nil || found == nil && s.Fits(text) {
		return found
	}
	for _, f := range s.Findings(text, maxFindings-len(found)) {
		found = append(found, FieldError{Pointer: f.Pointer, Problem: f.Problem})
	}
	return found[:min(len(found), maxFindings)]
}

// unknown returns the first names, in their order, that a closed schema does not name, and how
// many others there are. It is false for anything but an object.
func (s *inputSchema) unknown(text json.RawMessage) (names []string, left int, ok bool) {
	w := jsontext.Walk(text, jsontext.MaxDepth)
	if w.Kind() != '{' {
		return nil, 0, false
	}
	names, left = smallest(maxFindings-1, func(yield func(string) bool) {
		for name := range w.Members {
			if s.closed && !s.has(string(name)) && !yield(string(name)) {
				return
			}
		}
	})
	return names, left, w.End()
}

func (s *inputSchema) has(name string) bool {
	_, ok := slices.BinarySearch(s.names, name)
	return ok
}

// without is the text of the arguments that the schema names: the others are reported, with
// a hint, and need no explanation.
func (s *inputSchema) without(text json.RawMessage) json.RawMessage {
	var all map[string]json.RawMessage
	if json.Unmarshal(text, &all) != nil {
		return text
	}
	for name := range all {
		if !s.has(name) {
			delete(all, name)
		}
	}
	text, _ = json.Marshal(all)
	return text
}

// smallest returns the n smallest names, sorted, and how many others there are. It
// keeps no more than n of them, and takes the same name once.
func smallest(n int, names iter.Seq[string]) (kept []string, left int) {
	for name := range names {
		at, twice := slices.BinarySearch(kept, name)
		if twice {
			continue
		}
		if kept = slices.Insert(kept, at, name); len(kept) > n {
			kept = kept[:n]
			left++
		}
	}
	return kept, left
}

// schedulingFlag is an argument that some agents' runtimes use to schedule calls
// and leave in the calls by mistake.
const schedulingFlag = "wait_for_previous"

func (s *inputSchema) unknownFields(names []string, left int, sender string) []FieldError {
	var found []FieldError
	if left > 0 {
		found = append(found, FieldError{Problem: fmt.Sprintf("have %d more names that are not arguments of this tool", left)})
	}
	by, though := "", ""
	if sender != "" {
		by, though = ", by "+sender, ", though "+sender+" sent it"
	}
	for i, name := range names {
		f := FieldError{Pointer: shape.Pointer(name), Problem: "is not an argument of this tool"}
		switch {
		case name == schedulingFlag:
			f.Hint = fmt.Sprintf("%q is a scheduling flag of the agent's own runtime and was sent to the tool by mistake%s: leave it out.", schedulingFlag, by)
		case i < maxHints:
			f.Hint = s.hint(name)
			fallthrough
		default:
			f.Problem += though
		}
		found = append(found, f)
	}
	return found
}

// hint says which name to send instead.
func (s *inputSchema) hint(name string) string {
	if len(s.names) == 0 {
		return "This tool takes no arguments."
	}
	valid := strings.Join(s.names[:min(len(s.names), maxListed)], ", ")
	if more := len(s.names) - maxListed; more > 0 {
		valid += fmt.Sprintf(", and %d more", more)
	}
	if near := spelling.Nearest(name, s.names, 1); len(near) > 0 {
		return fmt.Sprintf("Did you mean %q? Valid arguments: %s.", near[0], valid)
	}
	return fmt.Sprintf("Valid arguments: %s.", valid)
}

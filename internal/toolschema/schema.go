// Package toolschema decides whether JSON satisfies a tool's schema and says why it
// does not: every problem at once, sorted, by JSON pointer, in terms of the
// schema and never of the value, which may be secret.
//
// [Compile] a schema once, then judge any number of values by it: arguments with
// [Schema.Arguments], an output with [Schema.Output].
package toolschema

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// A Schema is a JSON Schema compiled for judging. It is safe for concurrent use.
type Schema struct {
	source   *jsonschema.Schema
	resolved *jsonschema.Resolved
	quick    *quickSchema // nil if the schema has a keyword that only resolved can judge
	closed   bool         // arguments that the schema does not name are unknown
	names    []string     // of the arguments, sorted
	parts    parts        // compiled by the explainer
}

// Compile makes a Schema of a *jsonschema.Schema or of anything that marshals to
// one. Compiling costs many times as much as judging. The error is for a
// dialect or a schema that jsonschema-go cannot judge by.
func Compile(schema any) (_ *Schema, err error) {
	defer func() {
		if v := recover(); v != nil { // the author of a tool can generate its schema at run time
			err = panicked(v)
		}
	}()
	source, ok := schema.(*jsonschema.Schema)
	if !ok {
		data, err := json.Marshal(schema)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(data, &source); err != nil {
			return nil, err
		}
	}
	if source == nil {
		return nil, errors.New("the schema is nil")
	}
	switch source.Schema {
	case "", "https://json-schema.org/draft/2020-12/schema",
		"http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft-07/schema#":
	default:
		return nil, fmt.Errorf("the dialect %q is not supported", source.Schema)
	}
	resolved, err := source.Resolve(nil)
	if err != nil {
		return nil, err
	}
	return &Schema{
		source: source, resolved: resolved, quick: quickOf(source, 0), closed: isClosed(source),
		names: slices.Sorted(maps.Keys(source.Properties)),
	}, nil
}

// Output returns nil if the JSON satisfies the schema. The error may quote the
// value, so it is for the log alone. Empty JSON stands for no output at all.
func (s *Schema) Output(raw json.RawMessage) error {
	if len(raw) == 0 {
		return errors.New("there is none, and the tool has an output schema")
	}
	if s.quick.accepts(raw) {
		return nil
	}
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return err
	}
	return s.validate(value)
}

// Reads reports whether raw is one valid JSON value that the schema accepts, as far as
// that can be told by reading it once. It is false for many values that Output accepts.
func (s *Schema) Reads(raw json.RawMessage) bool { return s.quick.accepts(raw) }

// validate is the library's own judgement. A panic in the library becomes an
// error: it asserts types that it has not checked.
func (s *Schema) validate(v any) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = panicked(r)
		}
	}()
	return s.resolved.Validate(v)
}

// panicked shows a value of an unknown type by its type alone: formatting a map
// that contains itself would end the process.
func panicked(v any) error {
	switch v := v.(type) {
	case error:
		return fmt.Errorf("panic: %w", v)
	case string:
		return fmt.Errorf("panic: %s", v)
	}
	return fmt.Errorf("panic: a value of type %T", v)
}

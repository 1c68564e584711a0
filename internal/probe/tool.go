package probe

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// A tool is one that the server lists, as far as the probe minds.
type tool struct {
	Name         string          `json:"name"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  struct {
		ReadOnlyHint bool `json:"readOnlyHint"`
	} `json:"annotations"`

	schema *jsonschema.Schema
	output *jsonschema.Resolved
	// known are good arguments that were given, by the user or by the schema's
	// examples; nil where they are made from the schema.
	known map[string]any
	// unjudged says why the output schema is not judged by; "" where it is, or
	// there is none.
	unjudged string
}

// readTool reads an entry of tools/list.
func readTool(raw json.RawMessage) (*tool, error) {
	var t *tool
	if err := json.Unmarshal(raw, &t); err != nil {
		return nil, err
	}
	if t == nil {
		return nil, errors.New("it is null")
	}
	if t.Name == "" {
		return nil, errors.New("it has no name")
	}
	return t, nil
}

// read resolves the tool's schemas. The error is about the input schema: nothing
// can be sent to a tool without one. An output schema that does not read is not
// judged by.
func (t *tool) read() (err error) {
	// The library panics on some schemas that nobody writes in good faith.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("its schemas do not read: %v", p)
		}
	}()
	if t.schema, err = ReadSchema(t.InputSchema); err != nil {
		return fmt.Errorf("its inputSchema does not read: %w", err)
	}
	if t.known == nil && len(t.schema.Examples) > 0 {
		t.known, _ = t.schema.Examples[0].(map[string]any)
	}
	if len(t.OutputSchema) == 0 || string(t.OutputSchema) == "null" {
		return nil
	}
	output, err := ReadSchema(t.OutputSchema)
	if err == nil {
		t.output, err = output.Resolve(nil)
	}
	if err != nil {
		t.unjudged = "its outputSchema is not judged by: " + err.Error()
	}
	return nil
}

// good makes arguments that the schema allows: those that are known to be, or
// every required property and no other.
func (t *tool) good() (map[string]any, error) {
	if t.known != nil {
		return maps.Clone(t.known), nil
	}
	return Sample(t.schema)
}

// spoiled is good with one argument of a type it must not have.
func (t *tool) spoiled() (args map[string]any, applies bool, err error) {
	if args, err = t.good(); err != nil {
		return nil, true, err
	}
	for _, name := range slices.Sorted(maps.Keys(t.schema.Properties)) {
		switch p := t.schema.Properties[name]; {
		case p == nil || p.Type == "" || p.Type == "null":
		case p.Type == "string":
			args[name] = []any{secret}
			return args, true, nil
		default:
			args[name] = secret
			return args, true, nil
		}
	}
	return nil, false, nil
}

// closed reports whether the schema allows no arguments but its own.
func (t *tool) closed() bool {
	a := t.schema.AdditionalProperties
	return a != nil && a.Not != nil
}

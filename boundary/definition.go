package boundary

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A definition is a registered tool with its schemas, resolved on first use:
// resolving costs forty times what validating does.
type definition struct {
	tool   *mcp.Tool
	logger *slog.Logger

	inputOnce, outputOnce sync.Once
	input, output         *judge
}

// A judge is a schema made ready to judge by. A nil judge is of a schema that this
// library cannot judge by: then the handler alone judges, as without a boundary.
type judge struct {
	schema   *jsonschema.Schema
	resolved *jsonschema.Resolved
	plain    *plainSchema // nil if the schema is not plain
	closed   bool         // arguments it does not name are unknown
}

func (d *definition) readOnly() bool {
	return d != nil && d.tool.Annotations != nil && d.tool.Annotations.ReadOnlyHint
}

func (d *definition) inputJudge() *judge {
	d.inputOnce.Do(func() { d.input = d.judge("input", d.tool.InputSchema) })
	return d.input
}

func (d *definition) outputJudge() *judge {
	if d.tool.OutputSchema == nil {
		return nil
	}
	d.outputOnce.Do(func() { d.output = d.judge("output", d.tool.OutputSchema) })
	return d.output
}

func (d *definition) judge(which string, source any) *judge {
	schema, resolved, err := compileSchema(source)
	if err != nil {
		d.logger.Warn("the boundary cannot judge by a tool's schema", "tool", d.tool.Name, "schema", which, "error", err)
		return nil
	}
	return &judge{schema: schema, resolved: resolved, plain: plainOf(schema), closed: isClosed(schema)}
}

// accepts reports whether v, which it may fill up with the schema's defaults,
// satisfies the schema. The defaults themselves need no judging by the plain
// schema: they only fill what is absent and not required.
func (j *judge) accepts(v any) bool {
	if j.plain != nil && j.plain.accepts(v) {
		return true
	}
	return j.validate(v) == nil
}

func (j *judge) validate(v any) (err error) {
	defer func() {
		if r := recover(); r != nil { // the validator asserts what it should have checked
			err = fmt.Errorf("panic: %s", printed(r))
		}
	}()
	if m, ok := v.(map[string]any); ok {
		if err := j.resolved.ApplyDefaults(&m); err != nil {
			return err
		}
	}
	return j.resolved.Validate(v)
}

func compileSchema(source any) (_ *jsonschema.Schema, _ *jsonschema.Resolved, err error) {
	defer func() {
		if v := recover(); v != nil { // a schema is data that a tool's author made up at run time
			err = fmt.Errorf("panic: %s", printed(v))
		}
	}()
	schema, ok := source.(*jsonschema.Schema)
	if !ok {
		data, err := json.Marshal(source)
		if err != nil {
			return nil, nil, err
		}
		if err := json.Unmarshal(data, &schema); err != nil {
			return nil, nil, err
		}
	}
	if schema == nil {
		return nil, nil, fmt.Errorf("the schema is nil")
	}
	switch schema.Schema {
	case "", "https://json-schema.org/draft/2020-12/schema",
		"http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft-07/schema#":
	default:
		return nil, nil, fmt.Errorf("the dialect %q is not supported", schema.Schema)
	}
	resolved, err := schema.Resolve(nil)
	return schema, resolved, err
}

package boundary

import (
	"encoding/json"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Before revision 2026-07-28 structured content is an object, and an output schema
// describes an object. A strict legacy client refuses a whole list of tools for
// one schema that describes an array.

// withoutForeignOutputs removes the output schemas that a legacy client does not
// know from a tools/list result. The tools' results go without structured content.
func (b *boundary) withoutForeignOutputs(list *mcp.ListToolsResult) *mcp.ListToolsResult {
	var copied *mcp.ListToolsResult
	for i, tool := range list.Tools {
		if tool == nil || tool.OutputSchema == nil || !b.catalog.define(tool).describesNoObject() {
			continue
		}
		if copied == nil {
			shallow := *list
			shallow.Tools = append([]*mcp.Tool(nil), list.Tools...)
			copied = &shallow
		}
		plain := *tool
		plain.OutputSchema = nil
		copied.Tools[i] = &plain
	}
	if copied == nil {
		return list
	}
	return copied
}

// describesNoObject reports whether the output schema is for something other than an
// object, or does not say.
func (d *definition) describesNoObject() bool {
	d.foreignOnce.Do(func() {
		if s, ok := d.tool.OutputSchema.(*jsonschema.Schema); ok {
			d.foreignOutput = s.Type != "object"
			return
		}
		var schema struct {
			Type any `json:"type"`
		}
		data, err := json.Marshal(d.tool.OutputSchema)
		d.foreignOutput = err != nil || json.Unmarshal(data, &schema) != nil || schema.Type != "object"
	})
	return d.foreignOutput
}

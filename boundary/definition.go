package boundary

import (
	"context"
	"log/slog"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/toolschema"
)

// A definition is a tool as tools/list defines it, with its schemas compiled on
// first use. The methods of a nil definition answer for a tool that nothing is
// known of.
type definition struct {
	tool *mcp.Tool
	sink *sink

	inputOnce, outputOnce sync.Once
	input, output         *toolschema.Schema

	foreignOnce   sync.Once
	foreignOutput bool
}

func (d *definition) readOnly() bool {
	return d != nil && d.tool.Annotations != nil && d.tool.Annotations.ReadOnlyHint
}

func (d *definition) hasOutput() bool { return d != nil && d.tool.OutputSchema != nil }

// inputSchema is nil for a schema that cannot be compiled: go-sdk alone judges
// the arguments then.
func (d *definition) inputSchema() *toolschema.Schema {
	d.inputOnce.Do(func() { d.input = d.compile("input", d.tool.InputSchema) })
	return d.input
}

// outputSchema is nil if the tool has none, or one that cannot be compiled.
func (d *definition) outputSchema() *toolschema.Schema {
	if !d.hasOutput() {
		return nil
	}
	d.outputOnce.Do(func() { d.output = d.compile("output", d.tool.OutputSchema) })
	return d.output
}

func (d *definition) compile(which string, source any) *toolschema.Schema {
	schema, err := toolschema.Compile(source)
	if err != nil {
		d.sink.log(context.Background(), slog.LevelWarn, "the boundary cannot judge by a tool's schema",
			slog.String("tool", d.tool.Name), slog.String("schema", which), slog.String("error", truncated(err.Error(), maxLoggedText)))
		return nil
	}
	return schema
}

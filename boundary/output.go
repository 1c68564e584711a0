package boundary

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// outputFault says how a successful result breaks the tool's output schema, or is
// "". A strict client rejects such a result, so the model would never see it.
func (b *boundary) outputFault(ctx context.Context, c *call, structured json.RawMessage) string {
	c.mu.Lock()
	def, checked := c.def, c.outputChecked
	c.mu.Unlock()
	if def == nil || checked && structured != nil {
		return ""
	}
	if def.checkOutput(structured) == nil {
		return ""
	}
	fresh := b.catalog.fresh(ctx, c)
	c.define(fresh)
	if err := fresh.checkOutput(structured); err != nil {
		return fmt.Sprintf("structured content breaks the tool's output schema: %v", err)
	}
	return ""
}

// plainOutput is plainJSON for structured content, and reports whether it is known to fit
// the tool's output schema. Where a plain schema has read JSON that go-sdk wrote,
// json.Valid would read it once more, which takes longer than the rest of the boundary.
func (c *call) plainOutput(v any) (structured json.RawMessage, fits bool, _ error) {
	if raw, ok := v.(json.RawMessage); ok && c.definition().reads(raw) {
		return raw, true, sendable(raw)
	}
	structured, err := plainJSON(v)
	return structured, false, err
}

// reads reports whether raw is valid JSON that satisfies the tool's output schema, and is
// false where that takes more than reading it.
func (d *definition) reads(raw json.RawMessage) bool {
	if d == nil {
		return false
	}
	schema := d.outputSchema()
	return schema != nil && schema.Reads(raw)
}

// checkOutput returns nil if structured satisfies the tool's output schema or there
// is no schema to judge by.
func (d *definition) checkOutput(structured json.RawMessage) error {
	schema := d.outputSchema()
	if schema == nil {
		return nil
	}
	return schema.Output(structured)
}

// checkOutput checks a handler's output before go-sdk does, whose error could not
// be told from the tool's own. It passes an output that go-sdk will not send: a nil
// pointer, which becomes a zero value, and one beside questions or an error.
func (c *call) checkOutput(res *mcp.CallToolResult, out any) error {
	def := c.definition()
	if !def.hasOutput() || isNil(out) || res != nil && (res.InputRequests != nil || res.IsError) {
		return nil
	}
	data, err := json.Marshal(out)
	if err == nil {
		if err = def.checkOutput(data); err == nil {
			c.mu.Lock()
			c.outputChecked = true
			c.mu.Unlock()
			return nil
		}
	}
	return &outputError{err}
}

// outputError reports an output that cannot be sent after the tool has run.
type outputError struct{ cause error }

func (e *outputError) Error() string           { return undeliverableText }
func (e *outputError) Unwrap() error           { return e.cause }
func (e *outputError) ToolErrorType() string   { return "invalid_output" }
func (e *outputError) ToolErrorExpected() bool { return false }

const undeliverableText = "The tool ran, but its result is malformed and cannot be shown. The arguments are not the reason."

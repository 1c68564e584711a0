package boundary

import (
	"context"
	"encoding/json"
	"fmt"
)

// brokenOutput says how a successful result breaks the tool's output schema, or
// "". A strict client rejects such a result, so the model would never see it.
func (b *boundary) brokenOutput(ctx context.Context, c *call, structured json.RawMessage) string {
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

// checkOutput is nil if structured satisfies the output schema, and where there is
// no schema to judge by.
func (d *definition) checkOutput(structured json.RawMessage) error {
	schema := d.outputSchema()
	if schema == nil {
		return nil
	}
	return schema.Output(structured)
}

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

// checkOutput is nil if structured satisfies the output schema, or if there is
// none that could be resolved.
func (d *definition) checkOutput(structured json.RawMessage) error {
	if d == nil {
		return nil
	}
	j := d.outputJudge()
	if j == nil {
		return nil
	}
	if structured == nil {
		return fmt.Errorf("there is none, and the tool has an output schema")
	}
	if j.plain != nil && j.plain.acceptsJSON(structured) {
		return nil
	}
	var value any
	if err := json.Unmarshal(structured, &value); err != nil {
		return err
	}
	if j.plain != nil && j.plain.accepts(value) {
		return nil
	}
	return j.resolved.Validate(value)
}

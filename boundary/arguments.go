package boundary

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// arguments judges the arguments by the tool's own schema, before the SDK does:
// that reports one problem at a time, in varying order, with the values.
func (b *boundary) arguments(next endpoint) endpoint {
	return func(ctx context.Context, c *call) (*mcp.CallToolResult, error) {
		def := c.definition()
		if def == nil || def.accepts(c.req.Params.Arguments) {
			return next(ctx, c)
		}
		if def = b.catalog.fresh(ctx, c); def == nil {
			return next(ctx, c) // gone since; the SDK says so
		}
		c.define(def)
		if def.accepts(c.req.Params.Arguments) {
			return next(ctx, c)
		}
		return nil, def.refusal(c.req.Params.Arguments, clientName(c.req))
	}
}

// accepts reports whether the arguments satisfy the schema and are all known to
// it.
func (d *definition) accepts(raw json.RawMessage) bool {
	j := d.inputJudge()
	if j == nil {
		return true
	}
	if j.plain != nil && j.plain.acceptsJSON(raw) {
		return true
	}
	args, err := decodeArguments(raw)
	return err == nil && len(j.unknown(args)) == 0 && j.accepts(args)
}

// refusal is everything that is wrong with arguments that were not accepted.
func (d *definition) refusal(raw json.RawMessage, client string) *Validation {
	j := d.inputJudge()
	args, err := decodeArguments(raw)
	if err != nil {
		return &Validation{Fields: []FieldError{{Problem: "must be a JSON object"}}}
	}
	v := &Validation{}
	for _, name := range j.unknown(args) {
		v.Fields = append(v.Fields, unknownArgument(j.schema, name, client))
		delete(args, name) // said once, and better
	}
	if !j.accepts(args) {
		e := explainer{root: j.schema}
		e.walk(j.schema, args, "", 0)
		v.Fields = append(v.Fields, e.found...)
	}
	if len(v.Fields) == 0 {
		v.Fields = []FieldError{{Problem: "do not satisfy the tool's input schema"}}
	}
	return v
}

// decodeArguments takes absent and null arguments for none, as the SDK does.
func decodeArguments(raw json.RawMessage) (map[string]any, error) {
	args := map[string]any{}
	if len(raw) == 0 {
		return args, nil
	}
	if err := json.Unmarshal(raw, &args); err != nil {
		return nil, fmt.Errorf("the arguments are no JSON object: %w", err)
	}
	if args == nil {
		args = map[string]any{}
	}
	return args, nil
}

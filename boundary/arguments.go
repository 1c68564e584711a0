package boundary

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// arguments judges the arguments by the tool's own schema before go-sdk does.
// go-sdk reports one problem at a time, in varying order, and quotes the values.
func (b *boundary) arguments(next endpoint) endpoint {
	return func(ctx context.Context, c *call) (*mcp.CallToolResult, error) {
		def := c.definition()
		if def.refuse(ctx, c) == nil {
			return next(ctx, c)
		}
		def = b.catalog.fresh(ctx, c)
		if def == nil {
			return next(ctx, c) // the tool was removed meanwhile, and go-sdk says so
		}
		c.define(def)
		if refused := def.refuse(ctx, c); refused != nil {
			return nil, refused
		}
		return next(ctx, c)
	}
}

// refuse returns everything that is wrong with the arguments of a request, or nil
// if the tool may have them.
func (d *definition) refuse(ctx context.Context, c *call) *Validation {
	if d == nil {
		return nil
	}
	schema := d.inputSchema()
	if schema == nil {
		return nil
	}
	findings := schema.Arguments(ctx, c.arguments, c.clientName)
	if findings == nil {
		return nil
	}
	refused := &Validation{}
	for _, f := range findings {
		refused.Fields = append(refused.Fields, FieldError(f))
	}
	return refused
}

const maxClientName, maxClientVersion = 64, 32

// clientName is the client's own name for itself with its version, fit for display,
// or "". It is shown and decides nothing.
func (c *call) clientName() string {
	req, ok := c.req.(*mcp.CallToolRequest)
	if !ok || req.ClientInfo() == nil {
		return ""
	}
	info := req.ClientInfo()
	name := displayed(strings.TrimSpace(info.Name), maxClientName)
	if name == "" {
		return ""
	}
	return strings.TrimSpace(name + " " + displayed(strings.TrimSpace(info.Version), maxClientVersion))
}

// displayed cuts a text from outside to a length, and quotes it if it holds
// anything but letters, digits and simple punctuation.
func displayed(text string, most int) string {
	runes := []rune(text)
	cut := len(runes) > most
	if cut {
		runes = runes[:most]
	}
	for _, r := range runes {
		plain := r == ' ' || r == '-' || r == '_' || r == '.' || r == '/' ||
			'0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !plain {
			return fmt.Sprintf("%q", string(runes))
		}
	}
	if cut {
		return string(runes) + "..."
	}
	return string(runes)
}

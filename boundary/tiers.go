package boundary

import (
	"context"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Tier is what a tool may do to the world, by its own annotations.
type Tier string

const (
	ReadOnly    Tier = "read-only"
	Write       Tier = "write"
	Destructive Tier = "destructive"
)

// TierOf is the tool's tier. A tool that does not say what it does counts as
// destructive, as the protocol's defaults have it.
func TierOf(tool *mcp.Tool) Tier {
	switch a := tool.Annotations; {
	case a == nil:
		return Destructive
	case a.ReadOnlyHint:
		return ReadOnly
	case a.DestructiveHint != nil && !*a.DestructiveHint:
		return Write
	}
	return Destructive
}

// tiers refuses the tools of a denied tier. It also finds out which tool this is,
// for the layers inside. With a tier denied the list is read on every call: a
// tool may have been replaced by a more dangerous one of its name since.
func (b *boundary) tiers(next endpoint) endpoint {
	return func(ctx context.Context, c *call) (*mcp.CallToolResult, error) {
		if len(b.opts.Deny) == 0 {
			c.define(b.catalog.lookup(ctx, c))
			return next(ctx, c)
		}
		def := b.catalog.fresh(ctx, c)
		c.define(def)
		if def != nil && b.denied(def.tool) {
			return nil, &denial{tool: c.tool, tier: TierOf(def.tool)}
		}
		return next(ctx, c)
	}
}

func (b *boundary) denied(tool *mcp.Tool) bool {
	return slices.Contains(b.opts.Deny, TierOf(tool))
}

// withoutDenied hides the denied tools from a tools/list result. It depends on
// the process's options alone, since the list must not vary by connection.
func (b *boundary) withoutDenied(list *mcp.ListToolsResult) *mcp.ListToolsResult {
	if len(b.opts.Deny) == 0 || list == nil {
		return list
	}
	copied := *list
	copied.Tools = []*mcp.Tool{}
	for _, tool := range list.Tools {
		if tool != nil && !b.denied(tool) {
			copied.Tools = append(copied.Tools, tool)
		}
	}
	return &copied
}

type denial struct {
	tool string
	tier Tier
}

func (d *denial) Error() string {
	return fmt.Sprintf("Tool %q is %s, and this server does not offer %s tools.", d.tool, d.tier, d.tier)
}
func (d *denial) ToolErrorType() string    { return "denied" }
func (d *denial) ToolErrorExpected() bool  { return true }
func (d *denial) ToolErrorHints() []string { return []string{"Use the tools that tools/list names."} }

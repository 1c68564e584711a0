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
// for the layers inside.
//
// With a tier denied the gate lets through only what it knows to be of another
// tier. The list is read on every call: a tool may have been replaced by a more
// dangerous one of its name since, though not so late as between list and call.
// Where the list cannot be read, or not to its end, a tool that was not found in
// it is denied. A tool that is absent from a complete list is answered as the SDK
// answers an unknown one, here: middleware may hide a tool from the list that the
// SDK would run.
func (b *boundary) tiers(next endpoint) endpoint {
	return func(ctx context.Context, c *call) (*mcp.CallToolResult, error) {
		if len(b.opts.Deny) == 0 {
			c.define(b.catalog.lookup(ctx, c))
			return next(ctx, c)
		}
		def, err := b.catalog.proven(ctx, c)
		c.define(def)
		switch {
		case err != nil:
			return nil, &unproven{tool: c.tool, cause: err}
		case def == nil:
			return nil, c.unknownTool()
		case b.denied(def.tool):
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

// unproven is the denial of a tool whose tier nobody could tell. That is a fault:
// the agent can do nothing about a list that cannot be read.
type unproven struct {
	tool  string
	cause error
}

func (u *unproven) Error() string {
	return fmt.Sprintf("Tool %q was not run: this server cannot tell at the moment what it may do.", u.tool)
}
func (u *unproven) Unwrap() error           { return u.cause }
func (u *unproven) ToolErrorType() string   { return "denied" }
func (u *unproven) ToolErrorExpected() bool { return false }

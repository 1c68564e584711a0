package boundary

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/spelling"
)

// A Tier is the kind of effect that a tool may have, by its own annotations. A tool
// without annotations is Destructive, as the protocol's defaults say.
type Tier string

const (
	ReadOnly    Tier = "read-only"
	Write       Tier = "write"
	Destructive Tier = "destructive"
)

// TierOf is the tier of a tool.
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

// tiers refuses the tools of a denied tier. It also looks up the tool's definition
// for the layers inside.
//
// While a tier is denied, only a tool known to be of another tier passes. The list
// is read on every call, since a tool may have been replaced by a more dangerous
// one of its name; a replacement between the list and the call goes unnoticed. If
// the list cannot be read to its end, a tool that was not found is refused. A tool
// missing from a complete list gets go-sdk's answer for an unknown tool without
// asking go-sdk, which would run a tool that middleware hides from the list.
func (b *boundary) tiers(next endpoint) endpoint {
	return func(ctx context.Context, c *call) (*mcp.CallToolResult, error) {
		if len(b.opts.Deny) == 0 {
			c.define(b.catalog.lookup(ctx, c))
			return next(ctx, c)
		}
		def, err := b.catalog.certain(ctx, c)
		c.define(def)
		switch {
		case err != nil:
			return nil, &tierUnknown{tool: c.tool, cause: err}
		case def == nil:
			return nil, c.unknownTool(b.opts.MaxResultBytes)
		case b.denied(def.tool):
			return nil, &tierDenied{tool: c.tool, tier: TierOf(def.tool)}
		}
		return next(ctx, c)
	}
}

func (b *boundary) denied(tool *mcp.Tool) bool {
	return slices.Contains(b.opts.Deny, TierOf(tool))
}

type tierDenied struct {
	tool string
	tier Tier
}

func (d *tierDenied) Error() string {
	return fmt.Sprintf("Tool %q is %s, and this server does not offer %s tools.", d.tool, d.tier, d.tier)
}
func (d *tierDenied) ToolErrorType() string   { return "denied" }
func (d *tierDenied) ToolErrorExpected() bool { return true }
func (d *tierDenied) ToolErrorHints() []string {
	return []string{"Use the tools that tools/list names."}
}

// tierUnknown refuses a tool of unknown tier. It is a fault: the agent can
// do nothing about a list that cannot be read.
type tierUnknown struct {
	tool  string
	cause error
}

func (u *tierUnknown) Error() string {
	return fmt.Sprintf("Tool %q was not run: this server cannot tell at the moment what it may do.", u.tool)
}
func (u *tierUnknown) Unwrap() error           { return u.cause }
func (u *tierUnknown) ToolErrorType() string   { return "denied" }
func (u *tierUnknown) ToolErrorExpected() bool { return false }

// unknownTool is go-sdk's own error for an unknown tool, word for word, but for a
// name that is longer than any tool's.
func (c *call) unknownTool(limit int) *jsonrpc.Error {
	return within(limit, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown tool %q", c.tool)})
}

// withSuggestions adds the nearest tool names to the data of go-sdk's "unknown tool"
// error, and returns any other error unchanged.
func (b *boundary) withSuggestions(ctx context.Context, c *call, wire *jsonrpc.Error) *jsonrpc.Error {
	if wire.Code != jsonrpc.CodeInvalidParams || len(wire.Data) > 0 || wire.Message != fmt.Sprintf("unknown tool %q", c.tool) {
		return wire
	}
	var names []string
	exists := false
	_, err := b.catalog.read(ctx, c, func(tools []*mcp.Tool) bool {
		for _, tool := range tools {
			if tool != nil && !b.denied(tool) {
				names = append(names, tool.Name)
				exists = exists || tool.Name == c.tool
			}
		}
		return true
	})
	if err != nil || exists {
		return wire
	}
	slices.Sort(names)
	near := spelling.Nearest(c.tool, names, 3)
	if len(near) == 0 {
		return wire
	}
	data, _ := json.Marshal(map[string]any{"suggestions": near}) // strings marshal
	return &jsonrpc.Error{Code: wire.Code, Message: wire.Message, Data: data}
}

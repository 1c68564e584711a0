package boundary

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/spelling"
)

// unknownTool is go-sdk's own error for an unknown tool, word for word, but for a
// name that is longer than any tool's.
func (c *call) unknownTool(limit int) *jsonrpc.Error {
	return within(limit, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown tool %q", c.tool)})
}

// withSuggestions adds the nearest tool names to the data of go-sdk's "unknown tool"
// error, and returns any other error unchanged.
func (b *boundary) withSuggestions(ctx context.Context, c *call, wire *jsonrpc.Error) *jsonrpc.Error {
	if wire.Code != jsonrpc.CodeInvalidParams || len(wire.Data) > 0 || !strings.HasPrefix(wire.Message, "unknown tool ") ||
		wire.Message != fmt.Sprintf("unknown tool %q", c.tool) {
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
	data, err := json.Marshal(map[string]any{"suggestions": near})
	if err != nil {
		return wire
	}
	return &jsonrpc.Error{Code: wire.Code, Message: wire.Message, Data: data}
}

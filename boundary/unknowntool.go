package boundary

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mrtr-go/sdk/internal/spelling"
)

// unknownTool is go-sdk's own error for an unknown tool, word for word.
func (c *call) unknownTool() *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown tool %q", c.tool)}
}

// withSuggestions adds the nearest tool names to the data of go-sdk's "unknown tool"
// error, and returns any other error unchanged.
func (b *boundary) withSuggestions(ctx context.Context, c *call, wire *jsonrpc.Error) *jsonrpc.Error {
	if wire.Code != jsonrpc.CodeInvalidParams || len(wire.Data) > 0 || wire.Message != c.unknownTool().Message {
		return wire
	}
	s, err := b.catalog.read(ctx, c)
	if err != nil || s.tools[c.tool] != nil {
		return wire
	}
	var names []string
	for name, def := range s.tools {
		if !b.denied(def.tool) {
			names = append(names, name)
		}
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

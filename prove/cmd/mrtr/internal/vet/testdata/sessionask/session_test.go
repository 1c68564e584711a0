package sessionask

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// What only a test registers, no client reaches.
func TestSetup(t *testing.T) {
	s := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
	s.AddTool(&mcp.Tool{Name: "setup", InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, req request) (result, error) {
		_, err := setup(ctx, req.Session)
		return nil, err
	})
}

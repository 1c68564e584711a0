package mcphttp_test

import (
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func say(format string, args ...any) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}}}, nil
}

func rawServer(h mcp.ToolHandler) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "raw", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "tool", InputSchema: map[string]any{"type": "object"}}, h)
	return server
}

func silent(question) reply { return reply{} }

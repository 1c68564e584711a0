package mrtr

import (
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/unbound"
	"github.com/mrtr-go/sdk/mrtr/internal/typed"
)

// AddTool adds a tool to a server. It does what mcp.AddTool does, at less than half the cost
// of a call: arguments and output are decoded from their bytes instead of through buffers of
// 32 KiB, and mcphttp can serve the tool past go-sdk's HTTP layer. It takes any typed handler,
// that of [Tool] like one of your own.
func AddTool[In, Out any](s *mcp.Server, t *mcp.Tool, h mcp.ToolHandlerFor[In, Out]) {
	described, handler := typed.Handler(t, h)
	AddRawTool(s, described, handler)
}

// AddRawTool adds a tool to a server as mcp.Server.AddTool does. Like [AddTool] it lets mcphttp
// serve the tool past go-sdk's HTTP layer.
func AddRawTool(s *mcp.Server, t *mcp.Tool, h mcp.ToolHandler) {
	unbound.Add(s, t, h)
}

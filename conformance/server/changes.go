package main

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// addChanges registers the tools that change the lists of the server, for clients
// that subscribed to such changes. Each leaves the list as it was.
func addChanges(s *mcp.Server) {
	const guest = "test_guest"
	add(s, "test_trigger_tool_change", "Adds a tool, and removes it.",
		func(context.Context, *mcp.CallToolRequest, nothing) (*mcp.CallToolResult, said, error) {
			add(s, guest, "Comes and goes.", always())
			s.RemoveTools(guest)
			return nil, said{"The tools have changed."}, nil
		})
	add(s, "test_trigger_prompt_change", "Adds a prompt, and removes it.",
		func(context.Context, *mcp.CallToolRequest, nothing) (*mcp.CallToolResult, said, error) {
			s.AddPrompt(&mcp.Prompt{Name: guest, Description: "Comes and goes."}, simplePrompt)
			s.RemovePrompts(guest)
			return nil, said{"The prompts have changed."}, nil
		})
}

package main

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
)

type situation struct {
	Context string `json:"context"`
}

var userContext = mrtr.Elicit[situation]("user_context", "What context should the prompt use?")

// contextual is a prompt that asks, in the very shape of a tool that does.
func contextual(_ context.Context, c *mrtr.Call, _ map[string]string) (*mrtr.IncompleteResult, *mcp.GetPromptResult, error) {
	answer, ok := mrtr.Answer(c, userContext)
	if !ok {
		return mrtr.Need(userContext), nil, nil
	}
	return nil, &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{userSays(&mcp.TextContent{Text: "Context: " + answer.Context})}}, nil
}

package main

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
)

var capitalQuestion = mrtr.Sample("capital_question", prompt("What is the capital of France?", 100))

// capital asks the client's model. A client that did not declare sampling is
// refused with the name of the capability, without a line about it here.
func capital(_ context.Context, c *mrtr.Call, _ nothing) (*mrtr.IncompleteResult, said, error) {
	answer, ok := mrtr.Answer(c, capitalQuestion)
	if !ok {
		return mrtr.Need(capitalQuestion), said{}, nil
	}
	return nil, said{spoken(answer)}, nil
}

// prompt is one user message for a model.
func prompt(text string, maxTokens int64) *mcp.CreateMessageWithToolsParams {
	return &mcp.CreateMessageWithToolsParams{
		MaxTokens: maxTokens,
		Messages:  []*mcp.SamplingMessageV2{{Role: "user", Content: []mcp.Content{&mcp.TextContent{Text: text}}}},
	}
}

// spoken is the text of a model's answer.
func spoken(answer *mcp.CreateMessageWithToolsResult) string {
	text := ""
	for _, content := range answer.Content {
		if t, ok := content.(*mcp.TextContent); ok {
			text += t.Text
		}
	}
	return text
}

package main

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// useEverything sends each kind of request that names a tool, prompt or resource,
// for the headers that go with it.
func useEverything(ctx context.Context, at *setting) error {
	session, err := connect(ctx, at, nil, nil)
	if err != nil {
		return err
	}
	defer session.Close()
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			return err
		}
		if err := call(ctx, session, tool.Name, nil); err != nil {
			return err
		}
	}
	for resource, err := range session.Resources(ctx, nil) {
		if err != nil {
			return err
		}
		if _, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: resource.URI}); err != nil {
			return err
		}
	}
	for prompt, err := range session.Prompts(ctx, nil) {
		if err != nil {
			return err
		}
		if _, err := session.GetPrompt(ctx, &mcp.GetPromptParams{Name: prompt.Name}); err != nil {
			return err
		}
	}
	return nil
}

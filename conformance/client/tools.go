package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func listTools(ctx context.Context, at *setting) error {
	session, err := connect(ctx, at, nil, nil)
	if err != nil {
		return err
	}
	defer session.Close()
	_, err = session.ListTools(ctx, nil)
	return err
}

func addNumbers(ctx context.Context, at *setting) error {
	session, err := connect(ctx, at, nil, nil)
	if err != nil {
		return err
	}
	defer session.Close()
	return call(ctx, session, "add_numbers", map[string]any{"a": 5, "b": 3})
}

// callEvery calls each tool that the client lists. A tool whose definition is
// wrong is not listed, and so not called.
func callEvery(arguments map[string]any) scenario {
	return func(ctx context.Context, at *setting) error {
		session, err := connect(ctx, at, nil, nil)
		if err != nil {
			return err
		}
		defer session.Close()
		listed, err := session.ListTools(ctx, nil)
		if err != nil {
			return err
		}
		var failed error
		for _, tool := range listed.Tools {
			failed = errors.Join(failed, call(ctx, session, tool.Name, arguments))
		}
		return failed
	}
}

// callAsTold makes the calls that the suite gives, after a list has shown
// which arguments are repeated in headers.
func callAsTold(ctx context.Context, at *setting) error {
	session, err := connect(ctx, at, nil, nil)
	if err != nil {
		return err
	}
	defer session.Close()
	if _, err := session.ListTools(ctx, nil); err != nil {
		return err
	}
	var failed error
	for _, c := range at.Context.ToolCalls {
		failed = errors.Join(failed, call(ctx, session, c.Name, c.Arguments))
	}
	return failed
}

// echoSchema gives back the schema of a tool as the client read it.
func echoSchema(ctx context.Context, at *setting) error {
	session, err := connect(ctx, at, nil, nil)
	if err != nil {
		return err
	}
	defer session.Close()
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			return err
		}
		if tool.Name == "json_schema_2020_12_tool" {
			return call(ctx, session, "json_schema_echo", map[string]any{"schema": tool.InputSchema})
		}
	}
	return errors.New("the server lists no tool with that schema")
}

func call(ctx context.Context, session *mcp.ClientSession, name string, arguments map[string]any) error {
	if arguments == nil {
		arguments = map[string]any{}
	}
	if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: arguments}); err != nil {
		return fmt.Errorf("calling %s: %w", name, err)
	}
	return nil
}

package main

import (
	"context"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// addReports registers the tools that say something while they run, and the
// one that fails.
func addReports(s *mcp.Server) {
	add(s, "test_tool_with_logging", "Logs three times while it runs.", logSteps)
	add(s, "test_logging_tool", "Logs once, where the caller asked for logs.", logOnce)
	add(s, "test_tool_with_progress", "Reports its progress, where the caller gave a token.", reportProgress)
	add(s, "test_error_handling", "Fails.", fail)
}

// The suite looks at the reports that arrive before the result, so there is a
// pause between two of them.
const pace = 50 * time.Millisecond

func logSteps(ctx context.Context, req *mcp.CallToolRequest, _ nothing) (*mcp.CallToolResult, said, error) {
	for i, step := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
		if i > 0 {
			time.Sleep(pace)
		}
		if err := req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: step}); err != nil {
			return nil, said{}, err
		}
	}
	return nil, said{"Logged three times."}, nil
}

func logOnce(ctx context.Context, req *mcp.CallToolRequest, _ nothing) (*mcp.CallToolResult, said, error) {
	err := req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: "The tool ran."})
	return nil, said{"Logged, if anybody wanted it."}, err
}

func reportProgress(ctx context.Context, req *mcp.CallToolRequest, _ nothing) (*mcp.CallToolResult, said, error) {
	token := req.Params.GetProgressToken()
	for _, progress := range []float64{0, 50, 100} {
		if token != nil {
			err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: progress, Total: 100})
			if err != nil {
				return nil, said{}, err
			}
		}
		time.Sleep(pace)
	}
	return nil, said{"Done."}, nil
}

func fail(context.Context, *mcp.CallToolRequest, nothing) (*mcp.CallToolResult, said, error) {
	return nil, said{}, errors.New("this tool always fails")
}

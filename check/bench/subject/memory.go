package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/boundary"
)

// callsInMemory makes the weather call with go-sdk's client over its in-memory
// transport, client and server in this process.
func callsInMemory(name string) (made, error) {
	server, err := weatherServer(name)
	if err != nil {
		return made{}, err
	}
	return calls(server, "weather", map[string]any{"location": "Lisbon"}, "Weather in Lisbon: 22°C, partly cloudy.")
}

// callsOfBoundary calls a tool that answers a kilobyte at once: as text or as
// typed output, with and without the boundary around it.
func callsOfBoundary(name string) (made, error) {
	tool, how, _ := strings.Cut(name, "/")
	kilobyte := strings.Repeat("fair ", 1024/5)
	type input struct {
		Place string `json:"place"`
		Days  int    `json:"days"`
	}
	type report struct {
		Place string `json:"place"`
		Notes string `json:"notes"`
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
	text := &mcp.TextContent{Text: kilobyte}
	switch tool {
	case "text":
		mcp.AddTool(server, &mcp.Tool{Name: tool}, func(context.Context, *mcp.CallToolRequest, input) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{text}}, nil, nil
		})
	case "structured":
		mcp.AddTool(server, &mcp.Tool{Name: tool}, func(_ context.Context, _ *mcp.CallToolRequest, in input) (*mcp.CallToolResult, report, error) {
			return nil, report{in.Place, kilobyte}, nil
		})
	default:
		return unknown(name)
	}
	if how == "with" {
		if err := boundary.Install(server, &boundary.Options{Logger: slog.New(slog.DiscardHandler)}); err != nil {
			return made{}, err
		}
	} else if how != "without" {
		return unknown(name)
	}
	return calls(server, tool, map[string]any{"place": "Lisbon", "days": 3}, "fair fair")
}

// calls is a tool of a server, called over memory; its result must contain text.
func calls(server *mcp.Server, tool string, arguments map[string]any, text string) (made, error) {
	there, here := mcp.NewInMemoryTransports()
	if _, err := server.Connect(context.Background(), there, nil); err != nil {
		return made{}, err
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"units": "metric"}}, nil
		},
	})
	session, err := client.Connect(context.Background(), here, nil)
	if err != nil {
		return made{}, err
	}
	return work(func() error {
		res, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
		if err != nil {
			return err
		}
		if len(res.Content) != 1 || res.IsError {
			return fmt.Errorf("%s came to %v", tool, res)
		}
		if said, ok := res.Content[0].(*mcp.TextContent); !ok || !strings.Contains(said.Text, text) {
			return errors.New("another text: " + tool)
		}
		return nil
	})
}

// Command mcp-go drives the client of github.com/mark3labs/mcp-go through the
// cells on stdin. The contract is in README.md of interop.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

type cell struct {
	Tool     string            `json:"tool"`
	Location string            `json:"location"`
	Answers  map[string]string `json:"answers"`
	Decline  string            `json:"decline"`
}

type elicitation struct {
	Message    string   `json:"message"`
	Properties []string `json:"properties"`
}

type reply struct {
	Text         string        `json:"text"`
	Structured   any           `json:"structured,omitempty"`
	IsError      bool          `json:"isError"`
	Elicitations []elicitation `json:"elicitations"`
	Error        string        `json:"error,omitempty"`
}

// user answers the questions of one cell after another.
type user struct {
	cell  cell
	asked []elicitation
}

func (u *user) Elicit(_ context.Context, request mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	encoded, err := json.Marshal(request.Params.RequestedSchema)
	if err != nil {
		return nil, err
	}
	var schema struct{ Properties map[string]any }
	if err := json.Unmarshal(encoded, &schema); err != nil {
		return nil, err
	}
	content := map[string]any{}
	asked := elicitation{Message: request.Params.Message}
	for property := range schema.Properties {
		asked.Properties = append(asked.Properties, property)
		content[property] = u.cell.Answers[property]
	}
	u.asked = append(u.asked, asked)
	response := mcp.ElicitationResponse{Action: mcp.ElicitationResponseActionAccept, Content: content}
	if slices.Contains(asked.Properties, u.cell.Decline) {
		response = mcp.ElicitationResponse{Action: mcp.ElicitationResponseActionDecline}
	}
	return &mcp.ElicitationResult{ElicitationResponse: response}, nil
}

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		print(reply{Error: err.Error()})
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	person := &user{}
	peer, err := connect(ctx, args, person)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	print(map[string]bool{"ready": true})
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		*person = user{}
		if err := json.Unmarshal(lines.Bytes(), &person.cell); err != nil {
			return err
		}
		print(call(ctx, peer, person))
	}
	return errors.Join(lines.Err(), peer.Close())
}

func connect(ctx context.Context, args []string, person *user) (*client.Client, error) {
	if len(args) < 4 || args[0] != "--era" {
		return nil, errors.New("usage: --era auto|legacy|modern (--url URL | --stdio COMMAND [ARG...])")
	}
	options := []client.ClientOption{client.WithElicitationHandler(person)}
	switch args[1] {
	case "auto":
	case "legacy":
		options = append(options, client.WithProtocolVersion("2025-11-25"))
	case "modern":
		options = append(options, client.WithProtocolVersion("2026-07-28"))
	default:
		return nil, fmt.Errorf("unknown era %q", args[1])
	}
	var wire transport.Interface
	switch args[2] {
	case "--url":
		var err error
		if wire, err = transport.NewStreamableHTTP(args[3]); err != nil {
			return nil, err
		}
	case "--stdio":
		wire = transport.NewStdioWithOptions(args[3], os.Environ(), args[4:])
	default:
		return nil, fmt.Errorf("unknown target %q", args[2])
	}
	peer := client.NewClient(wire, options...)
	if err := peer.Start(ctx); err != nil {
		return nil, err
	}
	var hello mcp.InitializeRequest
	hello.Params.ClientInfo = mcp.Implementation{Name: "interop-mcp-go", Version: "1.0.0"}
	_, err := peer.Initialize(ctx, hello)
	return peer, err
}

func call(ctx context.Context, peer *client.Client, person *user) reply {
	request := mcp.CallToolRequest{Params: mcp.CallToolParams{
		Name:      person.cell.Tool,
		Arguments: map[string]any{"location": person.cell.Location},
	}}
	result, err := peer.CallTool(ctx, request)
	if err != nil {
		return reply{Error: err.Error(), Elicitations: person.asked}
	}
	var texts []string
	for _, content := range result.Content {
		if text, ok := content.(mcp.TextContent); ok {
			texts = append(texts, text.Text)
		}
	}
	return reply{
		Text:         strings.Join(texts, "\n"),
		Structured:   result.StructuredContent,
		IsError:      result.IsError,
		Elicitations: person.asked,
	}
}

func print(value any) {
	encoded, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(encoded))
}

package misbehaving

import (
	"context"
	"log/slog"
	"runtime"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/boundary"
)

// NewServer is a server with a tool for every case, a prompt and a resource for those
// that are tried there too, and a tool "healthy" that does nothing wrong.
func NewServer(cases []Case) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "misbehaving", Version: "1"}, &mcp.ServerOptions{Logger: slog.New(slog.DiscardHandler)})
	s.AddReceivingMiddleware(spoil)
	mcp.AddTool(s, &mcp.Tool{Name: "healthy"}, Outputs(map[string]any{"well": true}))
	for _, c := range cases {
		tool := &mcp.Tool{Name: c.Name, Description: c.Explanation, OutputSchema: c.Output}
		switch {
		case c.Raw != nil:
			tool.InputSchema = &jsonschema.Schema{Type: "object"}
			s.AddTool(tool, c.Raw)
		case c.Typed != nil:
			mcp.AddTool(s, tool, c.Typed)
		case c.Add != nil:
			c.Add(s, tool)
		}
	}
	for _, c := range In(AtPrompt, cases) {
		handler := c.Prompt
		if c.Raw != nil || c.Typed != nil {
			handler = c.prompt
		}
		if handler != nil {
			s.AddPrompt(&mcp.Prompt{Name: c.Name, Description: c.Explanation}, handler)
		}
	}
	for _, c := range In(AtResource, cases) {
		handler := c.Resource
		if c.Raw != nil || c.Typed != nil {
			handler = c.resource
		}
		if handler != nil {
			s.AddResource(&mcp.Resource{Name: c.Name, URI: Scheme + c.Name, Description: c.Explanation}, handler)
		}
	}
	return s
}

// maxResultBytes is the limit of a Bounded server's results.
const maxResultBytes = 64 << 10

// Bounded is the same server with a boundary, whose deadline is short for the tools
// that hang.
func Bounded(cases []Case) (*mcp.Server, error) {
	o := &boundary.Options{
		Logger: slog.New(slog.DiscardHandler), MaxResultBytes: maxResultBytes,
		Deadline: time.Minute, LegacyDeadline: time.Minute,
		MaxAbandoned: 1000, MaxAbandonedPerClient: 1000, // every client calls those that hang, and gets one answer
		ToolDeadlines: map[string]time.Duration{}, PromptDeadlines: map[string]time.Duration{}, ResourceDeadlines: map[string]time.Duration{},
	}
	for _, c := range cases {
		if strings.HasPrefix(c.Name, "hang_") {
			o.ToolDeadlines[c.Name] = 20 * time.Millisecond
			o.PromptDeadlines[c.Name] = 20 * time.Millisecond
			o.ResourceDeadlines[Scheme+c.Name] = 20 * time.Millisecond
		}
	}
	s := NewServer(cases)
	return s, boundary.Install(s, o)
}

// spoil is the server's other middleware.
func spoil(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		call, ok := req.(*mcp.CallToolRequest)
		if !ok {
			return next(ctx, method, req)
		}
		switch call.Params.Name {
		case "middleware_panic":
			panic("boom")
		case "middleware_goexit":
			runtime.Goexit()
		case "middleware_nil":
			return nil, nil
		case "middleware_typed_nil":
			return (*mcp.CallToolResult)(nil), nil
		case "middleware_other_result":
			return &mcp.ListToolsResult{}, nil
		case "middleware_unstamped":
			return Text("made by middleware"), nil
		}
		return next(ctx, method, req)
	}
}

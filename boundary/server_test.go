package boundary_test

import (
	"context"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/boundary"
)

// quiet writes to nowhere; silent is not even enabled.
var (
	quiet  = slog.New(slog.NewTextHandler(io.Discard, nil))
	silent = slog.New(slog.DiscardHandler)
)

// tableOptions give the tools that hang little time and the others plenty.
func tableOptions() *boundary.Options {
	o := &boundary.Options{Logger: quiet, Deadline: time.Minute, ToolDeadlines: map[string]time.Duration{}}
	for _, m := range misbehaviours {
		if strings.HasPrefix(m.name, "hang_") {
			o.ToolDeadlines[m.name] = 20 * time.Millisecond
		}
	}
	return o
}

// misbehavingServer has a tool for every misbehaviour, and "healthy", which is
// not one.
func misbehavingServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "misbehaving", Version: "1"}, &mcp.ServerOptions{Logger: quiet})
	s.AddReceivingMiddleware(misbehavingMiddleware)
	mcp.AddTool(s, &mcp.Tool{Name: "healthy"}, outputs(map[string]any{"well": true}))
	for _, m := range misbehaviours {
		tool := &mcp.Tool{Name: m.name, Description: m.explanation, OutputSchema: m.output}
		switch {
		case m.raw != nil:
			tool.InputSchema = &jsonschema.Schema{Type: "object"}
			s.AddTool(tool, m.raw)
		case m.typed != nil:
			mcp.AddTool(s, tool, m.typed)
		}
	}
	return s
}

func misbehavingMiddleware(next mcp.MethodHandler) mcp.MethodHandler {
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
			return text("made by middleware"), nil
		}
		return next(ctx, method, req)
	}
}

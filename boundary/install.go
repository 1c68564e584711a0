package boundary

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/progress"
)

// Install puts the boundary around every tool, prompt and resource of the server,
// those already registered and those added later. Call it after adding the server's other
// middleware: middleware that is added later runs outside the boundary.
//
// Installing twice is harmless: the outermost boundary does the work and the
// inner ones pass the call on. A nil server and invalid options are a
// [*UsageError], and nothing is installed.
func Install(server *mcp.Server, opts *Options) error {
	if server == nil {
		return misuse("Install on a nil server")
	}
	normalized, err := opts.normalized()
	if err != nil {
		return err
	}
	progress.Order(server)
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		b := newBoundary(normalized, next)
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			return b.receive(ctx, next, method, req)
		}
	})
	server.AddSendingMiddleware(sendQuestions)
	return nil
}

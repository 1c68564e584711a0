package boundary

import (
	"context"
	"errors"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/rendezvous"
)

// Install puts the boundary around every request to the server: its tools, prompts and
// resources, those already registered and those added later, and everything else that a
// client can call. Call it after adding the server's other
// middleware: middleware that is added later runs outside the boundary.
//
// Installing twice is harmless: the outermost boundary does the work and the
// inner ones pass the call on. Only the rounds of a task, which go on when its call has had its
// answer, are the work of the inner one. A nil server and invalid options are a
// [*UsageError], and nothing is installed.
func Install(server *mcp.Server, opts *Options) error {
	if server == nil {
		return misuse("Install on a nil server")
	}
	normalized, err := opts.normalized()
	if err != nil {
		return err
	}
	rendezvous.OrderProgress(server)
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		b := newBoundary(normalized, next)
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			return b.receive(ctx, next, method, req)
		}
	})
	server.AddSendingMiddleware(sendQuestions)
	return nil
}

const methodListTools = "tools/list"

// An endpoint answers one tool call, with a result or an error and never both or
// neither. The error may be a result, a [passed] one. Only the innermost endpoint may return a malformed result, which
// normalize repairs.
type endpoint func(ctx context.Context, c *call) (*mcp.CallToolResult, error)

// A layer wraps the endpoint inside it.
type layer struct {
	name string // also the name of its file
	wrap func(b *boundary, next endpoint) endpoint
}

// layers, outermost first. isolation is outermost, so that deadline and recovery cover
// the marshalling of a tool's result too: a MarshalJSON method is the tool's own code. It
// writes the record of the result that the client gets, whichever layer made it.
func layers() []layer {
	return []layer{
		{"isolation", (*boundary).isolation},
		{"sizelimit", (*boundary).sizeLimit},
		{"normalize", (*boundary).normalize},
		{"tiers", (*boundary).tiers},
		{"arguments", (*boundary).arguments},
	}
}

// Layers returns the names of the layers around a tool, outermost first.
func Layers() []string {
	var names []string
	for _, l := range layers() {
		names = append(names, l.name)
	}
	return names
}

// boundary is the state that the layers of one server share.
type boundary struct {
	opts      Options
	sink      *sink
	catalog   *catalog
	abandoned abandoned
	layered   endpoint // all layers and the tool
}

func newBoundary(opts Options, next mcp.MethodHandler) *boundary {
	s := newSink(opts.Logger)
	b := &boundary{
		opts:      opts,
		sink:      s,
		catalog:   &catalog{next: next, alike: isSDK(next), sink: s},
		abandoned: abandoned{limit: opts.MaxAbandoned, perClient: opts.MaxAbandonedPerClient},
	}
	b.layered = b.tool(next)
	all := layers()
	for i := len(all) - 1; i >= 0; i-- {
		b.layered = all[i].wrap(b, b.layered)
	}
	return b
}

// receive sends tool calls through the layers, and all other requests through isolation
// and a check of their results.
func (b *boundary) receive(ctx context.Context, next mcp.MethodHandler, method string, req mcp.Request) (mcp.Result, error) {
	if c := callFrom(ctx); c != nil && c.session == req.GetSession() && c.round == rendezvous.TaskRoundOf(ctx) {
		return next(ctx, method, req) // a boundary further out has this call
	}
	if strings.HasPrefix(method, "notifications/") {
		return nil, b.notified(ctx, next, method, req)
	}
	c := callOf(ctx, method, req)
	c.sink, c.round = b.sink, rendezvous.TaskRoundOf(ctx)
	ctx = context.WithValue(ctx, callKey{}, c)
	switch c.kind {
	case promptCall:
		return answered(ctx, b, c, next, b.prompt)
	case resourceCall:
		return answered(ctx, b, c, next, b.resource)
	case completionCall:
		return answered(ctx, b, c, next, b.completion)
	case otherCall:
		return answered(ctx, b, c, next, b.otherwise)
	}
	res, err := b.layered(ctx, c)
	if other, ok := err.(*passed); ok {
		return other.res, nil
	}
	if err != nil {
		return nil, err
	}
	return res, nil
}

// tool is the innermost endpoint: the server's other middleware and the tool.
func (b *boundary) tool(next mcp.MethodHandler) endpoint {
	return func(ctx context.Context, c *call) (*mcp.CallToolResult, error) {
		c.reach(entered)
		res, err := next(ctx, c.kind.method, c.req)
		if err != nil {
			return nil, err
		}
		tool, ok := res.(*mcp.CallToolResult)
		if ok && tool != nil {
			return tool, nil
		}
		if other := c.passes(res); other != nil {
			return nil, other
		}
		return nil, errNoResult
	}
}

var errNoResult = errors.New("the handler returned neither a result nor an error")

package typed

import (
	"bytes"
	"context"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// stock is the tool as mcp.AddTool registers it, on a server of its own.
type stock[In, Out any] struct {
	server *mcp.Server
	name   string
	handle mcp.MethodHandler // of the server's requests

	mayDefault bool // the schema of the arguments may have defaults
}

// call is one call of the tool, in the context of the stock tool's: go-sdk's server finds a
// tool by the session of a request, so the request that the stock tool gets is another one.
type call[Out any] struct {
	ctx   context.Context
	req   *mcp.CallToolRequest
	done  *outcome[Out]       // of the handler, nil if it is to be called
	asked *mcp.CallToolResult // the handler's result if that asks; set by the stock tool
}

// outcome is what a handler returned.
type outcome[Out any] struct {
	res *mcp.CallToolResult
	out Out
}

type callKey struct{}

// schemasOfTypes are derived once, since a server may be made for each request. It is for
// tools without schemas of their authors' own: go-sdk would keep each of those for good.
var schemasOfTypes = mcp.NewSchemaCache()

// add registers the tool, and returns it as it is listed.
func (s *stock[In, Out]) add(t *mcp.Tool, h mcp.ToolHandlerFor[In, Out]) *mcp.Tool {
	opts := &mcp.ServerOptions{}
	if t.InputSchema == nil && t.OutputSchema == nil {
		opts.SchemaCache = schemasOfTypes
	}
	s.server = mcp.NewServer(&mcp.Implementation{Name: "mrtr"}, opts)
	s.name = t.Name
	mcp.AddTool(s.server, t, func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		c := ctx.Value(callKey{}).(*call[Out])
		if c.done == nil {
			res, out, err := h(c.ctx, c.req, in)
			if err != nil {
				return nil, out, err
			}
			c.done = &outcome[Out]{res, out}
		}
		if res := c.done.res; res != nil && res.InputRequests != nil {
			var none Out
			c.asked = res // go-sdk would ask the session
			return nil, none, nil
		}
		return c.done.res, c.done.out, nil
	})
	s.server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		s.handle = next
		return next
	})
	var listed mcp.Result
	err := s.within(func(session *mcp.ServerSession) (err error) {
		listed, err = s.handle(context.Background(), "tools/list", &mcp.ListToolsRequest{Session: session, Params: &mcp.ListToolsParams{}})
		return err
	})
	if err != nil {
		panic(fmt.Errorf("AddTool %q: %w", t.Name, err))
	}
	described := *listed.(*mcp.ListToolsResult).Tools[0]
	described.InputSchema, described.OutputSchema = own(t.InputSchema, described.InputSchema), own(t.OutputSchema, described.OutputSchema)
	return &described
}

// own is a copy of a schema that tools of one type have in common, since a middleware may change
// the list of its server.
func own(given, listed any) any {
	if schema, ok := listed.(*jsonschema.Schema); ok && given == nil {
		return schema.CloneSchemas()
	}
	return listed
}

// call has go-sdk read the arguments, call the handler unless it is done, and write the
// output.
func (s *stock[In, Out]) call(ctx context.Context, req *mcp.CallToolRequest, done *outcome[Out]) (res *mcp.CallToolResult, err error) {
	params := *req.Params
	params.Name = s.name
	if s.mayDefault && string(bytes.TrimSpace(params.Arguments)) == "null" {
		params.Arguments = nil // go-sdk would panic as it fills the defaults in
	}
	c := &call[Out]{ctx: ctx, req: req, done: done}
	err = s.within(func(session *mcp.ServerSession) error {
		result, err := s.handle(context.WithValue(ctx, callKey{}, c), "tools/call", &mcp.CallToolRequest{Session: session, Params: &params, Extra: req.Extra})
		res, _ = result.(*mcp.CallToolResult)
		return err
	})
	if c.asked != nil {
		return c.asked, nil
	}
	return res, err
}

// within gives f a session of the server's. Its client is a legacy one, whose results go-sdk
// leaves as they are: the server of the request completes them.
func (s *stock[In, Out]) within(f func(*mcp.ServerSession) error) error {
	transport, _ := mcp.NewInMemoryTransports()
	legacy := &mcp.InitializeParams{ProtocolVersion: "2025-11-25"}
	session, err := s.server.Connect(context.Background(), transport, &mcp.ServerSessionOptions{State: &mcp.ServerSessionState{InitializeParams: legacy}})
	if err != nil {
		return err
	}
	defer session.Close()
	return f(session)
}

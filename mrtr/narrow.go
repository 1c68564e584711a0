package mrtr

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/sse/era"
)

// narrow applies [Options.Narrow] to the client of an exchange, before anything else looks at
// it. The context hands the client to code that asks over its session.
func (rt *Runtime) narrow(ctx context.Context, ex *exchange, t *target) (context.Context, error) {
	client, err := rt.narrowed(ex.client, ex.request, ex.session())
	if err != nil {
		c := &Call{rt: rt, target: t, ex: *ex}
		return ctx, c.refuse(ctx, "Options.Narrow panicked", err, err)
	}
	ex.client = client
	return context.WithValue(ctx, clientKey{}, client), nil
}

// narrowed is a client as [Options.Narrow] leaves it.
func (rt *Runtime) narrowed(client era.Client, req mcp.Request, session *mcp.ServerSession) (era.Client, error) {
	if rt.opts.Narrow == nil {
		return client, nil
	}
	err := guard(func() error {
		client = client.Narrowed(rt.opts.Narrow(clientInfo(req, session), client))
		return nil
	})
	return client, safeError(err)
}

type clientKey struct{}

// clientOver is the client of a session, as it was narrowed for the request of this context.
func clientOver(ctx context.Context, s *mcp.ServerSession) era.Client {
	if client, ok := ctx.Value(clientKey{}).(era.Client); ok {
		return client
	}
	return era.OfSession(s)
}

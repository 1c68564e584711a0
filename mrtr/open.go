package mrtr

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/era"
	"github.com/mrtr-go/sdk/statecodec"
)

// open begins a call, or takes up one whose state came back.
func (rt *Runtime) open(ctx context.Context, ex exchange, t *target) (*Call, error) {
	principal, err := rt.principal(ctx, ex.request)
	if err != nil {
		return nil, err
	}
	c := &Call{rt: rt, target: t, ex: ex, principal: principal}
	if ex.token == "" {
		// Sealing would refuse them too, but after the handler has acted.
		if err := statecodec.CheckArguments(ex.arguments); err != nil {
			return nil, badArguments()
		}
		c.id = newID()
		c.st = state{id: c.id, round: 1, version: t.version}
		return c, nil
	}
	payload, err := rt.codec.Open(c.binding(), ex.token)
	if err != nil {
		var bad *statecodec.TokenError
		if !errors.As(err, &bad) {
			return nil, err
		}
		rt.refuseState(ctx, c, string(bad.Reason()))
		return nil, badState()
	}
	st, ok := decodeState(payload)
	if !ok {
		rt.refuseState(ctx, c, "sealed by another release")
		return nil, badState()
	}
	c.id, c.st = st.id, st
	c.st.round++
	return c, nil
}

func (rt *Runtime) principal(ctx context.Context, req mcp.Request) (_ string, err error) {
	defer recovered(&err)
	return rt.opts.Principal(ctx, req)
}

func (rt *Runtime) refuseState(ctx context.Context, c *Call, reason string) {
	c.observe(ctx, Event{Kind: StateRefused, Reason: reason})
}

// binding ties a state to its request, so that it opens for no other.
func (c *Call) binding() statecodec.Binding {
	b := statecodec.Binding{
		Method:    c.ex.method,
		Target:    c.ex.name,
		Arguments: c.ex.arguments,
		Principal: c.principal,
		Audience:  c.rt.opts.Audience,
	}
	// A call stays in the era it began in, whose handler may be another one, and
	// a legacy call in its session.
	if e := c.ex.client.Era; e != era.Modern {
		b.Session = e.String()
		if c.ex.session != nil {
			b.Session += " " + c.ex.session.ID()
		}
	}
	return b
}

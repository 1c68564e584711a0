package wstransport

import (
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mrtr-go/sdk/transport/internal/inflight"
)

// The reasons of [HandlerOptions.Refused].
const (
	byHost      = "host"
	byOrigin    = "origin"
	byHandshake = "handshake" // it is none, or offers another subprotocol
	byAmbiguity = "ambiguous"
	byLoad      = "overload"
	byShare     = "share"
	byShutdown  = "shutdown"
)

// tell tells why somebody is refused, if anybody wants to know.
func (g *gate) tell(reason string) {
	if g.options.Refused != nil {
		g.options.Refused(reason)
	}
}

// tell tells why a call is not taken.
func (c *conn) tell(why *jsonrpc.Error) {
	if c.refused == nil {
		return
	}
	switch {
	case why.Code == inflight.CodeBusy && why.Message == inflight.ErrFull.Error():
		c.refused(byLoad)
	case why.Code == inflight.CodeBusy:
		c.refused(byShare)
	case why.Code == jsonrpc.CodeInvalidRequest, why.Code == jsonrpc.CodeInvalidParams:
		c.refused(byAmbiguity)
	default:
		c.refused(byShutdown)
	}
}

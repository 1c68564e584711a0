package boundary

import (
	"context"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/era"
)

type callKey struct{}

// A call is one request for a tool, as the layers know it. It travels in the
// context, where [Handler], [Applied] and the log handler find it.
type call struct {
	req       *mcp.CallToolRequest
	session   mcp.Session
	tool      string
	requestID string
	start     time.Time

	// mu guards the rest: an abandoned handler may still write to it while the
	// outer layers finish.
	mu            sync.Mutex
	def           *definition
	entered       bool // the tool, or middleware around it, was called
	applied       bool
	asked         bool
	outputChecked bool
	operations    []operation
	cause         error // of a protocol error, for the log
}

func newCall(req *mcp.CallToolRequest) *call {
	return &call{
		req:       req,
		session:   req.GetSession(),
		tool:      req.Params.Name,
		requestID: requestIDFor(req),
		start:     time.Now(),
	}
}

func callFrom(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

func (c *call) enter() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entered = true
}

func (c *call) define(d *definition) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.def = d
}

func (c *call) definition() *definition {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.def
}

// modern and legacy do not ask era.Of, which tells whether the client can be
// asked something. Here the question is how to encode a result and how long a
// tool may run, and that has an answer for a client nobody can ask as well.

// modern reports whether a result made here must carry resultType: when the
// request's own _meta names a modern revision, by which a strict client judges, or
// the session does, by which go-sdk stamps its own results. A client that needs no
// resultType ignores it.
func (c *call) modern() bool {
	return era.MetaVersion(c.req.Params.Meta) >= era.FirstModern || !c.legacy()
}

// legacy reports whether the session asked for a revision in which a server asks
// its questions while the request is open. _meta does not change that: go-sdk goes
// by the session.
func (c *call) legacy() bool {
	if c.req.Session == nil {
		return false
	}
	p := c.req.Session.InitializeParams()
	return p != nil && p.ProtocolVersion < era.FirstModern
}

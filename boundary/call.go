package boundary

import (
	"context"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type callKey struct{}

// A call is what the layers know of the tool call at hand. It travels in the
// context, so that the wrapper inside and the log handler find it.
type call struct {
	req       *mcp.CallToolRequest
	session   mcp.Session
	tool      string
	requestID string
	start     time.Time

	// An abandoned handler still runs while the layers outside it finish, hence
	// the lock.
	mu            sync.Mutex
	def           *definition
	entered       bool
	applied       bool
	asked         bool
	outputChecked bool
	operations    []operation
	cause         error // of a protocol error
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

const firstModern = "2026-07-28" // dates, so they compare as strings

// modern reports whether a result made here must carry resultType. The SDK
// stamps by the version the session asked for, and a strict client judges by the
// version it wrote into the request: either is reason enough, and a client that
// needs no stamp ignores it.
func (c *call) modern() bool {
	if v, ok := c.req.Params.Meta[mcp.MetaKeyProtocolVersion].(string); ok && v >= firstModern {
		return true
	}
	return !c.legacy()
}

// legacy reports whether the session asked for a revision in which a server asks
// its questions over the open request. What a request's own _meta says does not
// change that: the SDK goes by the session.
func (c *call) legacy() bool {
	if c.req.Session == nil {
		return false
	}
	p := c.req.Session.InitializeParams()
	return p != nil && p.ProtocolVersion < firstModern
}

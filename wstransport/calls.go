package wstransport

import (
	"sync"

	"github.com/gorilla/websocket"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// codeClosing answers a call that comes too late. It is the close code that
// follows, and outside the range that JSON-RPC reserves for itself.
const codeClosing = websocket.CloseGoingAway

// calls are the calls of the peer that are not answered yet. They are kept here
// because closing a session of go-sdk waits for its handlers, but throws their
// answers away.
type calls struct {
	mu       sync.Mutex
	owed     map[jsonrpc.ID]struct{}
	draining bool
}

// begin notes a call. It reports false, and notes nothing, when no more calls
// are taken.
func (c *calls) begin(req *jsonrpc.Request) bool {
	if !req.IsCall() {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.draining {
		return false
	}
	if req.Method == "subscriptions/listen" { // answered when the connection ends, not before
		return true
	}
	if c.owed == nil {
		c.owed = make(map[jsonrpc.ID]struct{})
	}
	c.owed[req.ID] = struct{}{}
	return true
}

// answered notes an answer and reports whether it was the last one before a
// connection that drains can be closed.
func (c *calls) answered(id jsonrpc.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.owed, id)
	return c.draining && len(c.owed) == 0
}

// drain takes no more calls and reports whether no answer is owed.
func (c *calls) drain() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.draining = true
	return len(c.owed) == 0
}

// goAway closes the connection because the server is going.
func (c *conn) goAway() {
	_ = c.end(websocket.CloseGoingAway, "the server is shutting down")
}

// closing answers a call that came too late.
func closing(id jsonrpc.ID) *jsonrpc.Response {
	return &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: codeClosing, Message: "the server is shutting down"}}
}

package wstransport

import (
	"sync"

	"github.com/gorilla/websocket"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mrtr-go/sdk/internal/inflight"
)

// codeClosing answers a call that comes too late. It is the close code that
// follows, and outside the range that JSON-RPC reserves for itself.
const codeClosing = websocket.CloseGoingAway

// The reasons why a call is not taken.
var (
	errClosing = &jsonrpc.Error{Code: codeClosing, Message: "the server is shutting down"}
	errTooMany = &jsonrpc.Error{Code: inflight.CodeBusy, Message: "too many calls in flight on one connection"}
	errIDInUse = &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "a call with this id is in flight"}
)

// calls are the calls of the peer that are not answered yet. They are kept here
// because closing a session of go-sdk waits for its handlers, but throws their
// answers away.
type calls struct {
	most int // no limit if zero

	mu       sync.Mutex
	owed     map[jsonrpc.ID]bool // true of what a drain waits for
	awaited  int
	draining bool

	load *inflight.Counter // of all connections; nil where there is one alone
	who  string
}

// begin notes a call. It returns an error, and notes nothing, when the call is not
// taken.
func (c *calls) begin(req *jsonrpc.Request) *jsonrpc.Error {
	if !req.IsCall() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.draining {
		return errClosing
	}
	if _, ok := c.owed[req.ID]; ok {
		return errIDInUse
	}
	if c.most > 0 && len(c.owed) >= c.most {
		return errTooMany
	}
	if c.load != nil {
		if err := c.load.Enter(c.who, 1); err != nil {
			return &jsonrpc.Error{Code: inflight.CodeBusy, Message: err.Error()}
		}
	}
	if c.owed == nil {
		c.owed = make(map[jsonrpc.ID]bool)
	}
	awaited := req.Method != "subscriptions/listen" // lives as long as the client wants
	c.owed[req.ID] = awaited
	if awaited {
		c.awaited++
	}
	return nil
}

// answered notes an answer and reports whether it was the last one before a
// connection that drains can be closed.
func (c *calls) answered(id jsonrpc.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	awaited, ok := c.owed[id]
	if !ok {
		return false
	}
	delete(c.owed, id)
	if awaited {
		c.awaited--
	}
	if c.load != nil {
		c.load.Leave(c.who, 1)
	}
	return c.draining && c.awaited == 0
}

// drain takes no more calls and reports whether no answer is awaited.
func (c *calls) drain() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.draining = true
	return c.awaited == 0
}

// over gives back what the calls without an answer took. Their handlers have
// returned.
func (c *calls) over() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.load != nil {
		c.load.Leave(c.who, len(c.owed))
	}
	c.owed = nil
}

// goAway closes the connection because the server is going.
func (c *conn) goAway() {
	_ = c.end(websocket.CloseGoingAway, "the server is shutting down")
}

// refusal marks the answer to a call that was not taken.
type refusal struct{}

func refused(id jsonrpc.ID, why *jsonrpc.Error) *jsonrpc.Response {
	return &jsonrpc.Response{ID: id, Error: why, Extra: refusal{}}
}

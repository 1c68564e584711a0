package wstransport

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/gorilla/websocket"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/inflight"
)

// The reasons why a call is not taken.
var (
	errClosing = &jsonrpc.Error{Code: inflight.CodeClosing, Message: "the server is shutting down"}
	errTooMany = &jsonrpc.Error{Code: inflight.CodeBusy, Message: "too many calls in flight on one connection"}
	errIDInUse = &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "a call with this id is in flight"}
)

// calls are the calls of the peer that are not answered yet. They are kept here
// because closing a session of go-sdk waits for its handlers, but throws their
// answers away.
type calls struct {
	most int // no limit if zero

	mu       sync.Mutex
	owed     map[jsonrpc.ID]*owed
	awaited  int
	draining bool

	load *inflight.Counter // of all connections; nil where there is one alone
	who  string
}

// owed is a call without an answer.
type owed struct {
	awaited bool // a drain waits for it
	claimed bool // its answer is on its way
	taken   bool // this package has answered it
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
		c.owed = make(map[jsonrpc.ID]*owed)
	}
	awaited := req.Method != "subscriptions/listen" // lives as long as the client wants
	c.owed[req.ID] = &owed{awaited: awaited}
	if awaited {
		c.awaited++
	}
	return nil
}

// settle forgets a call whose answer is about to be written, because the peer may
// use its id again as soon as it has read that. It reports whether a drain waits
// for the answer.
func (c *calls) settle(id jsonrpc.ID) (awaited bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	call, ok := c.owed[id]
	if !ok {
		return false
	}
	delete(c.owed, id)
	if c.load != nil {
		c.load.Leave(c.who, 1)
	}
	return call.awaited
}

// written notes that an answer for which a drain waits was written, and reports
// whether it was the last one before a connection that drains can be closed.
func (c *calls) written() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.awaited--
	return c.draining && c.awaited == 0
}

// drain takes no more calls and reports whether no answer is awaited.
func (c *calls) drain() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.draining = true
	return c.awaited == 0
}

// over gives back the places of the calls without an answer. Their handlers have
// returned.
func (c *calls) over() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.load != nil {
		c.load.Leave(c.who, len(c.owed))
	}
	c.owed = nil
}

// claim is called before an answer is written, and reports false when this package
// has answered the call itself.
func (c *calls) claim(id jsonrpc.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	call, ok := c.owed[id]
	if !ok {
		return true
	}
	call.claimed = !call.taken
	return call.claimed
}

// take gives the answers to everything that is owed and not on its way: a
// subscription is complete, and a call is cut off.
func (c *calls) take() []*jsonrpc.Response {
	c.mu.Lock()
	defer c.mu.Unlock()
	var answers []*jsonrpc.Response
	for id, call := range c.owed {
		if call.claimed || call.taken {
			continue
		}
		call.taken = true
		answer := refused(id, errClosing)
		if !call.awaited {
			result, err := json.Marshal(map[string]any{"resultType": "complete", "_meta": map[string]any{mcp.MetaKeySubscriptionID: id.Raw()}})
			if err == nil {
				answer.Result, answer.Error = result, nil
			}
		}
		answers = append(answers, answer)
	}
	return answers
}

// goAway closes the connection because the server is going. Whatever is still owed
// gets an answer first, if the peer reads it. It does not block.
func (c *conn) goAway() {
	answers := c.calls.take()
	if len(answers) == 0 {
		_ = c.end(websocket.CloseGoingAway, "the server is shutting down")
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), c.limits.closeGrace)
		defer cancel()
		for _, answer := range answers {
			if c.Write(ctx, answer) != nil {
				break
			}
		}
		_ = c.end(websocket.CloseGoingAway, "the server is shutting down")
	}()
}

// refusal marks an answer of this package's own.
type refusal struct{}

func refused(id jsonrpc.ID, why *jsonrpc.Error) *jsonrpc.Response {
	return &jsonrpc.Response{ID: id, Error: why, Extra: refusal{}}
}

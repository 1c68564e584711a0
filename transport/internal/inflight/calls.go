package inflight

import (
	"bytes"
	"encoding/json"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/callerror"
	"github.com/mrtr-go/sdk/transport/internal/message"
)

// The reasons why a call is not taken.
var (
	errClosing = callerror.NotBegun("This server is shutting down and has not begun this request: send it again as it is.", "shutting_down")
	errTooMany = &jsonrpc.Error{Code: CodeBusy, Message: "too many calls in flight on one connection"}
	errIDInUse = &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "a call with this id is in flight"}
)

// TurnsAway reports whether an error says that: of a transport, or of the engine.
func TurnsAway(err *jsonrpc.Error) bool {
	return err.Code == errClosing.Code && bytes.Equal(err.Data, errClosing.Data)
}

// ErrCutOff answers a call that a shutdown cut off.
var ErrCutOff = &jsonrpc.Error{
	Code:    CodeClosing,
	Message: "the server is shutting down, and this call was cut off: what it did until then is not known",
	Data:    json.RawMessage(`{"reason":"shutting_down","retryable":false,"effects":"unknown"}`),
}

// Calls are the calls of one connection that are not answered yet. They are kept here
// because closing a session of go-sdk waits for its handlers, but throws their
// answers away.
type Calls struct {
	// Set before the first call.
	Most int      // no limit if zero
	Load *Counter // of all connections; nil if there is one alone
	Who  Who      // whose calls they are in Load

	// All guarded by mu.
	mu       sync.Mutex
	owed     map[jsonrpc.ID]*owed
	awaited  int // answers that a drain waits for, until they are written
	draining bool
	idle     chan struct{} // made by OnWay, closed when nothing is on its way
}

// owed is a call without an answer.
type owed struct {
	awaited bool // a drain waits for it
	by      answerer
	call    *jsonrpc.Request
	again   int // requests like it that came since, and get its answer
}

// mostAgain bounds the answers that one call can have.
const mostAgain = 8

// repeats reports whether a request is the call once more: with the same body, under the
// same id. A connection loses no answer, so that after it the id is free.
func (o *owed) repeats(req *jsonrpc.Request) bool {
	return o.again < mostAgain && o.call.Method == req.Method && bytes.Equal(o.call.Params, req.Params)
}

// answerer is who answers a call. It is nobody until the answer is on its way.
type answerer int

const (
	nobody answerer = iota
	server
	transport
)

// Begin notes a call. It returns an error, and notes nothing, when the call is not
// taken. again is true for one that is in flight, whose answer it will get: it is not
// handed to the server.
func (c *Calls) Begin(req *jsonrpc.Request) (again bool, _ *jsonrpc.Error) {
	if !req.IsCall() {
		return false, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if earlier, ok := c.owed[req.ID]; ok {
		if earlier.by == transport || !earlier.repeats(req) {
			return false, errIDInUse
		}
		earlier.again++
		return true, nil
	}
	if c.draining {
		return false, errClosing
	}
	if c.Most > 0 && len(c.owed) >= c.Most {
		return false, errTooMany
	}
	if c.Load != nil {
		if err := c.Load.Enter(c.Who, 1); err != nil {
			return false, &jsonrpc.Error{Code: CodeBusy, Message: err.Error()}
		}
	}
	if c.owed == nil {
		c.owed = make(map[jsonrpc.ID]*owed)
	}
	awaited := req.Method != Listen // lives as long as the client wants
	c.owed[req.ID] = &owed{awaited: awaited, call: req}
	if awaited {
		c.awaited++
	}
	return false, nil
}

// Late reports whether a message cancels a call that is not in flight any more. go-sdk
// cancels behind the reader's back, and could hit the next call under that id.
func (c *Calls) Late(req *jsonrpc.Request) bool {
	id, ok := message.Cancels(req)
	if !ok {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.owed[id] == nil
}

// Settle forgets a call whose answer is about to be written, because the peer may
// use its id again as soon as it has read that. It reports whether a drain waits
// for the answer, and how many requests more it is for.
func (c *Calls) Settle(id jsonrpc.ID) (awaited bool, again int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	call, ok := c.owed[id]
	if !ok {
		return false, 0
	}
	delete(c.owed, id)
	if c.Load != nil {
		c.Load.Leave(c.Who, 1)
	}
	return call.awaited, call.again
}

// Written notes that an answer for which a drain waits was written, and reports
// whether it was the last one before a connection that drains can be closed.
func (c *Calls) Written() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.awaited--
	c.closeIdle()
	return c.draining && c.awaited == 0
}

// OnWay returns a channel that is closed when no answer is on its way from the server to
// the peer.
func (c *Calls) OnWay() (idle <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.idle == nil {
		c.idle = make(chan struct{})
		c.closeIdle()
	}
	return c.idle
}

// closeIdle is called under mu when an answer was written.
func (c *Calls) closeIdle() {
	onWay := c.awaited
	for _, call := range c.owed {
		if call.awaited && call.by != server {
			onWay--
		}
	}
	if c.idle == nil || onWay > 0 {
		return
	}
	select {
	case <-c.idle:
	default:
		close(c.idle)
	}
}

// Drain takes no more calls and reports whether no answer is awaited.
func (c *Calls) Drain() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.draining = true
	return c.awaited == 0
}

// Over gives back the places of the calls without an answer. Their handlers have
// returned.
func (c *Calls) Over() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Load != nil {
		c.Load.Leave(c.Who, len(c.owed))
	}
	c.owed = nil
}

// Claim is called before an answer is written, and reports false when the transport
// has answered the call itself.
func (c *Calls) Claim(id jsonrpc.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	call, ok := c.owed[id]
	if !ok {
		return true
	}
	if call.by == transport {
		return false
	}
	call.by = server
	return true
}

// Take gives the answers to everything that is owed and not on its way: a
// subscription is complete, and a call is cut off.
func (c *Calls) Take() []*jsonrpc.Response {
	c.mu.Lock()
	defer c.mu.Unlock()
	var answers []*jsonrpc.Response
	for id, call := range c.owed {
		if call.by == nobody {
			call.by = transport
			for range 1 + call.again {
				answers = append(answers, CutOff(id, !call.awaited))
			}
		}
	}
	return answers
}

// CutOff answers a call that a shutdown ends: a subscription is complete.
func CutOff(id jsonrpc.ID, subscription bool) *jsonrpc.Response {
	answer := Refused(id, ErrCutOff)
	if !subscription {
		return answer
	}
	result, err := json.Marshal(map[string]any{"resultType": "complete", "_meta": map[string]any{mcp.MetaKeySubscriptionID: id.Raw()}})
	if err == nil {
		answer.Result, answer.Error = result, nil
	}
	return answer
}

// NotBegun answers a call that a shutdown ends before any code of its handler ran.
func NotBegun(id jsonrpc.ID) *jsonrpc.Response { return Refused(id, errClosing) }

// refusal marks an answer of the transport's own.
type refusal struct{}

// Refused answers a call that did not reach the server.
func Refused(id jsonrpc.ID, why *jsonrpc.Error) *jsonrpc.Response {
	return &jsonrpc.Response{ID: id, Error: why, Extra: refusal{}}
}

// IsRefusal reports whether an answer was made by [Refused] or [Calls.Take].
func IsRefusal(answer *jsonrpc.Response) bool { return answer.Extra == refusal{} }

package inflight

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/callerror"
	"github.com/mrtr-go/sdk/transport/internal/message"
)

// The reasons why a call is not taken.
var (
	errTooMany = &jsonrpc.Error{Code: CodeBusy, Message: "too many calls in flight on one connection"}
	errIDInUse = &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "a call with this id is in flight"}
)

// TurnsAway reports whether an error is this process's own refusal, of a transport or the engine.
func TurnsAway(err *jsonrpc.Error) bool { return err == callerror.ShuttingDown() }

// ErrCutOff answers a call that a shutdown cut off.
var ErrCutOff = callerror.Unknown("the server is shutting down, and this call was cut off: what it did until then is not known", "shutting_down")

// Calls are the unanswered calls of one connection. They are kept here because closing a
// session of go-sdk waits for its handlers, but throws their answers away.
type Calls struct {
	// Set before the first call.
	Most int      // no limit if zero
	Load *Counter // of all connections; nil if there is one alone
	Who  Who      // whose calls they are in Load

	// All guarded by mu.
	mu      sync.Mutex
	owed    map[jsonrpc.ID]*owed
	awaited int           // answers that are not written yet, those of subscriptions aside
	idle    chan struct{} // made by Drain, closed when no answer is awaited
	legacy  bool          // the client has begun a legacy session
	repeats Repeats       // of that
}

// owed is a call without an answer.
type owed struct {
	call    *jsonrpc.Request
	kept    *Repeat // of a legacy session; nil for a call that is not answered again
	again   int     // requests like it that came since, and get its answer
	claimed bool    // the server's answer is on its way
	cutOff  bool    // the transport's is
}

// mostAgain bounds the answers that one call can have.
const mostAgain = 8

// awaited reports whether a shutdown waits for the answer. A subscription lasts as long as
// its client wants.
func (o *owed) awaited() bool { return o.call.Method != Listen }

// repeats reports whether a request is the call once more: with the same body, under the
// same id.
func (o *owed) repeats(req *jsonrpc.Request) bool {
	return !o.cutOff && o.again < mostAgain && o.call.Method == req.Method && bytes.Equal(o.call.Params, req.Params)
}

// Begin notes a call, or returns an error and notes nothing. again is true for a call that
// is in flight, whose answer it will get: it is not handed to the server. Nor is one that was just
// answered, which gets that answer.
func (c *Calls) Begin(req *jsonrpc.Request) (again bool, answer *jsonrpc.Response, _ *jsonrpc.Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	earlier, inFlight := c.owed[req.ID]
	switch {
	case inFlight && earlier.repeats(req):
		earlier.again++
		return true, nil, nil
	case inFlight:
		return false, nil, errIDInUse
	}
	kept, answer := c.repeated(req)
	if answer != nil {
		return false, answer, nil
	}
	if err := c.enter(req); err != nil {
		if kept != nil {
			kept.Leave(true)
		}
		return false, nil, err
	}
	call := &owed{call: req, kept: kept}
	c.owed[req.ID] = call
	if call.awaited() {
		c.awaited++
	}
	return false, nil, nil
}

// enter finds a place for a call. The caller holds mu.
func (c *Calls) enter(req *jsonrpc.Request) *jsonrpc.Error {
	switch {
	case c.idle != nil:
		return callerror.ShuttingDown()
	case c.Most > 0 && len(c.owed) >= c.Most:
		return errTooMany
	}
	if err := c.Load.Enter(c.Who, 1); err != nil {
		return Busy(err)
	}
	if c.owed == nil {
		c.owed = make(map[jsonrpc.ID]*owed)
	}
	c.legacy = c.legacy || req.Method == "initialize"
	return nil
}

// repeated is the answer of a call of a legacy session, if it was just answered, or else the call as
// it is to be kept. The caller holds mu.
func (c *Calls) repeated(req *jsonrpc.Request) (kept *Repeat, answer *jsonrpc.Response) {
	if !c.legacy || !slices.Contains(RoundMethods, req.Method) {
		return nil, nil
	}
	kept, first := c.repeats.Begin(req.ID, append([]byte(req.Method+"\x00"), req.Params...), nil)
	if first || kept == nil || !kept.Answered() {
		return kept, nil
	}
	text, err := kept.Await(context.Background())
	kept.Leave(false)
	if err != nil {
		return nil, nil
	}
	msg, err := jsonrpc.DecodeMessage(text)
	if answer, _ = msg.(*jsonrpc.Response); err != nil || answer == nil {
		return nil, nil
	}
	answer.Extra = repeat{}
	return nil, answer
}

// Tasks are those that a subscription names, while it is in flight.
func (c *Calls) Tasks(id any) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for own, o := range c.owed { // go-sdk makes no ID of an integer
		if own.Raw() == id {
			return TasksOf(o.call.Params)
		}
	}
	return nil
}

// late reports whether a message cancels a call that is not in flight any more. go-sdk
// cancels behind the reader's back, and could hit the next call under that id.
func (c *Calls) late(req *jsonrpc.Request) bool {
	id, ok := message.Cancels(req)
	c.mu.Lock()
	defer c.mu.Unlock()
	return ok && c.owed[id] == nil
}

// answered is the call that a message of the server's answers, nil if it answers none. It
// is called under mu.
func (c *Calls) answered(msg jsonrpc.Message) (jsonrpc.ID, *owed) {
	answer, ok := msg.(*jsonrpc.Response)
	if !ok || answer.Extra == (refusal{}) || answer.Extra == (repeat{}) {
		return jsonrpc.ID{}, nil
	}
	return answer.ID, c.owed[answer.ID]
}

// Claim is called before a message waits to be written. It reports false for an answer to a
// call that the transport has answered itself.
func (c *Calls) Claim(msg jsonrpc.Message) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, call := c.answered(msg)
	if call == nil || call.cutOff {
		return call == nil
	}
	call.claimed = true
	return true
}

// Settle is called before a message is written, and says how many times to write it. It
// forgets the call that the message answers, because the peer may use its id again as soon
// as it has read the answer. If awaited, Written must follow.
func (c *Calls) Settle(msg jsonrpc.Message) (times int, awaited bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id, call := c.answered(msg)
	if call == nil {
		return 1, false
	}
	if call.kept != nil {
		answer := msg.(*jsonrpc.Response)
		var text []byte // without one it is not kept
		if len(answer.Result) <= mostOfAnswers {
			text, _ = jsonrpc.EncodeMessage(answer)
		}
		call.kept.End(text, Did(answer.Error))
	}
	delete(c.owed, id)
	c.Load.Leave(c.Who, 1)
	return 1 + call.again, call.awaited()
}

// Written notes that an awaited answer was written.
func (c *Calls) Written() { c.noLonger(1) }

func (c *Calls) noLonger(awaited int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.awaited -= awaited
	if c.awaited == 0 && c.idle != nil && awaited > 0 {
		close(c.idle)
	}
}

// Drain takes no more calls. The channel is closed when no answer is awaited.
func (c *Calls) Drain() (idle <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.idle == nil {
		c.idle = make(chan struct{})
		if c.awaited == 0 {
			close(c.idle)
		}
	}
	return c.idle
}

// Take gives the answers to everything that is owed and not on its way: a subscription is
// complete, and a call is cut off. Drain comes first.
func (c *Calls) Take() []*jsonrpc.Response {
	var answers []*jsonrpc.Response
	awaited := 0
	c.mu.Lock()
	for id, call := range c.owed {
		if call.claimed || call.cutOff {
			continue
		}
		call.cutOff = true
		if call.awaited() {
			awaited++
		}
		for range 1 + call.again {
			answers = append(answers, CutOff(id, !call.awaited()))
		}
	}
	c.mu.Unlock()
	c.noLonger(awaited)
	return answers
}

// Over gives back the places of the calls without an answer. Their handlers have returned.
func (c *Calls) Over() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Load.Leave(c.Who, len(c.owed))
	c.owed = nil
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
func NotBegun(id jsonrpc.ID) *jsonrpc.Response { return Refused(id, callerror.ShuttingDown()) }

// refusal and repeat mark an answer of the transport's own.
type (
	refusal struct{}
	repeat  struct{}
)

// IsRefusal reports whether an answer is that of a call which did not reach the server.
func IsRefusal(answer *jsonrpc.Response) bool { return answer.Extra == (refusal{}) }

// Refused answers a call that did not reach the server.
func Refused(id jsonrpc.ID, why *jsonrpc.Error) *jsonrpc.Response {
	return &jsonrpc.Response{ID: id, Error: why, Extra: refusal{}}
}

package mcphttp

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/transport/mcphttp/internal/lean"
)

// A POST that arrives twice, as a proxy or a browser sends it whose connection broke, is
// one call: in a session its id says so. The second one gets the answer of the first, while
// that runs and for a short time after, and the tool runs once.

const (
	repeatedFor   = 10 * time.Second // after the answer
	mostAnswers   = 16               // kept of a session
	mostOfAnswers = 64 << 10         // bytes of them
)

// repeats are the calls of a session that can be answered again.
type repeats struct {
	mu       sync.Mutex
	calls    map[jsonrpc.ID]*repeatable
	answered []*repeatable // oldest first
	bytes    int           // of their answers
}

// repeatable is a call in flight, or one that was just answered.
type repeatable struct {
	of   *repeats
	id   jsonrpc.ID
	body [sha256.Size]byte
	done chan struct{} // closed when the call is answered, or was not begun

	// All guarded by mu of repeats.
	post    *post       // the first
	forget  *time.Timer // drops the call, nil while it runs
	waiting int         // POSTs, the first one included
	began   bool        // its handler
	ended   bool        // it has returned
	answer  []byte      // as JSON-RPC; nil if it is not kept
}

// begin notes that a POST waits for a call. first is true if that POST is to make it. It
// returns nil for a call with another body under an id in flight, which go-sdk refuses.
func (s *repeats) begin(id jsonrpc.ID, body []byte, p *post) (call *repeatable, first bool) {
	sum := sha256.Sum256(body)
	s.mu.Lock()
	defer s.mu.Unlock()
	if call = s.calls[id]; call != nil {
		if call.body == sum {
			call.waiting++
			return call, false
		}
		if !call.ended {
			return nil, false
		}
		s.drop(call)
	}
	if s.calls == nil {
		s.calls = map[jsonrpc.ID]*repeatable{}
	}
	call = &repeatable{of: s, id: id, body: sum, post: p, done: make(chan struct{}), waiting: 1}
	s.calls[id] = call
	return call, true
}

// drop forgets a call. The caller holds s.mu.
func (s *repeats) drop(call *repeatable) {
	if call.forget != nil {
		call.forget.Stop()
	}
	if s.calls[call.id] == call {
		delete(s.calls, call.id)
	}
	if i := slices.Index(s.answered, call); i >= 0 {
		s.answered = slices.Delete(s.answered, i, i+1)
		s.bytes -= len(call.answer)
	}
	call.release()
}

// release lets go of the answer of a call that was forgotten, once no POST waits for it.
func (c *repeatable) release() {
	if c.ended && c.waiting == 0 && c.of.calls[c.id] != c {
		c.answer, c.post = nil, nil
	}
}

var errNoResult = errors.New("the handler did not return")

// run runs the handler of the call of a method, and keeps its outcome.
func (c *repeatable) run(method string, handler func() (mcp.Result, error)) (result mcp.Result, err error) {
	if c == nil {
		return handler()
	}
	if !c.begin() {
		return nil, notBegun
	}
	err = errNoResult
	defer func() { c.end(method, result, err) }()
	return handler()
}

// begin reports false if the call was refused in the meantime.
func (c *repeatable) begin() bool {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.began = !c.ended
	return c.began
}

func (c *repeatable) end(method string, result mcp.Result, err error) {
	body, _ := lean.Answer(c.id, method, result, err, false) // without a body it is not kept
	s := c.of
	s.mu.Lock()
	defer s.mu.Unlock()
	c.answer, c.ended = body, true
	close(c.done)
	if len(body) > mostOfAnswers {
		c.answer = nil
	}
	s.answered = append(s.answered, c)
	s.bytes += len(c.answer)
	c.forget = time.AfterFunc(repeatedFor, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.drop(c)
	})
	for len(s.answered) > mostAnswers || s.bytes > mostOfAnswers {
		s.drop(s.answered[0])
	}
}

// leave notes that a POST has returned, and reports whether the call runs on and nobody
// waits for it. If that was the first POST and the handler did not begin, it never will.
func (c *repeatable) leave(first bool) (left bool) {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.waiting--
	c.release()
	if first && !c.began && !c.ended {
		c.of.drop(c)
		c.ended = true
		c.answer, _ = jsonrpc.EncodeMessage(&jsonrpc.Response{ID: c.id, Error: notBegun})
		close(c.done)
	}
	return c.waiting == 0 && !c.ended
}

var notBegun = &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "this call was refused when it came first, and did not run"}

// notKept answers a call whose answer was too large to be kept. Like the engine's text for
// a result that was not kept, it does not advise a new call.
var notKept = &jsonrpc.Error{
	Code:    jsonrpc.CodeInvalidRequest,
	Message: "This call was answered before, and its answer was not kept: do not call the tool again without checking.",
}

// await waits for the answer of a call that another POST made.
func (c *repeatable) await(ctx context.Context) ([]byte, error) {
	select {
	case <-c.done:
	case <-ctx.Done():
		select {
		case <-c.done: // an answer that exists goes out
		default:
			return nil, ctx.Err()
		}
	}
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if c.answer == nil {
		return jsonrpc.EncodeMessage(&jsonrpc.Response{ID: c.id, Error: notKept})
	}
	return c.answer, nil
}

// repeatable finds the call of a POST to a session, nil if it is none that is kept.
func (s *sessions) repeatable(id, principal string, body contents, raw []byte, p *post) (call *repeatable, first bool) {
	if !body.round {
		return nil, true
	}
	s.mu.Lock()
	c := s.find(id, principal)
	s.mu.Unlock()
	if c == nil {
		return nil, true // go-sdk refuses it
	}
	return c.repeats.begin(body.calls[0], raw, p)
}

// serveRepeat answers a POST whose call another one made. The last client that waits for a
// call and hangs up ends it.
func serveRepeat(w *reply, r *http.Request, call *repeatable) {
	runs := call.post // a call that nobody waits for may end, and let go of it
	answer, err := call.await(r.Context())
	left := call.leave(false)
	if err == nil {
		w.event(answer)
	} else if left {
		runs.cancel(context.Cause(r.Context()))
	}
}

package inflight

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mrtr-go/sdk/internal/callerror"
)

// In a legacy session the id of a request is the key of its call: a request that arrives twice, as a
// proxy or a browser sends it whose connection broke, is one call. It runs once. The second one gets
// the answer of the first, while that runs and for a short time after. Where that answer is not kept
// any more the second one is refused.

const (
	repeatedFor   = 10 * time.Second // after the answer
	mostEnded     = 4096             // calls of a session that are known for so long
	mostAnswers   = 16               // of them with their answers
	mostOfAnswers = 64 << 10         // bytes of those
	mostOfAll     = 64 << 20         // bytes of all sessions' answers
)

// bytesOfAll are those of all answers that are kept.
var bytesOfAll atomic.Int64

// RoundMethods are those of calls that may ask. Others do nothing that must not be done twice.
var RoundMethods = []string{"tools/call", "prompts/get", "resources/read"}

// Repeats are the calls of a session that can be answered again.
type Repeats struct {
	mu       sync.Mutex
	calls    map[jsonrpc.ID]*Repeat
	ended    []*Repeat // oldest first
	answered []*Repeat // those whose answers are kept
	bytes    int       // of these
	sweep    *time.Timer
}

// Repeat is a call in flight, or one that was just answered.
type Repeat struct {
	ID jsonrpc.ID

	of   *Repeats
	body [sha256.Size]byte
	done chan struct{} // closed when the call is answered, or was not begun

	// All guarded by mu of Repeats.
	cancel  func(cause error) // ends the call; nil where that cannot be, and when it has ended
	first   bool              // the request that made it waits
	waiting int               // so many that came again do
	began   bool              // its handler
	ended   time.Time
	answer  []byte // as JSON-RPC; nil if it is not kept, and nobody waits for it
}

// Begin notes that a request waits for a call. first is true if that request is to make it. It
// returns nil for a call with another body under an id in flight, which is refused.
func (s *Repeats) Begin(id jsonrpc.ID, body []byte, cancel func(cause error)) (call *Repeat, first bool) {
	sum := sha256.Sum256(body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget()
	if call = s.calls[id]; call != nil {
		if call.body == sum {
			call.waiting++
			return call, false
		}
		if call.ended.IsZero() {
			return nil, false
		}
		s.drop(call)
	}
	if s.calls == nil {
		s.calls = map[jsonrpc.ID]*Repeat{}
	}
	call = &Repeat{ID: id, cancel: cancel, of: s, body: sum, done: make(chan struct{}), first: true}
	s.calls[id] = call
	return call, true
}

// forget drops the calls that were answered too long ago, and the oldest answers where they are too
// many. The caller holds s.mu.
func (s *Repeats) forget() {
	for len(s.ended) > 0 && (len(s.ended) > mostEnded || time.Since(s.ended[0].ended) >= repeatedFor) {
		s.drop(s.ended[0])
	}
	for len(s.answered) > mostAnswers || s.bytes > mostOfAnswers {
		s.dropAnswer(s.answered[0])
	}
	if len(s.ended) > 0 && s.sweep == nil {
		s.sweep = time.AfterFunc(repeatedFor, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.sweep = nil
			s.forget()
		})
	}
}

// drop forgets a call. The caller holds s.mu.
func (s *Repeats) drop(call *Repeat) {
	if s.calls[call.ID] == call {
		delete(s.calls, call.ID)
	}
	if i := slices.Index(s.ended, call); i >= 0 {
		s.ended = slices.Delete(s.ended, i, i+1)
	}
	s.dropAnswer(call)
}

// keepAnswer keeps the answer of a call if there is room for it. The caller holds s.mu.
func (s *Repeats) keepAnswer(call *Repeat) {
	size := len(call.answer)
	if size > mostOfAnswers {
		return
	}
	if bytesOfAll.Add(int64(size)) > mostOfAll {
		bytesOfAll.Add(-int64(size))
		return
	}
	s.answered = append(s.answered, call)
	s.bytes += size
}

// dropAnswer leaves of a call that it was answered. The caller holds s.mu.
func (s *Repeats) dropAnswer(call *Repeat) {
	if i := slices.Index(s.answered, call); i >= 0 {
		s.answered = slices.Delete(s.answered, i, i+1)
		s.bytes -= len(call.answer)
		bytesOfAll.Add(-int64(len(call.answer)))
	}
	call.letGo()
}

// letGo lets go of an answer that is not kept, unless a request waits for it. The caller holds mu of
// Repeats.
func (c *Repeat) letGo() {
	if c.waiting == 0 && !slices.Contains(c.of.answered, c) {
		c.answer = nil
	}
}

// Enter is called before the handler of the call is. It reports false if the call was refused in the
// meantime. A nil call is kept by nobody, and runs.
func (c *Repeat) Enter() bool {
	if c == nil {
		return true
	}
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.began = c.ended.IsZero()
	return c.began
}

// End keeps the answer, if it is short enough. Those who wait already get it in any case. That of a
// call that did nothing is for them alone: it tells the client to send the request again, perhaps with
// another token.
func (c *Repeat) End(answer []byte, did bool) {
	if c == nil {
		return
	}
	s := c.of
	s.mu.Lock()
	defer s.mu.Unlock()
	if !c.ended.IsZero() {
		return
	}
	c.ended = time.Now()
	c.cancel = nil // it holds the whole result
	c.answer = answer
	close(c.done)
	if !did {
		s.drop(c)
		return
	}
	s.ended = append(s.ended, c)
	s.keepAnswer(c)
	c.letGo()
	s.forget()
}

// Leave notes that a request has returned. If the call runs on and nobody waits for it any more, that
// returns what ends it. If it was the first request and the handler did not begin, it never will.
func (c *Repeat) Leave(first bool) (end func(cause error)) {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if !first {
		c.waiting--
		c.letGo()
	} else if c.first = false; !c.began && c.ended.IsZero() {
		c.of.drop(c)
		c.ended = time.Now()
		c.answer, _ = jsonrpc.EncodeMessage(&jsonrpc.Response{ID: c.ID, Error: ErrNotRun})
		close(c.done)
	}
	if c.first || c.waiting > 0 {
		return nil
	}
	return c.cancel
}

// Did reports whether a call that ended with an error may have done anything.
func Did(err error) bool {
	var refused *jsonrpc.Error
	return !errors.As(err, &refused) || refused.Code != callerror.CodeNotBegun
}

// ErrNotRun answers a call that was refused when it came first.
var ErrNotRun = &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "this call was refused when it came first, and did not run"}

// errNotKept answers a call whose answer was too large to be kept. Like the engine's text for
// a result that was not kept, it does not advise a new call.
var errNotKept = &jsonrpc.Error{
	Code:    jsonrpc.CodeInvalidRequest,
	Message: "This call was answered before, and its answer was not kept: do not call the tool again without checking.",
}

// Answered reports whether there is nothing to wait for.
func (c *Repeat) Answered() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// Await waits for the answer of a call that another request made.
func (c *Repeat) Await(ctx context.Context) ([]byte, error) {
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
		return jsonrpc.EncodeMessage(&jsonrpc.Response{ID: c.ID, Error: errNotKept})
	}
	return c.answer, nil
}

package mrtr

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/sse/era"
)

// Call is one logical call of a tool, prompt or resource, through all of its
// rounds. A handler gets it in each round; request, session, client and principal
// are those of that round.
//
// A Call may be used from several goroutines. It must not be used after the
// handler has returned.
type Call struct {
	at atomic.Pointer[ledger] // of the round; a held handler is given the next one

	// Guarded by the ledger's lock.
	hooks  *hooks     // nil where none are registered
	linear *linearRun // whose handler goes through the history; nil in other styles
	given  *any       // has the *resolution of this round, nil in other styles
	looked *spec      // the last question that this entry looked for and found no answer to
}

// goesOn is the linear run that a round can go on with, nil if there is none.
func (c *Call) goesOn() *linearRun {
	if c.linear == nil || c.linear.left {
		return nil
	}
	return c.linear
}

// onlyHere reports whether the handler was held and nothing else can go on with the call.
func (c *Call) onlyHere() bool { return c.linear != nil && !c.linear.how.replays }

// ledger is that of the round. Code that shares the call with other goroutines locks it.
func (c *Call) ledger() *ledger { return c.at.Load() }

// lock locks the ledger, and returns it for that to be undone.
func (c *Call) lock() *ledger {
	for {
		l := c.at.Load()
		l.mu.Lock()
		if l == c.at.Load() {
			return l
		}
		l.mu.Unlock() // the handler was given another round meanwhile
	}
}

// ID identifies the call in all of its rounds. It is minted in the first.
func (c *Call) ID() string {
	l := c.lock()
	defer l.mu.Unlock()
	return l.st.id
}

// Round counts from one.
func (c *Call) Round() int {
	l := c.lock()
	defer l.mu.Unlock()
	return l.st.round
}

// Modern reports whether this round's client speaks revision 2026-07-28 or
// later, and so can be asked by an incomplete result.
func (c *Call) Modern() bool { return c.Client().Era == era.Modern }

// Client describes this round's client: its era, and the questions that it
// declared it can be asked.
func (c *Call) Client() era.Client {
	l := c.lock()
	defer l.mu.Unlock()
	return l.ex.client
}

// Principal identifies the caller, as [Options.Principal] does; "" if unknown.
func (c *Call) Principal() string {
	l := c.lock()
	defer l.mu.Unlock()
	return l.principal
}

// Session is the session of this round's request.
func (c *Call) Session() *mcp.ServerSession {
	l := c.lock()
	defer l.mu.Unlock()
	return l.ex.session()
}

// Request is this round's request, as go-sdk gave it.
func (c *Call) Request() mcp.Request {
	l := c.lock()
	defer l.mu.Unlock()
	return l.ex.request
}

// OnComplete runs fn when the call completes, just before its result goes out, and
// only then: not after an error, a decline, or a round that asks. A handler that
// is entered again registers afresh; a held one keeps its registrations.
func (c *Call) OnComplete(fn func(context.Context)) {
	l := c.lock()
	defer l.mu.Unlock()
	h := c.hooks.get()
	h.complete = append(h.complete, fn)
	c.hooks = &h
}

// hooks are the functions registered with a call, and what its handler could not be told of:
// a mistake, and the answers of questions that it asks again along with others. Few calls have
// any. They are replaced and never changed.
type hooks struct {
	complete []func(context.Context)
	stop     []stop
	mistake  error
	kept     map[string]json.RawMessage
}

// registrations are those of the handler.
func (c *Call) registrations() hooks {
	l := c.lock()
	defer l.mu.Unlock()
	return c.hooks.get()
}

func (h *hooks) get() hooks {
	if h == nil {
		return hooks{}
	}
	return *h
}

// mistaken ends the call with a mistake of its handler, whatever that makes of it. The
// caller holds the lock.
func (c *Call) mistaken(err error) {
	h := c.hooks.get()
	h.mistake = err
	c.hooks = &h
}

// newID makes an identifier that nobody can guess.
func newID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails: it ends the process instead
	var text [32]byte
	hex.Encode(text[:], b[:])
	return string(text[:])
}

package mrtr

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"

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
	*ledger // of the round

	// Guarded by the ledger's lock.
	hooks    *hooks     // nil where none are registered
	onlyHere bool       // its handler was held, and nothing else can go on with the call
	walk     walk       // of a list of steps
	linear   *linearRun // nil in other styles
	given    *any       // has the *resolution of this round, nil in other styles
	looked   *spec      // the last question that this entry looked for and found no answer to
	out      asked      // where this round asks
}

// phase is how far a round has come.
type phase uint8

const (
	opened    phase = iota // the handler has not been entered
	entered                // it has been
	stopping               // it is entered for its functions of OnStop alone: no effect runs any more
	elsewhere              // another request runs the turn, or has run it
)

func (p phase) String() string {
	return [...]string{"opened", "entered", "stopping", "elsewhere"}[p]
}

// walk is how far a round has come in its list of steps.
type walk uint8

const (
	noSteps walk = iota // the handler is none, or has not been entered
	walking             // from where the state says
	walked              // once to a question, whose answer stood in: the values above it hold
)

func (w walk) String() string { return [...]string{"no steps", "walking", "walked"}[w] }

// exchange is one request, whichever of the three methods it is for.
type exchange struct {
	method    string
	name      string // of the tool or prompt, or the resource's address
	arguments json.RawMessage
	token     string
	answers   mcp.InputResponseMap
	client    era.Client
	request   mcp.Request
	work      *work         // nil for a round that lives with its request
	legacy    *legacyRounds // nil unless the state stays here between two rounds
}

// session is that of the request, nil where it has none.
func (ex *exchange) session() *mcp.ServerSession {
	if ex.request == nil {
		return nil
	}
	session, _ := ex.request.GetSession().(*mcp.ServerSession)
	return session
}

// The methods of an exchange.
const (
	toolsCall     = "tools/call"
	promptsGet    = "prompts/get"
	resourcesRead = "resources/read"
)

// ID identifies the call in all of its rounds. It is minted in the first.
func (c *Call) ID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.st.id
}

// Round counts from one.
func (c *Call) Round() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.st.round
}

// Modern reports whether this round's client speaks revision 2026-07-28 or
// later, and so can be asked by an incomplete result.
func (c *Call) Modern() bool { return c.Client().Era == era.Modern }

// Client describes this round's client: its era, and the questions that it
// declared it can be asked.
func (c *Call) Client() era.Client {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ex.client
}

// Principal identifies the caller, as [Options.Principal] does; "" if unknown.
func (c *Call) Principal() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.principal
}

// Session is the session of this round's request.
func (c *Call) Session() *mcp.ServerSession {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ex.session()
}

// Request is this round's request, as go-sdk gave it.
func (c *Call) Request() mcp.Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ex.request
}

// OnComplete runs fn when the call completes, just before its result goes out, and
// only then: not after an error, a decline, or a round that asks. A handler that
// is entered again registers afresh; a held one keeps its registrations.
func (c *Call) OnComplete(fn func(context.Context)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.hooks.get()
	h.complete = append(h.complete, fn)
	c.hooks = &h
}

// hooks are the functions registered with a call, and what its handler could not be told of:
// a mistake, and the answers of questions that it asks again along with others. Few calls have
// any. They are replaced and never changed, since a call shares them with its linear run.
type hooks struct {
	complete []func(context.Context)
	stop     []stop
	mistake  error
	kept     map[string]json.RawMessage
}

func (h *hooks) get() hooks {
	if h == nil {
		return hooks{}
	}
	return *h
}

// mistaken ends the call with a mistake of its handler, whatever that makes of it. The
// caller holds c.mu.
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

// clientInfo is what the client calls itself: in the request, or in the initialize of its
// session.
func clientInfo(req mcp.Request, session *mcp.ServerSession) (own mcp.Implementation) {
	switch info := requestMeta(req)[mcp.MetaKeyClientInfo].(type) {
	case map[string]any:
		own.Name, _ = info["name"].(string)
		own.Title, _ = info["title"].(string)
		own.Version, _ = info["version"].(string)
	case *mcp.Implementation:
		if info != nil {
			own = *info
		}
	default:
		if session == nil {
			break
		}
		if p := session.InitializeParams(); p != nil && p.ClientInfo != nil {
			own = *p.ClientInfo
		}
	}
	return own
}

// requestMeta is the _meta of a request, nil for one without.
func requestMeta(req mcp.Request) map[string]any {
	if req == nil || req.GetParams() == nil {
		return nil
	}
	return req.GetParams().GetMeta()
}

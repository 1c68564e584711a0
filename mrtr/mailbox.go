package mrtr

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/mrtr/internal/claim"
	"github.com/mrtr-go/sdk/sse/era"
	"github.com/mrtr-go/sdk/store"
)

// mailbox hears of rounds that reach another instance than the one that holds their handler.
//
//   - The token of a frame begins with the name of its instance, which a state carries, so
//     every instance knows whose inbox to write to.
//   - An instance that holds frames listens to one record, its inbox, and writes it every
//     third of a lease: it costs the same for one frame and for 10,000. A closed inbox, a
//     missing one, and one without a new beat for a lease say that nobody listens.
//   - The instance that gets the request leaves it in the record of the turn ("sent", bound
//     to the answers), puts the name of the turn into the inbox, and waits for the record to
//     change, as any request does for a round in flight. If nobody listens, it claims the
//     turn itself.
//   - The holder takes the turn up with an update at the revision it has read, and runs the
//     round. If it does not have the frame any more, it returns the letter at once.
//   - After a lease of silence, or when the letter has come back, a request that waits claims
//     the turn, with an update at the revision it has seen. It replays the journal, or ends
//     the call with [FrameGone], for good: a holder that wakes up gets a conflict, and drops
//     the frame.
//
// Each step is a create or an update at a revision, so one instance runs the round. A sender
// that dies between two steps costs its client nothing: a repeat finds the letter, announces
// it again and waits.
type mailbox struct {
	rt   *Runtime
	self string // begins the tokens of the frames that are here

	lock   chan struct{} // waits for the store
	inbox  *claim.Inbox  // nil until a frame is held
	closed bool
}

// newMailbox is nil where no other instance could get at the records.
func newMailbox(rt *Runtime) *mailbox {
	if rt.memory == nil || rt.memory.store.Scope() == store.Process {
		return nil
	}
	m := &mailbox{rt: rt, self: newID()[:16], lock: make(chan struct{}, 1)}
	rt.frames.owner = m.self + "."
	return m
}

// listen begins to listen, before the first state goes out that names a frame which is here.
func (m *mailbox) listen(ctx context.Context, epoch string) {
	if m == nil {
		return
	}
	m.lock <- struct{}{}
	defer func() { <-m.lock }()
	if m.closed || m.inbox != nil && m.inbox.Key.Epoch == epoch {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.rt.memory.patience)
	defer cancel()
	m.inbox = m.rt.memory.turns.OpenInbox(ctx, store.Key{Epoch: epoch, Name: inboxOf(m.self)}, m.take)
}

func inboxOf(instance string) string { return "inbox." + instance }

// close tells the others that nobody listens here any more.
func (m *mailbox) close() {
	if m == nil {
		return
	}
	m.lock <- struct{}{}
	defer func() { <-m.lock }()
	m.closed = true
	if m.inbox != nil {
		ctx, cancel := context.WithTimeout(context.Background(), m.rt.memory.patience)
		defer cancel()
		m.inbox.Close(ctx)
		m.inbox = nil
	}
}

// holder is the instance that holds the frame of this call, "" if that is this one or
// none.
func (c *Call) holder() string {
	m := c.rt.mailbox
	if m == nil || !c.remembered() {
		return ""
	}
	instance, _, ok := strings.Cut(c.st.frame, ".")
	if !ok || instance == m.self {
		return ""
	}
	return instance
}

// request is the content of a letter.
type request struct {
	Method    string               `json:"method"`
	Name      string               `json:"name"`
	Arguments json.RawMessage      `json:"arguments,omitempty"`
	Token     string               `json:"token"`
	Answers   mcp.InputResponseMap `json:"answers"`
	Client    era.Client           `json:"client"`
	Principal string               `json:"principal"`
	Expires   time.Time            `json:"expires"` // of the record
	Task      bool                 `json:"task,omitempty"`
	Ending    bool                 `json:"ending,omitempty"` // of a task that was cancelled
	Arrival   *arrival             `json:"arrival,omitempty"`
}

// letter is the request for the instance that holds the frame of this call, nil if that is
// this one, or none.
func (c *Call) letter(expires time.Time) (*claim.Letter, error) {
	holder := c.holder()
	if holder == "" {
		return nil, nil
	}
	text, err := json.Marshal(request{
		Method: c.ex.method, Name: c.ex.name, Arguments: c.ex.arguments, Token: c.ex.token, Answers: c.ex.answers,
		Client: c.ex.client, Principal: c.principal, Expires: expires,
		Task: c.task() != nil, Ending: c.endsTask() != nil, Arrival: c.arrival,
	})
	return &claim.Letter{To: inboxOf(holder), Frame: c.st.frame, Text: text}, err
}

// delivered marks the exchange of a round that came in a letter.
type delivered struct {
	*claim.Delivery
	principal string
	arrival   *arrival
}

// take runs a round that another instance has left to this one. Whoever sent it finds the
// outcome in the store.
func (m *mailbox) take(ctx context.Context, n claim.Notice) {
	rt := m.rt
	turns := rt.memory.turns
	d, lost := turns.Fetch(ctx, n)
	if lost {
		rt.frames.drop(n.Frame)
	}
	if d == nil {
		return
	}
	var q request
	if json.Unmarshal(d.Text, &q) != nil {
		return
	}
	t := rt.frames.targetOf(n.Frame)
	if t == nil {
		turns.Return(ctx, d, q.Expires)
		return
	}
	if q.Task {
		ctx = rendezvous.WithTaskRound(ctx, rendezvous.NewTaskRound(q.Ending))
	}
	ex := exchange{
		method: q.Method, name: q.Name, arguments: q.Arguments, token: q.Token, answers: q.Answers,
		client: q.Client, request: q.forHandler(), letter: &delivered{d, q.Principal, q.Arrival}, work: newWork(ctx),
	}
	go func() { // it is one of the rounds that Close has a bound for
		defer turns.Return(ctx, d, q.Expires)
		defer rt.works.leave(ex.work)
		_, _ = rt.run(ex.work, ex, t, t.held())
		if d.Lost {
			rt.frames.drop(n.Frame)
		}
	}()
}

// forHandler is the request as the handler sees it. It has no session.
func (q *request) forHandler() mcp.Request {
	switch q.Method {
	case promptsGet:
		var arguments map[string]string
		_ = json.Unmarshal(q.Arguments, &arguments) // they were made of such a map
		return &mcp.GetPromptRequest{Params: &mcp.GetPromptParams{
			Name: q.Name, Arguments: arguments, RequestState: q.Token, InputResponses: q.Answers,
		}}
	case resourcesRead:
		return &mcp.ReadResourceRequest{Params: &mcp.ReadResourceParams{
			URI: q.Name, RequestState: q.Token, InputResponses: q.Answers,
		}}
	}
	return &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{
		Name: q.Name, Arguments: q.Arguments, RequestState: q.Token, InputResponses: q.Answers,
	}}
}

// drop ends a held handler whose call was ended, or went on, at another instance.
func (t *frameTable) drop(token string) {
	if r := t.take(token); r != nil {
		r.unwound("another instance ran its round", r.how.replays)
		r.release(&Error{Reason: FrameGone})
	}
}

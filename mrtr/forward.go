package mrtr

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/era"
	"github.com/mrtr-go/sdk/statecodec"
)

// A Forwarder carries messages between the instances of a server, so that a request
// which reaches another instance than the one that holds its frame ([Coroutine],
// [Resumable]) is run where the frame is.
//
// A message is sealed, and names its sender's principal: nobody without the keys can
// make one or read it. To lose a message, or to deliver it twice or late, does no harm,
// because the instance that gets it claims the round in the store like any other
// request.
type Forwarder interface {
	// Self names this instance: letters, digits, hyphens and underscores (ASCII), 1 to
	// 64 of them. No other instance has the name, also no earlier one.
	Self() string
	// Serve calls handle for each message to this instance, each on a goroutine of its
	// own, and sends its answer back; an answer of nil is not sent. stop ends that: it
	// returns when no further call of handle will begin.
	Serve(handle func(message []byte) []byte) (stop func(), err error)
	// Forward sends a message to an instance, and returns its answer. The error
	// [ErrNoInstance] tells that nobody got the message.
	Forward(ctx context.Context, to string, message []byte) ([]byte, error)
}

// forwarding is the part of a runtime that has a Forwarder.
type forwarding struct {
	Forwarder
	codec  *statecodec.Codec
	stop   func()
	ctx    context.Context // of the rounds that other instances forwarded
	cancel context.CancelFunc
	rounds sync.WaitGroup

	mu     sync.Mutex
	closed bool
}

// newForwarding is called with the other options resolved.
func newForwarding(o *Options) (*forwarding, error) {
	if o.Forwarder == nil {
		return nil, nil
	}
	if o.Store == nil {
		return nil, misuse("Options.Forwarder needs a Store, where the result of a forwarded round is found")
	}
	if self := o.Forwarder.Self(); !isInstance(self) {
		return nil, misuse("Options.Forwarder names this instance %.80q: 1 to 64 letters, digits, '-' and '_'", self)
	}
	seal := *o.State
	seal.Readable, seal.PerPrincipal, seal.PerSession, seal.Instance = false, false, false, ""
	seal.MaxToken = min(tokenFor(maxForwarded), statecodec.MaxMaxToken)
	codec, err := statecodec.New(&seal)
	if err != nil {
		return nil, err
	}
	f := &forwarding{Forwarder: o.Forwarder, codec: codec.For("forwarded_round")}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	return f, nil
}

// maxForwarded bounds a message before it is sealed: a request that is longer is not
// forwarded.
const maxForwarded = 640 << 10

var errTooLong = errors.New("the request is too long to be forwarded")

func isInstance(name string) bool {
	return checkKey(name) == nil && !strings.Contains(name, ".")
}

// forwardedRound is the message.
type forwardedRound struct {
	Method    string               `json:"method"`
	Name      string               `json:"name"`
	Arguments json.RawMessage      `json:"arguments,omitempty"`
	Token     string               `json:"token"`
	Answers   mcp.InputResponseMap `json:"answers"`
	Client    era.Client           `json:"client"`
	Principal string               `json:"principal"`
	Frame     string               `json:"frame"`
}

// The answers to a message.
const (
	frameResumed = "resumed" // the round is claimed, or has ended
	frameUnknown = "unknown"
)

// holder is the instance that holds the frame of this call, "" if that is this one or
// none.
func (c *Call) holder() string {
	f := c.rt.forwarding
	if f == nil || !c.remembered() {
		return ""
	}
	instance, _, ok := strings.Cut(c.st.frame, ".")
	if !ok || instance == f.Self() {
		return ""
	}
	return instance
}

// forward lets the instance that holds the frame run this round. It returns when that
// one has claimed the round, or cannot be expected to: in both cases this request goes
// on as any equal one does, and either gets the result or claims the round itself.
func (c *Call) forward(ctx context.Context) {
	holder := c.holder()
	if holder == "" || c.target.replays && !c.target.forwards {
		return
	}
	reason := ""
	answer, err := c.sendTo(ctx, holder)
	switch {
	case err == nil && answer != frameResumed:
		reason = "the instance does not hold the frame any more"
	case errors.Is(err, ErrNoInstance):
		reason = "the instance is gone"
	case errors.Is(err, errTooLong):
		reason = err.Error()
	case err != nil:
		reason = "the instance does not answer"
	}
	c.observe(ctx, Event{Kind: RoundForwarded, Reason: reason, Err: err})
}

func (c *Call) sendTo(ctx context.Context, holder string) (answer string, _ error) {
	f := c.rt.forwarding
	message, err := json.Marshal(forwardedRound{
		Method: c.ex.method, Name: c.ex.name, Arguments: c.ex.arguments,
		Token: c.ex.token, Answers: c.ex.answers, Client: c.ex.client, Principal: c.principal, Frame: c.st.frame,
	})
	if err != nil {
		return "", err
	}
	if len(message) > maxForwarded {
		return "", errTooLong
	}
	sealed, err := f.codec.Seal(statecodec.Binding{Target: holder}, message)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, c.rt.memory.patience)
	defer cancel()
	said, err := f.Forward(ctx, holder, []byte(sealed))
	return string(said), err
}

// start begins to take messages.
func (f *forwarding) start(rt *Runtime) error {
	var err error
	f.stop, err = f.Serve(rt.takeForwarded)
	return err
}

// close lets no further round begin.
func (f *forwarding) close() {
	f.stop()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
}

// wait waits for those that have begun. Their handlers have been cancelled.
func (f *forwarding) wait() {
	f.cancel()
	f.rounds.Wait()
}

func (f *forwarding) begin() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.rounds.Add(1)
	}
	return !f.closed
}

// takeForwarded runs a round whose frame is here. A message that does not open is not
// answered.
func (rt *Runtime) takeForwarded(sealed []byte) []byte {
	f := rt.forwarding
	message, err := f.codec.Open(statecodec.Binding{Target: f.Self()}, string(sealed))
	if err != nil {
		return nil
	}
	var m forwardedRound
	if json.Unmarshal(message, &m) != nil {
		return nil
	}
	ex := exchange{
		method: m.Method, name: m.Name, arguments: m.Arguments, token: m.Token, answers: m.Answers,
		client: m.Client, request: m.request(), forwarded: &forwardedFrom{principal: m.Principal, claimed: make(chan struct{})},
	}
	t := rt.frames.targetOf(m.Frame)
	if t == nil || !f.begin() {
		return []byte(frameUnknown)
	}
	ended := make(chan struct{})
	go func() {
		defer f.rounds.Done()
		defer close(ended)
		to, enter := t.held()
		// Whoever sent it finds the outcome in the store.
		_, _ = rt.round(f.ctx, ex, t, to, enter)
	}()
	select {
	case <-ex.forwarded.claimed:
	case <-ended:
	}
	return []byte(frameResumed)
}

// forwardedFrom marks the exchange of a round that another instance forwarded.
type forwardedFrom struct {
	principal string
	claimed   chan struct{} // closed when the round is claimed
}

// request is the request as the handler sees it. It has no session.
func (m *forwardedRound) request() mcp.Request {
	switch m.Method {
	case promptsGet:
		var arguments map[string]string
		_ = json.Unmarshal(m.Arguments, &arguments) // they were made of such a map
		return &mcp.GetPromptRequest{Params: &mcp.GetPromptParams{
			Name: m.Name, Arguments: arguments, RequestState: m.Token, InputResponses: m.Answers,
		}}
	case resourcesRead:
		return &mcp.ReadResourceRequest{Params: &mcp.ReadResourceParams{
			URI: m.Name, RequestState: m.Token, InputResponses: m.Answers,
		}}
	}
	return &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{
		Name: m.Name, Arguments: m.Arguments, RequestState: m.Token, InputResponses: m.Answers,
	}}
}

package mrtrtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mrtr-go/sdk/internal/wire"
)

// A Script is one call of a tool, and the answers of its user.
type Script struct {
	Tool      string
	Arguments any // encodes as a JSON object
	Answers   Answers
}

// An Outcome is the end of a call, and the way to it.
type Outcome struct {
	// Error is the JSON-RPC error that ended the call. It is nil if there is a
	// result.
	Error *jsonrpc.Error
	// Result is the result as it was on the wire, and the three below are parts of
	// it. Text is the text contents, joined.
	Result     json.RawMessage
	Text       string
	Structured json.RawMessage
	IsError    bool
	// Incomplete reports a result that still asks: it was sent to a legacy client,
	// which cannot answer it.
	Incomplete bool

	Requests int        // made by the client
	Asked    []Question // by the server, in order
	Effects  []string   // by name, in order; "undo" and the name where one was undone
	// Messages are all JSON-RPC messages in order, each after "client: " or
	// "server: ". Ids and states are masked, in which equal calls differ.
	Messages []string

	effects []effect
}

// maxRequests ends a call that keeps asking.
const maxRequests = 50

// Call calls a tool, answers its questions from the script and returns the
// outcome. An error that the client was sent is an outcome; a call that could not
// be made or came to no end, and a handler that panicked, fail the test.
//
// A nil opts means the default options.
func Call(t testing.TB, build Build, s Script, opts *Options) *Outcome {
	t.Helper()
	out, err := Play(t.Context(), build, s, opts)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Play is [Call] without a test.
func Play(ctx context.Context, build Build, s Script, opts *Options) (*Outcome, error) {
	if opts == nil {
		opts = &Options{}
	}
	if opts.Era < Modern || opts.Era > TakesTasks || opts.Timeout < 0 {
		return nil, fmt.Errorf("mrtrtest: there is no era %d, or the timeout %s is negative", opts.Era, opts.Timeout)
	}
	ctx, cancel := context.WithTimeout(ctx, opts.timeout())
	defer cancel()
	p := &player{deployment: &Deployment{Name: "deployment", Build: build}, opts: opts, script: newScript(s.Answers, opts.Era), out: &Outcome{}}
	p.deployment.during = p.during
	err := errors.Join(p.play(ctx, wire.Request{Name: s.Tool, Arguments: s.Arguments}), p.deployment.Close())
	if err != nil {
		return nil, fmt.Errorf("mrtrtest: %s (%s): %w", s.Tool, opts, err)
	}
	p.out.effects = p.deployment.all()
	p.out.placeEffects()
	for _, e := range p.out.effects {
		p.out.Effects = append(p.out.Effects, e.String())
	}
	return p.out, nil
}

// player plays one call.
type player struct {
	deployment *Deployment
	opts       *Options
	script     *script
	out        *Outcome

	mu        sync.Mutex
	client    *wire.Client // of the round that is under way
	askedOver int          // questions over its connection that are in the outcome
	exchanged int          // settled messages of the connections before it
	requests  int          // made, the one under way included
}

// play makes requests until one is answered for good.
func (p *player) play(ctx context.Context, request wire.Request) error {
	for more := true; more; {
		err := p.connected(ctx, func(client *wire.Client) error {
			for more {
				reply, err := p.round(ctx, client, request)
				if err != nil {
					return err
				}
				// A legacy client knows no incomplete result and takes any for final.
				more = reply.Incomplete() && !client.Handshaken()
				if more && p.out.Requests == maxRequests {
					return fmt.Errorf("it still asks after %d requests", maxRequests)
				}
				if request.State, request.Task, request.Responses, err = reply.State, reply.Task, nil, nil; more {
					request.Responses, err = p.answers().Responses(reply.Asks)
				}
				if err != nil || p.opts.FreshInstances {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *player) round(ctx context.Context, client *wire.Client, request wire.Request) (*wire.Reply, error) {
	p.mu.Lock()
	p.requests++
	p.mu.Unlock()
	reply, err := client.Send(ctx, request)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Errorf("request %d was not answered within %s", p.requests, p.opts.timeout())
	}
	if err != nil {
		return nil, err
	}
	out := p.out
	out.Requests = p.requests
	out.Error, out.Result, out.Text, out.Structured, out.IsError = reply.Error, reply.Result, reply.Text, reply.Structured, reply.IsError
	out.Incomplete = reply.Incomplete()
	over := client.Asked()
	for _, q := range append(reply.Asks, over[p.askedOver:]...) {
		out.Asked = append(out.Asked, questionOf(q))
	}
	p.askedOver = len(over)
	return reply, nil
}

// connected runs talk against a new instance, and stops the instance.
func (p *player) connected(ctx context.Context, talk func(*wire.Client) error) error {
	i, err := p.deployment.Start()
	if err != nil {
		return err
	}
	transport, err := i.Connect(ctx, p.opts.User)
	if err != nil {
		return errors.Join(err, i.Stop())
	}
	client, err := wire.Dial(ctx, transport, p.opts.wire(p.answers()))
	if err != nil {
		return errors.Join(i.Died(), err, i.Stop())
	}
	p.mu.Lock()
	p.client, p.askedOver = client, 0
	p.mu.Unlock()
	err = talk(client)
	_ = client.Close()
	hangs := i.Stop()
	if died := i.Died(); died != nil { // which is why talk failed
		if p, ok := died.(*panicked); ok {
			return fmt.Errorf("%w\n%s", p, p.stack)
		}
		return died
	}
	err = errors.Join(err, hangs)
	messages := wire.WithoutPolls(client.Messages())
	p.mu.Lock()
	p.exchanged += settled(messages)
	p.client = nil
	p.mu.Unlock()
	for _, m := range messages {
		text, maskErr := masked(m.JSON)
		err = errors.Join(err, maskErr)
		sender := fromServer
		if m.Sent {
			sender = fromClient
		}
		p.out.Messages = append(p.out.Messages, sender+text)
	}
	return err
}

const (
	fromClient = "client: "
	fromServer = "server: "
)

func (p *player) answers() wire.Answers { return wire.Answers{"*": p.script.answer} }

// during says where the call is.
func (p *player) during() (request, message int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	message = p.exchanged
	if p.client != nil {
		message += settled(wire.WithoutPolls(p.client.Messages()))
	}
	return p.requests, message
}

// WantEffects fails the test unless the call had these effects and no others, in
// this order. The failure says in which request each of them happened.
func (o *Outcome) WantEffects(t testing.TB, names ...string) {
	t.Helper()
	if slices.Equal(names, o.Effects) {
		return
	}
	want := "none"
	if len(names) > 0 {
		want = strings.Join(names, ", ")
	}
	t.Errorf("the effects of a call that made %d requests\n  want: %s\n  got:  %s", o.Requests, want, o.whereEffects())
}

// whereEffects lists the effects with the request of each.
func (o *Outcome) whereEffects() string {
	if len(o.effects) == 0 {
		return "none"
	}
	var got []string
	for _, e := range o.effects {
		got = append(got, fmt.Sprintf("%s (request %d)", e, e.request))
	}
	return strings.Join(got, ", ")
}

// Options say how a call is made. Nil, and the zero value, are a client of
// 2026-07-28 that declares everything, and one instance of the server.
type Options struct {
	// Era is that of the client.
	Era Era
	// Capabilities are those that the client declares, as a JSON object: "{}" is a client that
	// cannot be asked. Empty is a client that can be asked anything.
	Capabilities string
	// FreshInstances sends each request to an instance of its own, which is built
	// after the one before it was stopped. It is the hardest load balancer that a
	// deployment can have.
	FreshInstances bool
	// User is the UserID of the client's token, as go-sdk's auth middleware would
	// give it to the server. Empty is a client without a token.
	User string
	// Timeout bounds the call; 30 s if zero. In a bubble of testing/synctest that is
	// no time at all.
	Timeout time.Duration
}

// Era is a kind of client.
type Era int

const (
	// Modern is a client of revision 2026-07-28: it calls again with the answers.
	Modern Era = iota
	// Legacy is a client of revision 2025-11-25: it makes one request, and is asked
	// over its connection while that is open. It takes the first reply for the
	// result.
	Legacy
	// NegotiatedDown is a client that offered 2026-07-28 in a handshake, as no
	// client should. go-sdk asks it nothing.
	NegotiatedDown
	// TakesTasks is a modern client that declares the extension of tasks. It polls a call that
	// became a task, and answers its questions there; any other call goes as for Modern. Each
	// update of the task counts as a request, and polls do not. A question that the script
	// leaves open is found again by the next poll.
	TakesTasks
)

// String says it for a report: "modern client", "legacy client, fresh instances".
func (o *Options) String() string {
	if o == nil {
		o = &Options{}
	}
	words := []string{[]string{"modern client", "legacy client", "client negotiated down", "client that takes tasks"}[o.Era]}
	switch o.Capabilities {
	case "":
	case "{}":
		words = append(words, "no capabilities")
	default:
		words = append(words, "capabilities "+o.Capabilities)
	}
	if o.User != "" {
		words = append(words, "user "+o.User)
	}
	if o.FreshInstances {
		words = append(words, "fresh instances")
	}
	return strings.Join(words, ", ")
}

// wire are the options of the raw client.
func (o *Options) wire(script wire.Answers) *wire.Options {
	w := &wire.Options{Capabilities: wire.Capabilities(o.Capabilities), Answers: script}
	switch o.Era {
	case Legacy:
		w.Version = wire.Legacy
	case NegotiatedDown:
		w.Handshake = true
	case TakesTasks:
		w.TakesTasks = true
	}
	return w
}

func (o *Options) timeout() time.Duration {
	if o.Timeout == 0 {
		return 30 * time.Second
	}
	return o.Timeout
}

package main

import (
	"context"
	"encoding/json"
	"runtime"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/options"
)

// recorder puts the events of a call into one order: messages on the wire, events
// of the engine, audit lines.
type recorder struct {
	audit   *options.Audit
	watch   func(moment)                                // called with each moment, one at a time; may be nil
	inspect func(state string) (json.RawMessage, error) // opens a state, as the server does

	mu      sync.Mutex
	entered int
	audited int
	open    map[any]bool // the ids of the tools/call requests that have no response
	held    load
}

// moment is one event. One of its first four fields is set.
type moment struct {
	toServer json.RawMessage
	toClient json.RawMessage
	event    *observe.Event
	audited  string

	inspect func(state string) (json.RawMessage, error) // opens a state, as the server does
}

// Observe records an event of the engine.
func (r *recorder) Observe(_ context.Context, e observe.Event) { r.add(moment{event: &e}) }

func (r *recorder) add(m moment) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, line := range r.audit.Lines()[r.audited:] {
		r.audited++
		r.tell(moment{audited: line})
	}
	if m.event != nil && m.event.Kind == observe.HandlerEntered {
		r.entered++
	}
	r.follow(m)
	r.tell(m)
}

// follow keeps the list of open requests.
func (r *recorder) follow(m moment) {
	var sent message
	switch {
	case m.toServer != nil && json.Unmarshal(m.toServer, &sent) == nil && sent.Method == "tools/call":
		r.open[sent.ID] = true
	case m.toClient != nil && json.Unmarshal(m.toClient, &sent) == nil && sent.Method == "":
		delete(r.open, sent.ID)
	}
}

func (r *recorder) tell(m moment) {
	if r.watch != nil {
		m.inspect = r.inspect
		r.watch(m)
	}
}

// recording puts a transport into one that records each message.
func (r *recorder) recording(t mcp.Transport) mcp.Transport { return recordingTransport{t, r} }

// recordingTransport is a transport that records each message.
type recordingTransport struct {
	mcp.Transport
	to *recorder
}

func (t recordingTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := t.Transport.Connect(ctx)
	return recordingConn{conn, t.to}, err
}

type recordingConn struct {
	mcp.Connection
	to *recorder
}

func (c recordingConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	msg, err := c.Connection.Read(ctx)
	if err == nil {
		c.to.add(moment{toClient: encode(msg)})
	}
	return msg, err
}

func (c recordingConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	c.to.add(moment{toServer: encode(msg)})
	return c.Connection.Write(ctx, msg)
}

func encode(msg jsonrpc.Message) json.RawMessage {
	raw, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return nil
	}
	return raw
}

// load is how much a server holds at one moment: requests that wait for their
// responses, and handlers that wait for their users.
type load struct{ requests, handlers int }

// weighing notes, at each question, how much the server holds at that moment.
func (r *recorder) weighing(answers wire.Answers) wire.Answers {
	weighed := wire.Answers{}
	for key, answer := range answers {
		weighed[key] = func(q wire.Question) any {
			r.weigh()
			return answer(q)
		}
	}
	return weighed
}

func (r *recorder) weigh() {
	handlers := handlersRunning()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held.requests = max(r.held.requests, len(r.open))
	r.held.handlers = max(r.held.handlers, handlers)
}

// handlersRunning counts the goroutines that stand in a function of a style, but for
// those that the engine has ended: one may still be on its way out.
func handlersRunning() (n int) {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for _, goroutine := range strings.Split(string(stacks), "\n\n") {
		if strings.Contains(goroutine, "\ngithub.com/mrtr-go/sdk/options") && !strings.Contains(goroutine, "\nruntime.Goexit(") {
			n++
		}
	}
	return n
}

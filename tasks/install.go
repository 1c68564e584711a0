// Package tasks serves tools as tasks: the extension io.modelcontextprotocol/tasks (SEP-2663)
// of revision 2026-07-28. Where a tool's policy makes a call a task, a client that declares
// the extension gets its id instead of the result, polls it with tasks/get, answers its
// questions with tasks/update, and may end it with tasks/cancel.
//
//	mrtr.Add(server, rt, tool, linear.Journal(book), &mrtr.HandlerOptions{
//		Task: mrtr.TaskPolicy{After: 2 * time.Second},
//	})
//	m, err := tasks.Install(server, &tasks.Options{Runtime: rt})
//	...
//	defer m.Close() // before the runtime
//
// A task is a modern client inside the server: it calls the handler, shows the questions of
// its result in tasks/get, and calls again with the answers and the state. So a handler of
// any style is a task without a change, and a task keeps the same things as a client. With a store
// that several instances share, any of them answers for every task, and takes it over if the
// instance that worked on it has fallen silent.
//
// Over HTTP and WebSocket a client need not poll: it names its tasks in subscriptions/listen,
// at any instance, and is told each state until they end.
//
//   - A task that nobody polls or listens to is not taken over: it waits for its next poll.
//   - The session that a handler sees after a takeover is that of the request which took the
//     task over.
//   - A coroutine goes on only at the instance that holds it: if another one gets the answers,
//     or its process has ended, its task ends and says so.
//   - A task that is cancelled undoes the effects of its call (mrtr.Style.OnStop), at whichever
//     instance. With a store, so does one that waits until its call has expired.
package tasks

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/internal/sighting"
	"github.com/mrtr-go/sdk/internal/usage"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/keep"
	"github.com/mrtr-go/sdk/sse/era"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// Runtime gives tasks their keys, their store, and the names of their callers. An
// mrtr.Runtime is one.
type Runtime interface {
	Sender(ctx context.Context, req mcp.Request) (string, error)
	Sealer(purpose string, ttl time.Duration, maxBytes int) (keep.Sealer, error)
	StateTTL() time.Duration
	Skew() time.Duration
	Keeper() keep.Keeper
	ErasesTasks(f keep.Eraser)
	Erase(ctx context.Context, principal, call string) (erased int, err error)
}

// Policy says when a call of a tool becomes a task whose handler is not made by package mrtr:
// AtOnce, or when it has run for the time of After. Required refuses the clients that take no
// tasks.
type Policy struct {
	AtOnce   bool
	After    time.Duration
	Required bool
}

// sealer seals the ids of tasks.
type sealer interface {
	Seal(b statecodec.Binding, payload []byte) (string, error)
	Open(b statecodec.Binding, token string) ([]byte, error)
}

// Options configure the tasks of a server. A negative value is an error.
type Options struct {
	// Runtime is that of the server's tools. Its store keeps the tasks; without a Runtime or
	// a store, memory does, and they end with the process.
	Runtime Runtime
	// Policy is for tools by name that have no policy of their own (mrtr.HandlerOptions).
	// The engine knows nothing of their calls: such a task fails where its
	// instance dies in the first round, and one that is cancelled while it waits ends
	// without its handler.
	Policy map[string]Policy
	// TTL is how long a task is kept after it was created; 1 hour if zero, or as long as a
	// state opens where that is less. It cannot be more.
	TTL time.Duration
	// PollInterval is what clients are told; 1 second if zero.
	PollInterval time.Duration
	// MaxTasks bounds the tasks of this instance that have not ended; 10,000 if zero. The
	// callers without a principal share three quarters of them. MaxTasksPerPrincipal bounds
	// those of one known principal; 100 if zero, or MaxTasks if that is less. Their
	// arguments and answers are 2 MiB at most while they are open, and those of all other callers
	// 8 MiB. A call beyond
	// a limit, or one whose record the store does not take, is served as for a client
	// without tasks. As many tasks may be listened to; one beyond that is not acknowledged.
	MaxTasks, MaxTasksPerPrincipal int
	// Admit, if set, may refuse a request about a task of the caller's own, which is of this tool:
	// its error is the answer, and a subscription leaves the task out. A server that judges calls
	// by their tool judges here whether they go on.
	Admit func(ctx context.Context, req mcp.Request, tool string) error
	// Logger gets the panics of handlers, of which clients are told that there was no result;
	// slog.Default() if nil.
	Logger *slog.Logger
}

func (o *Options) resolve() error {
	state := statecodec.DefaultTTL
	if o.Runtime != nil {
		state = o.Runtime.StateTTL()
	}
	u := usage.Of("tasks", "Options")
	usage.Default(u, "TTL", &o.TTL, min(time.Hour, state))
	usage.Default(u, "PollInterval", &o.PollInterval, time.Second)
	usage.Default(u, "MaxTasks", &o.MaxTasks, 10_000)
	usage.Default(u, "MaxTasksPerPrincipal", &o.MaxTasksPerPrincipal, min(100, max(o.MaxTasks, 1)))
	if err := u.Err(); err != nil {
		return err
	}
	switch {
	case o.TTL > state:
		return usage.New("tasks", "Options.TTL is %v, and the state of a call opens for %v", o.TTL, state)
	case o.TTL < store.MinTTL:
		return usage.New("tasks", "Options.TTL is %v: it is at least %v", o.TTL, store.MinTTL)
	case o.MaxTasksPerPrincipal > o.MaxTasks:
		return usage.New("tasks", "Options.MaxTasksPerPrincipal is %d, and MaxTasks %d", o.MaxTasksPerPrincipal, o.MaxTasks)
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	o.Policy = maps.Clone(o.Policy)
	for name, p := range o.Policy {
		if p.After < 0 || p.AtOnce == (p.After > 0) {
			return usage.New("tasks", "Options.Policy of tool %q: set one of AtOnce and After", name)
		}
	}
	return nil
}

// Manager serves the tasks of a server.
type Manager struct {
	o        Options
	store    store.Store
	shared   bool // other processes may work on the tasks
	lease    time.Duration
	patience time.Duration
	skew     time.Duration // between the clocks of those who have its tasks
	looks    looks
	looking  sync.WaitGroup
	ids      sealer
	records  keep.Sealer // nil where the records do not leave the process
	seen     sighting.Log[store.Key, store.Revision]
	epoch    atomic.Pointer[string] // of the store, as it was last seen
	ledger   ledger
	ended    ended

	listening ledger // of the tasks that somebody listens to

	ctx  context.Context // ends with Close
	stop context.CancelCauseFunc

	mu     sync.Mutex
	closed bool
	runs   map[store.Key]*run
	ending sync.WaitGroup

	waits waits
}

// Install serves the tools of a server as tasks. Call it before the server is connected, and
// Close before the Close of the runtime.
//
// Call it after boundary.Install: each round of a task passes a boundary that is there
// already, and its Deadline. One that is installed later lets the task through to its client,
// but then a panic fails the task, and its results have no report.
func Install(server *mcp.Server, opts *Options) (*Manager, error) {
	m := &Manager{runs: map[store.Key]*run{}, lease: 15 * time.Second, patience: 2 * time.Second}
	if opts != nil {
		m.o = *opts
	}
	if err := m.o.resolve(); err != nil {
		return nil, err
	}
	m.ledger.max, m.ledger.maxPrincipal = m.o.MaxTasks, m.o.MaxTasksPerPrincipal
	m.listening.max, m.listening.maxPrincipal = m.o.MaxTasks, m.o.MaxTasksPerPrincipal
	if err := m.keep(); err != nil {
		return nil, err
	}
	m.ctx, m.stop = context.WithCancelCause(context.Background())
	answered := func(context.Context, *mcp.ServerSession, *params) (*acknowledged, error) {
		return nil, errors.New("tasks: the middleware of Install answers this method")
	}
	for _, method := range []string{tasksGet, tasksUpdate, tasksCancel} {
		if err := mcp.AddReceivingCustomMethod(server, method, answered); err != nil {
			return nil, err
		}
	}
	server.AddReceivingMiddleware(m.receive)
	server.AddSendingMiddleware(sending)
	return m, nil
}

// keep decides where the tasks are kept, and with which keys.
func (m *Manager) keep() (err error) {
	rt := m.o.Runtime
	m.skew = statecodec.DefaultSkew
	if rt != nil {
		if k := durable.Of(rt.Keeper()); k != nil {
			m.store, m.lease, m.patience = k.Records().Store(), k.Lease(), k.Records().Patience()
		}
	}
	if m.store == nil {
		m.store = store.NewMemory(nil)
	}
	m.shared = m.store.Scope() != store.Process
	if rt == nil {
		codec, err := statecodec.New(&statecodec.Options{Ephemeral: true, TTL: m.o.TTL})
		if err != nil {
			return err
		}
		m.ids = codec.For(idPurpose)
		return nil
	}
	rt.ErasesTasks(m.erase)
	m.skew = cmp.Or(rt.Skew(), m.skew)
	ids, err := rt.Sealer(idPurpose, 0, 0) // the record bounds it
	if m.ids = ids; err != nil || !m.shared {
		return err
	}
	m.records, err = rt.Sealer("task_record", 0, statecodec.MaxMaxToken)
	return err
}

// Stats are the tasks of an instance.
type Stats struct {
	Open      int // created here, and not known to have ended
	Working   int // with a round that runs here
	Listening int // of which clients are told here, counted for each subscription
}

// Stats counts the tasks of this instance.
func (m *Manager) Stats() Stats {
	m.mu.Lock()
	working := len(m.runs)
	m.mu.Unlock()
	return Stats{Open: m.ledger.open(), Working: working, Listening: m.listening.open()}
}

var errClosing = errors.New("the server is shutting down")

// closing bounds how long Close waits for handlers.
const closing = 10 * time.Second

// Drain begins no round of a task any more, and waits for those that run here as long as ctx
// allows. Then it calls Close.
func (m *Manager) Drain(ctx context.Context) error {
	select {
	case <-m.retire():
	case <-ctx.Done():
	}
	return m.Close()
}

// retire begins no round any more. The channel is closed when none runs.
func (m *Manager) retire() (ended <-chan struct{}) {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	done := make(chan struct{})
	go func() {
		m.ending.Wait()
		close(done)
	}()
	return done
}

// Close cancels the rounds that run here, as a request is cancelled whose client hangs up. With a
// store that others share, the next poll at another instance goes on with those whose rounds are
// kept; of any other nobody knows what it has done. It waits 10 seconds at most.
func (m *Manager) Close() error {
	ended := m.retire()
	m.stop(errClosing)
	late := time.NewTimer(closing)
	defer late.Stop()
	select {
	case <-ended:
		m.looking.Wait()
		return nil
	case <-late.C:
		return errors.New("tasks: Close: handlers still run 10s after their cancellation")
	}
}

func (m *Manager) receive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch method {
		case toolsCall:
			if call, ok := req.(*mcp.CallToolRequest); ok && call.Params != nil {
				if declares(req) {
					return m.call(ctx, next, call)
				}
				if m.o.Policy[call.Params.Name].Required {
					return nil, needsExtension()
				}
			}
		case "server/discover", "initialize":
			res, err := next(ctx, method, req)
			if err == nil {
				announce(res)
			}
			return res, err
		case tasksGet, tasksUpdate, tasksCancel:
			return m.serve(ctx, next, method, req)
		case listens:
			return m.listen(ctx, next, req)
		}
		return next(ctx, method, req)
	}
}

// announce puts the extension into the capabilities of a modern server.
func announce(res mcp.Result) {
	switch res := res.(type) {
	case *mcp.DiscoverResult:
		res.Capabilities = withExtension(res.Capabilities)
	case *mcp.InitializeResult:
		if res.ProtocolVersion >= era.FirstModern {
			res.Capabilities = withExtension(res.Capabilities)
		}
	}
}

// withExtension returns a copy, since the server may hand out the same capabilities again.
func withExtension(c *mcp.ServerCapabilities) *mcp.ServerCapabilities {
	var own mcp.ServerCapabilities
	if c != nil {
		own = *c
	}
	own.Extensions = maps.Clone(own.Extensions)
	own.AddExtension(Extension, nil)
	return &own
}

// sending makes the progress of a task its status message, since notifications about the
// progress of a task are not allowed, and acknowledges the tasks of a subscription.
func sending(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch method {
		case acknowledges:
			return acknowledgeTasks(ctx, next, req)
		case "notifications/progress":
			if r := rendezvous.TaskRoundOf(ctx); r != nil {
				if p, ok := req.GetParams().(*mcp.ProgressNotificationParams); ok && r.Report(p.Message) {
					return nil, nil
				}
			}
		}
		return next(ctx, method, req)
	}
}

// unknownMethod is the answer to a legacy client: the methods of its revision's own tasks
// have the same names.
func unknownMethod(method string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "method not found: " + method}
}

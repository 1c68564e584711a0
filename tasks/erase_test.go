package tasks_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary/gate"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/mrtr/visit"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/tasks"
)

// dumped is a store of which a test reads all values.
type dumped struct {
	*store.Memory
	mu     sync.Mutex
	values map[string]string // guarded by mu
}

func newDumped() *dumped { return &dumped{Memory: store.NewMemory(nil), values: map[string]string{}} }

func (d *dumped) keep(key store.Key, value []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.values[key.Name] = string(value)
}

func (d *dumped) has(text string) (in []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for name, value := range d.values {
		if strings.Contains(name+value, text) {
			in = append(in, name)
		}
	}
	return in
}

func (d *dumped) Create(ctx context.Context, key store.Key, value []byte, ttl time.Duration) (store.Revision, error) {
	at, err := d.Memory.Create(ctx, key, value, ttl)
	if err == nil {
		d.keep(key, value)
	}
	return at, err
}

func (d *dumped) Schedule(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration, due time.Time) (store.Revision, error) {
	now, err := d.Memory.Schedule(ctx, key, at, value, ttl, due)
	if err == nil {
		d.keep(key, value)
	}
	return now, err
}

func (d *dumped) Update(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration) (store.Revision, error) {
	now, err := d.Memory.Update(ctx, key, at, value, ttl)
	if err == nil {
		d.keep(key, value)
	}
	return now, err
}

// secret is in all that a call holds: its arguments, its answers, its effects and their values, its
// visit, its approval, its questions and its result.
const secret = "by the window"

// erasing is a server with a tool behind a gate, as a task, that asks for a seat, sends its user to a
// page, asks again, and tells all that it has heard.
type erasing struct {
	client
	plain  client // takes no tasks
	rt     *mrtr.Runtime
	did    *ledger
	visits *visit.Visits[string]
	gate   *gate.Gate
	page   chan string   // the visits that began
	began  chan struct{} // gets one when the tool has its last answer
	goesOn chan struct{} // closed to let it go on

	mu    sync.Mutex
	calls []string // that the listener heard of; guarded by mu
}

func (e *erasing) Observe(_ context.Context, event observe.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if event.Call != "" && !slices.Contains(e.calls, event.Call) {
		e.calls = append(e.calls, event.Call)
	}
}

func newErasing(t *testing.T, o mrtr.Options, undoes bool) *erasing {
	e := &erasing{did: &ledger{}, page: make(chan string, 9), began: make(chan struct{}, 9), goesOn: make(chan struct{})}
	o.Listener, o.Principal = observe.With(e), func(context.Context, mcp.Request) (string, error) { return "anna", nil }
	var err error
	e.rt, err = mrtr.New(&o)
	require.NoError(t, err)
	e.visits = &visit.Visits[string]{Runtime: e.rt}
	server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
	style := mrtr.Native(e.book)
	if undoes {
		style = style.OnStop(e.did.undo("hold"))
	}
	mrtr.AddTool(server, &mcp.Tool{Name: "book"}, mrtr.Tool(e.rt, style, &mrtr.HandlerOptions{Task: atOnce}))
	m, err := tasks.Install(server, &tasks.Options{Runtime: e.rt})
	require.NoError(t, err)
	e.gate, err = gate.Install(server, e.rt, &gate.Options{Remember: gate.Remember{For: time.Hour, PerArguments: true}})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, m.Close())
		require.NoError(t, e.rt.Close())
	})
	for _, takesTasks := range []bool{false, true} {
		raw, err := wire.Connect(context.Background(), server, &wire.Options{Capabilities: wire.FormOnly, TakesTasks: takesTasks})
		require.NoError(t, err)
		t.Cleanup(func() { raw.Close() })
		e.plain, e.client = e.client, client{t, raw}
	}
	return e
}

func (e *erasing) book(ctx context.Context, c *mrtr.Call, in trip) (*mrtr.IncompleteResult, plan, error) {
	seat, sure := mrtr.Elicit[string]("seat", "Which seat?"), mrtr.Elicit[string]("sure", "Sure? "+secret)
	chosen, ok := mrtr.Answer(c, seat)
	if !ok {
		return mrtr.Need(seat), plan{}, nil
	}
	_, err := mrtr.Once(ctx, c, "hold", func(ctx context.Context, idem string) (string, error) {
		if _, err := e.did.do("hold")(ctx, idem); err != nil {
			return "", err
		}
		return "held: " + chosen, nil
	})
	if err != nil {
		return nil, plan{}, err
	}
	id, err := e.visits.Begin(ctx, c, "pay")
	if err != nil {
		return nil, plan{}, err
	}
	said, ok := mrtr.Answer(c, sure)
	if !ok {
		e.page <- id
		return mrtr.Need(sure), plan{}, nil
	}
	e.began <- struct{}{}
	<-e.goesOn
	paid, err := e.visits.Wait(ctx, c, "pay")
	return nil, plan{in.To + chosen + said + paid}, err
}

// erase erases all calls that the listener heard of.
func (e *erasing) erase() (erased int, failed error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, call := range e.calls {
		e.mu.Unlock()
		n, err := e.rt.Erase(context.Background(), "anna", call)
		e.mu.Lock()
		erased, failed = erased+n, errors.Join(failed, err)
	}
	return erased, failed
}

// waits plays a call until it asks for the second time.
func (e *erasing) waits() (task string) {
	seat := e.approves(e.client)
	require.NotEmpty(e, seat.Task, string(seat.Result))
	e.seats(seat.Task)
	require.NoError(e, e.visits.Done(context.Background(), <-e.page, "anna", "paid "+secret))
	return seat.Task
}

// asks calls the tool.
func (e *erasing) asks(c client, state string, answers map[string]any) *wire.Reply {
	reply, err := c.Send(context.Background(), wire.Request{Name: "book", Arguments: trip{"for one " + secret}, State: state, Responses: answers})
	require.NoError(e, err)
	return reply
}

// approves calls the tool and approves of that, for an hour.
func (e *erasing) approves(c client) *wire.Reply {
	approval := e.asks(c, "", nil)
	require.Len(e, approval.Asks, 1)
	require.Empty(e, approval.Task)
	return e.asks(c, approval.State, map[string]any{
		approval.Asks[0].Key: map[string]any{"action": "accept", "content": map[string]any{"approve": true, "remember": true}},
	})
}

// seats answers the first question of a task.
func (e *erasing) seats(task string) {
	e.update(task, map[string]any{e.get(task).keys()[0]: accept("seat", secret)})
	require.Equal(e, "input_required", e.settle(task).Status)
}

func (e *erasing) goOn(task string) {
	e.update(task, map[string]any{e.get(task).keys()[0]: accept("sure", secret)})
	<-e.began
}

// Whatever a call has left goes with it. A round that runs is said to, and loses nothing. A call that
// waits is ended first if there is anything to undo.
func TestErasingACallLeavesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		undoes bool
		play   func(e *erasing, task string)
		ends   string
		has    string
		did    string
	}{
		"completed": {true, func(e *erasing, task string) {
			close(e.goesOn)
			e.goOn(task)
			require.Equal(e, "completed", e.settle(task).Status)
		}, "completed", "no longer kept", "hold"},
		"running": {true, func(e *erasing, task string) {
			e.goOn(task)
			_, err := e.erase()
			require.ErrorContains(e, err, "still running")
			close(e.goesOn)
			end := e.settle(task)
			require.Equal(e, "completed", end.Status, string(end.raw))
			require.Contains(e, string(end.Result), secret)
		}, "completed", "no longer kept", "hold"},
		"waiting, with nothing to undo": {false, func(*erasing, string) {}, "failed", "erased", "hold"},
		"waiting, with an effect":       {true, func(*erasing, string) {}, "failed", "erased", "hold unhold"},
	} {
		t.Run(name, func(t *testing.T) {
			records := newDumped()
			e := newErasing(t, mrtr.Options{Durable: durable.In(records, nil)}, c.undoes)
			task := e.waits()
			require.Greater(t, len(records.has(secret)), 1, "the task and its visit at least")
			c.play(e, task)
			n, err := e.erase()
			require.NoError(t, err)
			require.Positive(t, n)
			require.Empty(t, records.has(secret))
			end := e.get(task)
			require.Equal(t, c.ends, end.Status)
			require.Contains(t, string(end.raw), c.has)
			require.Equal(t, c.did, e.did.all())
			again, err := e.erase()
			require.NoError(t, err)
			require.Zero(t, again)
			require.Empty(t, records.has(secret))
		})
	}
}

package tasks_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
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
		if strings.Contains(value, text) {
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

func (d *dumped) Update(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration) (store.Revision, error) {
	now, err := d.Memory.Update(ctx, key, at, value, ttl)
	if err == nil {
		d.keep(key, value)
	}
	return now, err
}

// erasing is a server with a tool that asks for a seat and repeats it.
type erasing struct {
	client
	rt     *mrtr.Runtime
	call   string        // the last one
	began  chan struct{} // closed when the tool has its answer
	goesOn chan struct{} // closed to let it go on
}

func newErasing(t *testing.T, records store.Store) *erasing {
	e := &erasing{began: make(chan struct{}), goesOn: make(chan struct{})}
	var err error
	e.rt, err = mrtr.New(&mrtr.Options{Durable: durable.In(records, nil)})
	require.NoError(t, err)
	server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
	style := mrtr.Native(func(_ context.Context, c *mrtr.Call, _ trip) (*mrtr.IncompleteResult, plan, error) {
		q := mrtr.Elicit[string]("seat", "Which seat?")
		chosen, ok := mrtr.Answer(c, q)
		if !ok {
			e.call = c.ID()
			return mrtr.Need(q), plan{}, nil
		}
		close(e.began)
		<-e.goesOn
		return nil, plan{"it is " + chosen}, nil
	})
	mrtr.AddTool(server, &mcp.Tool{Name: "book"}, mrtr.Tool(e.rt, style, &mrtr.HandlerOptions{Task: atOnce}))
	m, err := tasks.Install(server, &tasks.Options{Runtime: e.rt})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, m.Close())
		require.NoError(t, e.rt.Close())
	})
	e.client = connect(t, server)
	return e
}

func (e *erasing) erase() (int, error) { return e.rt.Erase(context.Background(), "", e.call) }

const secret = "by the window"

func (e *erasing) ask() seen {
	return e.settle(e.must("tools/call", map[string]any{"name": "book", "arguments": trip{"for one " + secret}}).TaskID)
}

// Whatever a call has left as a task goes with it: what the user said, and the result. While a round of
// it runs Erase says so, and nothing of that round is lost.
func TestErasingACallErasesItsTask(t *testing.T) {
	for _, works := range []bool{false, true} {
		records := newDumped()
		e := newErasing(t, records)
		s := e.ask()
		e.update(s.TaskID, map[string]any{s.keys()[0]: accept("seat", secret)})
		<-e.began
		if works {
			_, err := e.erase()
			require.ErrorContains(t, err, "still running")
		}
		close(e.goesOn)
		require.Equal(t, "completed", e.settle(s.TaskID).Status)
		require.NotEmpty(t, records.has(secret))
		n, err := e.erase()
		require.NoError(t, err)
		require.Equal(t, map[bool]int{false: 3, true: 2}[works], n, "its turns, of which one was over when the other ran, and its task")
		require.Empty(t, records.has(secret))
		end := e.get(s.TaskID)
		require.Equal(t, "completed", end.Status)
		require.Contains(t, string(end.Result), "no longer kept")
		again, err := e.erase()
		require.NoError(t, err)
		require.Zero(t, again)
	}
}

func TestErasingACallEndsATaskThatWaits(t *testing.T) {
	records := newDumped()
	e := newErasing(t, records)
	s := e.ask()
	require.NotEmpty(t, records.has(secret))
	_, err := e.erase()
	require.NoError(t, err)
	require.Empty(t, records.has(secret))
	end := e.get(s.TaskID)
	require.Equal(t, "failed", end.Status)
	require.Contains(t, string(end.raw), "erased")
}

package tasks_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/tasks"
)

// counting counts the operations on the records of tasks.
type counting struct {
	store.Store
	mu    sync.Mutex
	count map[string]int
	bytes int // written
}

func (*counting) Scope() store.Scope { return store.Machine }

func (s *counting) note(what string, key store.Key, value []byte) {
	if strings.HasPrefix(key.Name, "task.") {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.count[what]++
		s.bytes += len(value)
	}
}

func (s *counting) Create(ctx context.Context, key store.Key, value []byte, ttl time.Duration) (store.Revision, error) {
	s.note("create", key, value)
	return s.Store.Create(ctx, key, value, ttl)
}

func (s *counting) Update(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration) (store.Revision, error) {
	s.note("update", key, value)
	return s.Store.Update(ctx, key, at, value, ttl)
}

func (s *counting) Get(ctx context.Context, key store.Key) ([]byte, store.Revision, error) {
	s.note("get", key, nil)
	return s.Store.Get(ctx, key)
}

func (s *counting) take() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	count := s.count
	s.count = map[string]int{}
	return count
}

func ephemeral(t *testing.T) []statecodec.Key {
	key, err := statecodec.NewKey([]byte(strings.Repeat("k", 16) + rand.Text()))
	require.NoError(t, err)
	return []statecodec.Key{key}
}

// A task with two questions is created once and written five times: for each question when
// it is asked and when it is answered, and at its end. A poll reads it once.
func TestTheWritesOfATask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // so that no sign of life is due
		for _, style := range styleNames {
			records := &counting{Store: store.NewMemory(nil), count: map[string]int{}}
			here := newSite(t, setting{style: style, policy: atOnce, records: records, keys: ephemeral(t)})
			c := connect(t, here.server)
			require.Equal(t, "completed", c.finish(c.call().TaskID).Status, style)
			did := records.take()
			writes := 5
			if style == "given" {
				writes = 3 // it asks both at once
			}
			require.Equal(t, 1, did["create"], style)
			require.Equal(t, writes, did["update"], style)
			t.Logf("%s: %d creates, %d updates, %d bytes", style, did["create"], did["update"], records.bytes)

			id := c.call().TaskID
			c.settle(id)
			records.take()
			for range 10 {
				c.get(id)
			}
			require.Equal(t, map[string]int{"get": 10}, records.take(), style)
		}
	})
}

// many is how much a test of load does: so much, or what the variable says.
func many(t *testing.T, variable string, usual int) int {
	text := os.Getenv(variable)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	require.Positive(t, n)
	return n
}

// A client that polls without end costs a read each time, and nothing that stays.
func TestPollsWithoutEnd(t *testing.T) {
	polls := many(t, "MRTR_POLLS", 300)
	records := &counting{Store: store.NewMemory(nil), count: map[string]int{}}
	here := newSite(t, setting{style: "journal", policy: atOnce, records: records, keys: ephemeral(t)})
	c := connectWith(t, here.server, wire.Options{Unrecorded: true})
	id := c.call().TaskID
	c.settle(id)
	records.take()
	before := runtime.NumGoroutine()
	for range polls {
		c.get(id)
	}
	require.Equal(t, map[string]int{"get": polls}, records.take())
	require.LessOrEqual(t, runtime.NumGoroutine(), before+5)
	require.Equal(t, "completed", c.finish(id).Status)
	require.Equal(t, "hold ticket", here.did.all())
}

// One caller who wants a task for each of many calls leaves the others theirs, and is
// served all the same, beyond the limit as by round trips.
func TestOneCallerWantsEveryTask(t *testing.T) {
	calls := many(t, "MRTR_CALLS", 350)
	for greedy, most := range map[string]int{"eve": 100, "": 300} {
		here := newSite(t, setting{style: "journal", policy: atOnce, sender: userOf, options: tasks.Options{MaxTasks: 400}})
		c := connectWith(t, here.server, wire.Options{Unrecorded: true})
		before, got := runtime.NumGoroutine(), 0
		for range calls {
			s, failed := c.as(greedy, "tools/call", book())
			require.Nil(t, failed)
			if s.ResultType == "task" {
				got++
				continue
			}
			require.Equal(t, []string{"seat"}, s.keys())
		}
		require.Equal(t, most, got, "%q", greedy)
		ann, failed := c.as("ann", "tools/call", book())
		require.Nil(t, failed)
		require.Equal(t, "task", ann.ResultType)
		require.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+5 }, 30*time.Second, time.Millisecond, "a task that waits holds no goroutine")
	}
}

// The results of one caller's ten thousand tasks fill no store: the largest give way, and of equal
// ones the oldest, with all that their calls have left. Another caller has a task of their own, and
// a call that is none.
func TestTheEndedTasksOfOneCallerGiveWay(t *testing.T) {
	records := store.NewMemory(&store.MemoryOptions{MaxBytes: 16 << 20}) // less than either kind of them fills
	rt, err := mrtr.New(&mrtr.Options{Durable: durable.In(records, nil), Principal: userOf})
	require.NoError(t, err)
	defer rt.Close()
	server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
	style := mrtr.Native(func(_ context.Context, c *mrtr.Call, in trip) (*mrtr.IncompleteResult, plan, error) {
		if size, err := strconv.Atoi(in.To); err == nil {
			return nil, plan{strings.Repeat("x", size)}, nil
		}
		if chosen, ok := mrtr.Answer(c, seat); ok {
			return nil, plan{chosen}, nil
		}
		return mrtr.Need(seat), plan{}, nil
	})
	mrtr.AddTool(server, &mcp.Tool{Name: "book"}, mrtr.Tool(rt, style, &mrtr.HandlerOptions{Task: atOnce}))
	m, err := tasks.Install(server, &tasks.Options{Runtime: rt, MaxTasksPerPrincipal: 1000})
	require.NoError(t, err)
	defer m.Close()
	c := connectWith(t, server, wire.Options{Unrecorded: true})
	begins := func(user, to string) seen {
		s, failed := c.as(user, "tools/call", map[string]any{"name": "book", "arguments": trip{to}})
		require.Nil(t, failed)
		require.Equal(t, "task", s.ResultType)
		return s
	}
	settles := func(user string, s seen) seen {
		for s.Status == "working" {
			now, failed := c.as(user, "tasks/get", map[string]any{"taskId": s.TaskID})
			require.Nil(t, failed)
			s = now
		}
		return s
	}
	first := begins("eve", "100")
	for range 20 {
		for range 499 {
			begins("eve", "100")
		}
		s := settles("eve", begins("eve", "450000"))
		require.Equal(t, "completed", s.Status)
		require.Greater(t, len(s.Result), 450_000)
		require.Eventually(t, func() bool { return m.Stats().Open == 0 }, 30*time.Second, time.Millisecond)
	}
	gone, failed := c.as("eve", "tasks/get", map[string]any{"taskId": first.TaskID})
	require.Nil(t, failed)
	require.Equal(t, "completed", gone.Status)
	require.Contains(t, string(gone.Result), "no longer kept")

	s := settles("ann", begins("ann", "near"))
	require.Equal(t, []string{"seat-1"}, s.keys())
	_, failed = c.as("ann", "tasks/update", map[string]any{"taskId": s.TaskID, "inputResponses": map[string]any{"seat-1": accept("seat", "window")}})
	require.Nil(t, failed)
	s.Status = "working" // again
	require.Contains(t, string(settles("ann", s).Result), "window")
	ann := connectWith(t, server, wire.Options{Capabilities: wire.FormOnly})
	asked, failed := ann.as("ann", "tools/call", map[string]any{"name": "book", "arguments": trip{"near"}})
	require.Nil(t, failed)
	done, failed := ann.as("ann", "tools/call", map[string]any{
		"name": "book", "arguments": trip{"near"}, "requestState": asked.RequestState,
		"inputResponses": map[string]any{"seat": accept("seat", "window")},
	})
	require.Nil(t, failed)
	require.Contains(t, string(done.raw)+done.ResultType, "complete")
}

// Cancellations of tasks that another instance works on wait in no goroutine each.
func TestManyCancellationsElsewhere(t *testing.T) {
	records, keys := machine{store.NewMemory(nil)}, ephemeral(t)
	n := many(t, "MRTR_CANCELS", 500)
	working := make(chan struct{}, n)
	did := &ledger{at: func(ctx context.Context) { working <- struct{}{}; <-ctx.Done() }}
	here := newSite(t, setting{style: "journal" + late, policy: atOnce, records: records, keys: keys, did: did, options: tasks.Options{MaxTasks: n, MaxTasksPerPrincipal: n}})
	there := newSite(t, setting{style: "journal" + late, policy: atOnce, records: records, keys: keys})
	first, second := connect(t, here.server), connect(t, there.server)
	ids := make([]string, n*3/4)
	for i := range ids {
		ids[i] = first.call().TaskID
		require.NotEmpty(t, ids[i])
	}
	for _, id := range ids {
		first.answer(first.settle(id))
	}
	for range ids {
		<-working
	}
	before := runtime.NumGoroutine()
	for _, id := range ids {
		second.cancel(id)
		require.LessOrEqual(t, runtime.NumGoroutine(), before+len(ids)/4, "one each would be %d", len(ids))
	}
}

// inBubble counts the goroutines of this bubble: those of other tests may end meanwhile.
func inBubble(t *testing.T) int {
	stacks := make([]byte, 1<<22)
	text := string(stacks[:runtime.Stack(stacks, true)])
	header, _, _ := strings.Cut(text, "\n")
	_, own, found := strings.Cut(header, ", synctest bubble ")
	require.True(t, found, header)
	return strings.Count(text, ", synctest bubble "+own)
}

// A handler that works for ten minutes, asks three times in between and tells how far it is:
// few goroutines while it works, and none while its task waits.
func TestALongHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		work := func(ctx context.Context, c *mrtr.Call, part string) {
			for minute := range 3 {
				_ = c.Session().NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: "p", Message: fmt.Sprintf("%s: minute %d", part, minute)})
				time.Sleep(time.Minute)
			}
		}
		rt, err := mrtr.New(nil)
		require.NoError(t, err)
		server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
		mrtr.AddTool(server, &mcp.Tool{Name: "book"}, mrtr.Tool(rt, linear.Journal(func(ctx context.Context, c *mrtr.Call, in trip) (plan, error) {
			var told []string
			for _, name := range []string{"one", "two", "three"} {
				done, err := mrtr.Once(ctx, c, name, func(ctx context.Context, _ string) (string, error) {
					work(ctx, c, name)
					return name, ctx.Err()
				})
				if err != nil {
					return plan{}, err
				}
				answer, err := linear.Ask(ctx, c, mrtr.Elicit[string](name, "And "+done+"?"))
				if err != nil {
					return plan{}, err
				}
				told = append(told, answer)
			}
			work(ctx, c, "last")
			return plan{strings.Join(told, " ")}, nil
		}), &mrtr.HandlerOptions{Task: atOnce}))
		m, err := tasks.Install(server, &tasks.Options{Runtime: rt, TTL: 15 * time.Minute})
		require.NoError(t, err)
		c := connect(t, server)
		synctest.Wait()
		idle := inBubble(t)
		id := c.call().TaskID
		for _, name := range []string{"one", "two", "three", "last"} {
			time.Sleep(90 * time.Second)
			s := c.get(id)
			require.Equal(t, "working", s.Status)
			require.Equal(t, name+": minute 1", s.StatusMessage)
			synctest.Wait()
			require.Equal(t, 4, inBubble(t)-idle, "the task, its round, what guards the round, and linear code")
			time.Sleep(91 * time.Second)
			synctest.Wait()
			require.LessOrEqual(t, inBubble(t), idle, "nothing waits with the task")
			if name != "last" {
				s = c.get(id)
				require.Equal(t, "input_required", s.Status)
				c.update(id, map[string]any{s.keys()[0]: accept(name, "yes")})
			}
		}
		s := c.get(id)
		require.Equal(t, "completed", s.Status)
		require.Contains(t, string(s.Result), "yes yes yes")
		require.NoError(t, m.Close())
		require.NoError(t, rt.Close())
	})
}

// A task that waits keeps its record and its place, and no more.
func TestTheMemoryOfATaskThatWaits(t *testing.T) {
	const waiting = 1_000
	here := newSite(t, setting{style: "journal", policy: atOnce, sender: userOf, options: tasks.Options{MaxTasksPerPrincipal: waiting}})
	c := connectWith(t, here.server, wire.Options{Unrecorded: true})
	begin := func(n int) {
		var ids []string
		for range n {
			s, failed := c.as("ann", "tools/call", book())
			require.Nil(t, failed)
			ids = append(ids, s.TaskID)
		}
		for _, id := range ids {
			require.Eventually(t, func() bool {
				s, failed := c.as("ann", "tasks/get", map[string]any{"taskId": id})
				return failed == nil && s.Status == "input_required"
			}, 30*time.Second, time.Millisecond)
		}
	}
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	begin(10)
	before := heap()
	begin(waiting - 10)
	each := (int64(heap()) - int64(before)) / (waiting - 10)
	t.Logf("%d bytes a task", each)
	require.Less(t, each, int64(4<<10))
}

// older is a store whose records an older release wrote, when on is set.
type older struct {
	store.Store
	on atomic.Bool
}

func (o *older) Get(ctx context.Context, key store.Key) ([]byte, store.Revision, error) {
	value, at, err := o.Store.Get(ctx, key)
	if o.on.Load() {
		value = bytes.Replace(value, []byte(`"v":1`), []byte(`"v":0`), 1)
	}
	return value, at, err
}

// A record that another release wrote fails its requests with an error of the server, and
// says nothing of the record.
func TestARecordOfAnotherRelease(t *testing.T) {
	memory := store.NewMemory(nil)
	older := &older{Store: memory}
	here := newSite(t, setting{style: "journal", policy: atOnce, records: older})
	c := connect(t, here.server)
	id := c.call().TaskID
	c.settle(id)
	older.on.Store(true)
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		_, failed := c.send(method, map[string]any{"taskId": id, "inputResponses": map[string]any{}})
		require.NotNil(t, failed, method)
		require.EqualValues(t, -32603, failed.Code, method)
		text, err := json.Marshal(failed)
		require.NoError(t, err)
		require.NotContains(t, string(text), "Which seat", method)
	}
	older.on.Store(false)
	require.Equal(t, "completed", c.finish(id).Status)
}

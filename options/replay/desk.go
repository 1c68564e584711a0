package replay

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
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
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/tasks"
)

// desk is a server with a tool behind a gate, as a task, that asks for the room, sends its guest to a
// page, asks again, and tells all that it has heard.
type desk struct {
	testing.TB
	client  *wire.Client
	plain   *wire.Client // takes no tasks
	rt      *mrtr.Runtime
	records *history
	visits  *visit.Visits[string]
	gate    *gate.Gate
	task    string
	page    chan string   // the visits that began
	began   chan struct{} // gets one when the tool has its last answer
	goesOn  chan struct{} // closed to let it go on

	mu    sync.Mutex
	did   []string // guarded by mu, as are calls
	calls []string // that the listener heard of
}

func newDesk(t testing.TB, records *history, key statecodec.Key, audience string, undoes bool) *desk {
	d := &desk{TB: t, records: records, page: make(chan string, 9), began: make(chan struct{}, 9), goesOn: make(chan struct{})}
	o := &mrtr.Options{
		Durable: durable.In(records, nil), Listener: observe.With(d), Audience: audience,
		Principal: func(context.Context, mcp.Request) (string, error) { return "anna", nil },
	}
	if records.seals() {
		o.State = &statecodec.Options{Keys: []statecodec.Key{key}}
	}
	var err error
	d.rt, err = mrtr.New(o)
	require.NoError(t, err)
	d.visits = &visit.Visits[string]{Runtime: d.rt}
	server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
	style := mrtr.Native(d.book)
	if undoes {
		style = style.OnStop(mrtr.UndoOf("hold", func(context.Context, *mrtr.Call, mrtr.Undo[string]) error {
			d.does("unhold")
			return nil
		}))
	}
	mrtr.AddTool(server, &mcp.Tool{Name: "book"}, mrtr.Tool(d.rt, style, &mrtr.HandlerOptions{Task: mrtr.TaskPolicy{AtOnce: true}}))
	m, err := tasks.Install(server, &tasks.Options{Runtime: d.rt})
	require.NoError(t, err)
	d.gate, err = gate.Install(server, d.rt, &gate.Options{Remember: gate.Remember{For: time.Hour, PerArguments: true}})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, m.Close())
		require.NoError(t, d.rt.Close())
	})
	for _, takesTasks := range []bool{false, true} {
		conn, err := wire.Connect(context.Background(), server, &wire.Options{Capabilities: wire.FormOnly, TakesTasks: takesTasks})
		require.NoError(t, err)
		t.Cleanup(func() { conn.Close() })
		d.plain, d.client = d.client, conn
	}
	return d
}

func (d *desk) Observe(_ context.Context, event observe.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if event.Call != "" && !slices.Contains(d.calls, event.Call) {
		d.calls = append(d.calls, event.Call)
	}
}

func (d *desk) does(what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.did = append(d.did, what)
}

func (d *desk) book(ctx context.Context, c *mrtr.Call, in Stay) (*mrtr.IncompleteResult, Booking, error) {
	room, sure := mrtr.Elicit[string]("room", "Which room?"), mrtr.Elicit[string]("sure", "Sure? "+secret)
	chosen, ok := mrtr.Answer(c, room)
	if !ok {
		return mrtr.Need(room), Booking{}, nil
	}
	_, err := mrtr.Once(ctx, c, "hold", func(context.Context, string) (string, error) {
		d.does("hold")
		return "held: " + chosen, nil
	})
	if err != nil {
		return nil, Booking{}, err
	}
	id, err := d.visits.Begin(ctx, c, "pay")
	if err != nil {
		return nil, Booking{}, err
	}
	said, ok := mrtr.Answer(c, sure)
	if !ok {
		d.page <- id
		return mrtr.Need(sure), Booking{}, nil
	}
	d.began <- struct{}{}
	<-d.goesOn
	paid, err := d.visits.Wait(ctx, c, "pay")
	return nil, Booking{in.Dates + chosen + said + paid}, err
}

// erase erases all calls that the listener heard of.
func (d *desk) erase() (erased int, failed error) {
	d.records.erasing(true)
	defer d.records.erasing(false)
	d.mu.Lock()
	calls := slices.Clone(d.calls)
	d.mu.Unlock()
	for _, call := range calls {
		n, err := d.rt.Erase(context.Background(), "anna", call)
		erased, failed = erased+n, errors.Join(failed, err)
	}
	return erased, failed
}

// waits plays the call until it asks for the second time. Its guest approves of it for an hour, and has
// paid.
func (d *desk) waits() {
	d.rooms(d.approves(d.client))
	require.NoError(d, d.visits.Done(context.Background(), <-d.page, "anna", "paid "+secret))
}

// rooms answers the first question of a task.
func (d *desk) rooms(asked *wire.Reply) {
	require.NotEmpty(d, asked.Task, string(asked.Result))
	d.task = asked.Task
	d.answers("room")
	require.Equal(d, "input_required", d.settle().Status)
}

// asks calls the tool.
func (d *desk) asks(c *wire.Client, state string, answers map[string]any) *wire.Reply {
	reply, err := c.Send(context.Background(), wire.Request{Name: "book", Arguments: Stay{"for one " + secret}, State: state, Responses: answers})
	require.NoError(d, err)
	return reply
}

// approves calls the tool and approves of that, for an hour.
func (d *desk) approves(c *wire.Client) *wire.Reply {
	approval := d.asks(c, "", nil)
	require.Len(d, approval.Asks, 1)
	require.Empty(d, approval.Task)
	return d.asks(c, approval.State, approves(approval, true))
}

// approves is a yes to a gate's question.
func approves(approval *wire.Reply, remember bool) map[string]any {
	return map[string]any{approval.Asks[0].Key: accepts(map[string]any{"approve": true, "remember": remember})}
}

func accepts(content map[string]any) map[string]any {
	return map[string]any{"action": "accept", "content": content}
}

func (d *desk) goOn() {
	d.answers("sure")
	<-d.began
}

// taskSeen is the task as its client sees it.
type taskSeen struct {
	Status        string
	InputRequests map[string]json.RawMessage
	raw           json.RawMessage
}

// send sends a request about a task.
func (d *desk) send(method, task string, answers map[string]any) (s taskSeen, refused error) {
	params := map[string]any{"_meta": d.client.Meta(), "taskId": task, "inputResponses": answers}
	reply, err := d.client.Exchange(context.Background(), wire.Request{Method: method, Params: params})
	require.NoError(d, err)
	if reply.Error != nil {
		return s, reply.Error
	}
	require.NoError(d, json.Unmarshal(reply.Result, &s))
	s.raw = reply.Result
	return s, nil
}

func (d *desk) get() taskSeen {
	s, refused := d.send("tasks/get", d.task, nil)
	require.NoError(d, refused)
	return s
}

// answers answers the one question that the task asks.
func (d *desk) answers(property string) {
	_, refused := d.send("tasks/update", d.task, d.settle().answer(property))
	require.NoError(d, refused)
}

func (s taskSeen) answer(property string) map[string]any {
	answers := map[string]any{}
	for key := range s.InputRequests {
		answers[key] = accepts(map[string]any{property: secret})
	}
	return answers
}

// settle polls until the task waits or has ended.
func (d *desk) settle() (s taskSeen) {
	require.Eventually(d, func() bool {
		s = d.get()
		return s.Status != "working"
	}, 30*time.Second, 5*time.Millisecond)
	return s
}

//go:build unix

package crash

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/fault"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/lab/fleet"
	"github.com/mrtr-go/sdk/lab/storm"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/tasks"
	"github.com/mrtr-go/sdk/transport/mcphttp"
)

// runPush listens to tasks with two handles to the store, each of an instance of its own.
func (b *Backend) runPush(t *testing.T) {
	address := b.Addresses(t)()
	var handles [2]store.Store
	for i := range handles {
		handles[i] = fleet.Must(b.Open(t.Context(), address))(t)
		if c, ok := handles[i].(io.Closer); ok {
			t.Cleanup(func() { _ = c.Close() })
		}
	}
	push(t, handles)
}

// pusher is an instance that serves one tool, as tasks, to the users that a header names.
type pusher struct {
	web     *httptest.Server
	manager *tasks.Manager
	dead    atomic.Bool
}

const userHeader = "X-User"

// narrow is how much the kernel keeps of a stream that nobody reads, at either end. That is less than
// mostKept notifications.
const (
	narrow   = 4 << 10
	mostKept = 128
)

var network = &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err == nil {
		_ = conn.(*net.TCPConn).SetReadBuffer(narrow)
	}
	return conn, err
}}

// newPusher starts one. Paid is told of each payment.
func newPusher(t *testing.T, s store.Store, key statecodec.Key, ledger fleet.Ledger, paid func()) *pusher {
	p := &pusher{}
	s = fleet.Tapped{Store: s, Around: func(_ context.Context, _ fleet.Operation, run, _ func() error) error {
		if p.dead.Load() {
			return fleet.ErrCut
		}
		return run()
	}}
	rt := fleet.Must(mrtr.New(&mrtr.Options{
		State: &statecodec.Options{Keys: []statecodec.Key{key}}, Durable: durable.In(s, &remember),
		Principal: func(_ context.Context, req mcp.Request) (string, error) {
			return req.GetExtra().Header.Get(userHeader), nil
		},
	}))(t)
	t.Cleanup(func() { require.NoError(t, rt.Close()) })
	shop := &fleet.Shop{Ledger: ledger, Reach: func(_, place string) {
		if p.dead.Load() {
			<-t.Context().Done() // the dead do nothing more
		}
		if place == fleet.Paid {
			paid()
		}
	}}
	server, row := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil), fleet.Find("journal + Check")
	row.Opts.Task.AtOnce = true
	mrtr.AddTool(server, &mcp.Tool{Name: fleet.ToolName}, mrtr.Tool(rt, row.Style(shop), &row.Opts))
	p.manager = fleet.Must(tasks.Install(server, &tasks.Options{Runtime: rt, MaxTasksPerPrincipal: 1000}))(t)
	t.Cleanup(func() { require.NoError(t, p.manager.Close()) })
	p.web = httptest.NewUnstartedServer(fleet.Must(mcphttp.NewHandler(func(*http.Request) *mcp.Server { return server }, nil))(t))
	p.web.Config.ConnState = func(conn net.Conn, s http.ConnState) {
		if s == http.StateNew {
			_ = conn.(*net.TCPConn).SetWriteBuffer(narrow)
		}
	}
	p.web.Start()
	t.Cleanup(func() {
		p.web.CloseClientConnections()
		p.web.Close()
	})
	return p
}

// die ends the instance for all others: it has neither store nor clients from now on.
func (p *pusher) die() {
	p.dead.Store(true)
	_ = p.web.Listener.Close()
	p.web.CloseClientConnections()
}

// user is a user's client of an instance, and of the other one when that is gone.
type user struct {
	name        string
	conn, other *wire.Client
	reads       sync.Mutex // held while the user reads nothing
}

func (u *user) dial(ctx context.Context, p *pusher) *wire.Client {
	return fault.Must(wire.DialHTTP(ctx, p.web.URL, &http.Client{Transport: u}, &wire.Options{TakesTasks: true}))
}

func (u *user) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(userHeader, u.name)
	res, err := network.RoundTrip(r)
	if err == nil && r.Header.Get("Mcp-Method") == listenMethod {
		res.Body = &mouth{res.Body, &u.reads}
	}
	return res, err
}

// mouth is a stream that is read while nobody else holds the lock.
type mouth struct {
	io.ReadCloser
	reads *sync.Mutex
}

func (m *mouth) Read(b []byte) (int, error) {
	m.reads.Lock()
	//lint:ignore SA2001 it waits for its turn
	m.reads.Unlock()
	return m.ReadCloser.Read(b)
}

const listenMethod = "subscriptions/listen"

// shown is a task as its user sees it.
type shown struct {
	TaskID, Status string
	InputRequests  map[string]json.RawMessage
}

// request sends a request until it is served: a store may be busy, and an instance die.
func (u *user) request(ctx context.Context, r wire.Request) (s shown) {
	for {
		res, err := u.conn.Exchange(ctx, r)
		switch {
		case err != nil:
			fault.Check(ctx.Err())
			u.conn = u.other
		case res.Error == nil:
			fault.Check(json.Unmarshal(res.Result, &s))
			return s
		}
		fault.Check(fleet.Pause(ctx, 20*time.Millisecond))
	}
}

// task sends a request about a task.
func (u *user) task(ctx context.Context, method, id string, responses map[string]any) shown {
	return u.request(ctx, wire.Request{Method: method, Params: map[string]any{"_meta": u.conn.Meta(), "taskId": id, "inputResponses": responses}})
}

// create makes a task of an order. The store may take none, and the call is none then.
func (u *user) create(ctx context.Context, order string) (id string) {
	for id == "" {
		id = u.request(ctx, wire.Request{Name: fleet.ToolName, Arguments: fleet.Order{Order: order}}).TaskID
	}
	return id
}

// until polls a task until it has a status.
func (u *user) until(ctx context.Context, id, status string) (s shown) {
	for {
		if s = u.task(ctx, "tasks/get", id, nil); s.Status == status {
			return s
		}
		fault.Check(fleet.Pause(ctx, 20*time.Millisecond))
	}
}

// answer lets a task pay.
func (u *user) answer(ctx context.Context, id string) {
	responses := map[string]any{}
	for key := range u.until(ctx, id, "input_required").InputRequests {
		responses[key] = fleet.Yes(fleet.Question)
	}
	u.task(ctx, "tasks/update", id, responses)
}

// listen subscribes to tasks, of which some are another user's, and returns when it is told that
// it listens to its own.
func (u *user) listen(ctx context.Context, conn *wire.Client, own []string, foreign string) *wire.Pending {
	over := fault.Must(conn.Start(ctx, wire.Request{Method: listenMethod, Params: map[string]any{
		"_meta": conn.Meta(), "notifications": map[string]any{"taskIds": append([]string{foreign}, own...)},
	}}))
	const acknowledged = "notifications/subscriptions/acknowledged"
	for len(conn.Notifications(acknowledged)) == 0 {
		fault.Check(fleet.Pause(ctx, 5*time.Millisecond))
	}
	var to struct{ Notifications struct{ TaskIDs []string } }
	fault.Check(json.Unmarshal(conn.Notifications(acknowledged)[0], &to))
	if !slices.Equal(own, to.Notifications.TaskIDs) {
		fault.Failf("%s listens to %d tasks instead of %d", u.name, len(to.Notifications.TaskIDs), len(own))
	}
	return over
}

// told is the last state of each task that a client was told, and how many it was told in all. None
// may be told twice.
func told(conn *wire.Client) (last map[string]string, all int) {
	last = map[string]string{}
	for _, raw := range conn.Notifications("notifications/tasks") {
		var s shown
		fault.Check(json.Unmarshal(raw, &s))
		if last[s.TaskID] == s.Status {
			fault.Failf("told twice: %s", raw)
		}
		last[s.TaskID], all = s.Status, all+1
	}
	return last, all
}

const listeners = 4

// push has users listen to a thousand tasks, or fewer by day, each at the other instance than where
// its tasks are created and answered. One of them reads nothing until all of its tasks have ended,
// and is told the last of their states. The first instance dies when half of the tasks have paid.
// Each user is told how each task ends and no state twice, or polls for it where the subscription
// was cut.
func push(t *testing.T, handles [2]store.Store) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	each := storm.Nightly(1000, 48) / listeners
	key, ledger := statecodec.GenerateKey(), fleet.NewLedger(t)
	var instances [2]*pusher
	var payments atomic.Int64
	for i, s := range handles {
		instances[i] = newPusher(t, s, key, ledger, func() {
			if payments.Add(1) == int64(listeners*each/2) {
				go instances[0].die()
			}
		})
	}
	var tally [listeners]string
	eve := &user{name: "eve"}
	eve.conn = eve.dial(ctx, instances[1])
	defer eve.conn.Close()
	foreign := eve.create(ctx, "of another user")
	require.NoError(t, storm.Parallel(listeners, listeners, func(n int) {
		u := &user{name: fmt.Sprint("user ", n)}
		u.conn, u.other = u.dial(ctx, instances[n%2]), u.dial(ctx, instances[1])
		listener := u.dial(ctx, instances[1-n%2])
		defer u.other.Close()
		defer listener.Close()
		ids := make([]string, each)
		for i := range ids {
			ids[i] = u.create(ctx, fmt.Sprintf("%d-%d/ok/20ms", n, i))
		}
		over := u.listen(ctx, listener, ids, foreign)
		if n == 0 {
			u.reads.Lock()
		}
		for _, id := range ids {
			u.answer(ctx, id)
		}
		if n == 0 {
			for _, id := range ids {
				u.until(ctx, id, "completed")
			}
			u.reads.Unlock()
		}
		_, cut := over.Wait(ctx)
		last, all := told(listener)
		if n == 0 && all > 2*each+mostKept { // the state of each at the beginning, and the last one
			fault.Failf("%d states piled up", all)
		}
		polled := 0
		for _, id := range ids {
			if last[id] == "completed" {
				continue
			}
			if cut == nil {
				fault.Failf("the last that was told of %s is %q", id, last[id])
			}
			polled++
			u.until(ctx, id, "completed")
		}
		tally[n] = fmt.Sprintf("%s: %d told, %d polled", u.name, all, polled)
	}))
	t.Logf("%d tasks each; %s", each, strings.Join(tally[:], "; "))
	require.Equal(t, listeners*each, paidOnce(t, ledger))
	require.Zero(t, instances[1].manager.Stats().Listening)
}

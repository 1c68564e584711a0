package tasks_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/tasks"
	"github.com/mrtr-go/sdk/transport/wstransport"
)

// over connects a client of a user to a server over a transport that pushes.
func over(t *testing.T, transport, user string, server *mcp.Server) client {
	t.Helper()
	var h http.Handler = front(t, server, false)
	if transport == "websocket" {
		sockets, err := wstransport.NewHandler(func(*http.Request) *mcp.Server { return server }, nil)
		require.NoError(t, err)
		h = sockets
	}
	web := httptest.NewServer(auth.RequireBearerToken(func(_ context.Context, user string, _ *http.Request) (*auth.TokenInfo, error) {
		return &auth.TokenInfo{UserID: user, Expiration: time.Now().Add(time.Hour)}, nil
	}, nil)(h))
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	opts := &wire.Options{Capabilities: takesTasks}
	var c *wire.Client
	var err error
	if transport == "websocket" {
		link, failed := wstransport.Dial(t.Context(), strings.Replace(web.URL, "http", "ws", 1), &wstransport.DialOptions{Header: http.Header{"Authorization": {"Bearer " + user}}})
		require.NoError(t, failed)
		c, err = wire.Dial(t.Context(), link, opts)
	} else {
		c, err = wire.DialHTTP(t.Context(), web.URL, &http.Client{Transport: bearer(user)}, opts)
	}
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return client{t, c}
}

type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// listen subscribes to tasks, and to what else is named.
func (c client) listen(ctx context.Context, also map[string]any, ids ...string) *wire.Pending {
	c.Helper()
	notifications := map[string]any{"taskIds": ids}
	for name, value := range also {
		notifications[name] = value
	}
	p, err := c.Start(ctx, wire.Request{Method: "subscriptions/listen", Params: map[string]any{"_meta": c.Meta(), "notifications": notifications}})
	require.NoError(c, err)
	return p
}

// acknowledged waits until the subscription is, and returns its tasks.
func (c client) acknowledged() (ids []string, text string) {
	c.Helper()
	require.Eventually(c, func() bool { return len(c.Notifications("notifications/subscriptions/acknowledged")) > 0 }, 30*time.Second, time.Millisecond)
	var ack struct{ Notifications struct{ TaskIDs []string } }
	raw := c.Notifications("notifications/subscriptions/acknowledged")[0]
	require.NoError(c, json.Unmarshal(raw, &ack))
	return ack.Notifications.TaskIDs, string(raw)
}

// told are the states of each task that its client was told.
func (c client) told() map[string][]string {
	states := map[string][]string{}
	for _, raw := range c.Notifications("notifications/tasks") {
		var s seen
		require.NoError(c, json.Unmarshal(raw, &s))
		states[s.TaskID] = append(states[s.TaskID], strings.TrimSpace(s.Status+" "+strings.Join(s.keys(), " ")))
	}
	return states
}

// Whoever listens to a task is told each of its states, at whichever instance it works, as
// tasks/get would show it, until it ends. So does the subscription. Tasks of others, and what
// are none, are left out of it.
func TestATaskIsPushed(t *testing.T) {
	for _, transport := range []string{"http", "websocket"} {
		t.Run(transport, func(t *testing.T) {
			s := setting{style: "journal", policy: atOnce, did: &ledger{}, records: machine{store.NewMemory(nil)}, keys: []statecodec.Key{statecodec.GenerateKey()}}
			first := over(t, "http", "ada", newSite(t, s).server)
			second := newSite(t, s).server
			ada, eve := over(t, transport, "ada", second), over(t, transport, "eve", second)
			id := first.call().TaskID
			foreign := eve.listen(t.Context(), nil, id, "no task")
			accepted, _ := eve.acknowledged()
			require.Empty(t, accepted)
			_, err := foreign.Wait(t.Context())
			require.NoError(t, err)

			listening := ada.listen(t.Context(), nil, id, id, "no task")
			accepted, text := ada.acknowledged()
			require.Equal(t, []string{id}, accepted)
			require.Contains(t, text, `"io.modelcontextprotocol/subscriptionId":`)
			told := func(state string) {
				require.Eventually(t, func() bool {
					states := ada.told()[id]
					return len(states) > 0 && states[len(states)-1] == state
				}, 30*time.Second, time.Millisecond, state)
			}
			told("input_required seat-1")
			first.update(id, map[string]any{"seat-1": accept("seat", "window")})
			told("input_required meal-2")
			first.update(id, map[string]any{"meal-2": accept("meal", "fish")})
			res, err := listening.Wait(t.Context())
			require.NoError(t, err)
			require.Nil(t, res.Error)
			told("completed")
			states := ada.told()[id]
			for i, state := range states[1:] {
				require.NotEqual(t, states[i], state, "told twice: %q", states)
			}
			pushed := ada.Notifications("notifications/tasks")
			require.Empty(t, eve.Notifications("notifications/tasks"))
			var last, got map[string]any
			require.NoError(t, json.Unmarshal(pushed[len(pushed)-1], &last))
			require.NoError(t, json.Unmarshal(first.get(id).raw, &got))
			require.NotNil(t, last["_meta"].(map[string]any)["io.modelcontextprotocol/subscriptionId"])
			delete(last, "_meta")
			delete(got, "_meta")
			delete(got, "resultType")
			require.Equal(t, got, last)
		})
	}
}

// A subscription to something else besides outlives its tasks, and is acknowledged once.
func TestTasksBesideOtherSubscriptions(t *testing.T) {
	c := over(t, "http", "ada", newSite(t, setting{style: "journal", policy: atOnce}).server)
	id := c.call().TaskID
	ctx, cancel := context.WithCancel(t.Context())
	listening := c.listen(ctx, map[string]any{"toolsListChanged": true}, id)
	accepted, text := c.acknowledged()
	require.Equal(t, []string{id}, accepted)
	require.Contains(t, text, `"toolsListChanged":true`)
	c.finish(id)
	require.Eventually(t, func() bool { s := c.told()[id]; return len(s) > 0 && s[len(s)-1] == "completed" }, 30*time.Second, time.Millisecond)
	require.Len(t, c.Notifications("notifications/subscriptions/acknowledged"), 1)
	select {
	case <-listening.Stream():
		require.Fail(t, "it has ended")
	default:
	}
	cancel()
	<-listening.Stream()
}

// One caller may listen to as many tasks as it may have, in all of its subscriptions. What is
// beyond that is not acknowledged, and has a place again when a subscription has ended.
func TestListenersAreBounded(t *testing.T) {
	s := newSite(t, setting{style: "journal", policy: atOnce, options: tasks.Options{MaxTasksPerPrincipal: 2}})
	ada := over(t, "http", "ada", s.server)
	ids := []string{ada.call().TaskID, ada.call().TaskID}
	for i, want := range []int{2, 0, 2} {
		c := over(t, "http", "ada", s.server)
		ctx, cancel := context.WithCancel(t.Context())
		listening := c.listen(ctx, nil, ids...)
		accepted, _ := c.acknowledged()
		require.Len(t, accepted, want, "subscription %d", i)
		if i == 0 {
			t.Cleanup(cancel)
			bob := over(t, "http", "bob", s.server)
			own := bob.call().TaskID
			bob.listen(ctx, nil, own)
			accepted, _ = bob.acknowledged()
			require.Equal(t, []string{own}, accepted)
			continue
		}
		if i == 1 { // the first one ends with its tasks
			_, err := listening.Wait(t.Context())
			require.NoError(t, err)
			for _, id := range ids {
				ada.cancel(id)
				ada.settle(id)
			}
			ids = []string{ada.call().TaskID, ada.call().TaskID}
			require.Eventually(t, func() bool { return s.manager.Stats().Listening == 1 }, 30*time.Second, time.Millisecond)
		}
		cancel()
	}
}

// ear is a client that a test reads for.
type ear struct {
	ids     []string
	read    func(state string) // may take its time
	mu      sync.Mutex
	waiting int // notifications that are being read
	most    int
}

func (e *ear) Tasks(any) []string { return e.ids }

func (e *ear) Notify(ctx context.Context, _ string, params json.RawMessage) error {
	e.mu.Lock()
	e.waiting++
	e.most = max(e.most, e.waiting)
	e.mu.Unlock()
	var s seen
	if err := json.Unmarshal(params, &s); err != nil {
		return err
	}
	e.read(s.Status + " " + strings.Join(s.keys(), " "))
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waiting--
	return ctx.Err()
}

// listens has a client of a server listen through an ear, until the subscription ends.
func (e *ear) listens(t *testing.T, s *site) <-chan struct{} {
	s.server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			return next(rendezvous.WithStream(ctx, e), method, req)
		}
	})
	c, over := connect(t, s.server), make(chan struct{})
	p := c.listen(t.Context(), nil, e.ids...)
	go func() {
		defer close(over)
		_, _ = p.Wait(context.Background())
	}()
	return over
}

// A client that reads slowly is sent one notification at a time, and the last state of a task
// rather than every one: nothing piles up for it.
func TestASlowListenerIsToldTheLastState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		records := machine{store.NewMemory(nil)}
		s := newSite(t, setting{style: "journal", policy: atOnce, records: records, keys: []statecodec.Key{statecodec.GenerateKey()}})
		c := connect(t, s.server)
		var told []string
		slow := &ear{read: func(state string) { time.Sleep(time.Minute); told = append(told, state) }}
		for range 3 {
			slow.ids = append(slow.ids, c.call().TaskID)
		}
		for _, id := range slow.ids {
			c.settle(id)
		}
		over := slow.listens(t, s)
		synctest.Wait()
		for _, id := range slow.ids {
			c.finish(id)
		}
		<-over
		require.Equal(t, 1, slow.most)
		require.Len(t, told, 6, "%q", told)
		require.Equal(t, "completed ", told[5])
	})
}

// The instance at which a task works dies. Another one, at which somebody listens, goes on with
// it, and tells.
func TestAListenerOutlivesAnInstance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, "journal")
		dies := make(chan struct{})
		p.did.at = func(context.Context) {
			if !p.store.dead.Swap(true) {
				<-dies
			}
		}
		id := p.first.call().TaskID
		asked := p.poll(t, id)
		told := make(chan string, 9)
		second := &ear{ids: []string{id}, read: func(state string) { told <- state }}
		over := second.listens(t, p.survivor)
		synctest.Wait()
		p.first.answer(asked)                                // and dies at work
		for state := ""; state != "input_required meal-2"; { // nobody polls
			state = <-told
		}
		p.second.update(id, map[string]any{"meal-2": accept("meal", "fish")})
		<-over
		close(told)
		last := ""
		for last = range told {
		}
		require.Equal(t, "completed ", last)
		close(dies)
		require.Equal(t, "hold ticket", p.did.all())
	})
}

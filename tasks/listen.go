package tasks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/store"
)

const (
	listens      = "subscriptions/listen"
	acknowledges = "notifications/subscriptions/acknowledged"
	tells        = "notifications/tasks"
)

// A listener is a subscription to tasks. Each of them is told as it is when the subscription
// begins, and after each change that its client can see, until it ends. A client that reads slowly
// is told the last of several changes. Whoever listens to a task goes on with it like one who
// polls.
type listener struct {
	m         *Manager
	stream    rendezvous.Stream
	principal string
	way       *way
	id        any // of the subscription, once it is acknowledged
	tasks     map[store.Key]string
	places    []string

	ctx  context.Context // ends with the subscription
	stop context.CancelFunc
	turn chan struct{} // has room while no task is told
	all  sync.WaitGroup
}

type listenerKey struct{}

// listen serves a subscription, which ends with the last of its tasks, if it is to nothing else.
func (m *Manager) listen(ctx context.Context, next mcp.MethodHandler, req mcp.Request) (mcp.Result, error) {
	stream := rendezvous.StreamOf(ctx)
	principal, err := m.sender(ctx, req)
	if stream == nil || err != nil || !declares(req) {
		return next(ctx, listens, req)
	}
	l := &listener{m: m, stream: stream, principal: principal, way: m.wayOf(ctx, next, req), tasks: map[store.Key]string{}, turn: make(chan struct{}, 1)}
	l.ctx, l.stop = context.WithCancel(ctx)
	defer context.AfterFunc(m.ctx, l.stop)()
	defer func() {
		l.stop()
		l.all.Wait()
		for _, place := range l.places {
			m.listening.leave(place)
		}
	}()
	res, err := next(context.WithValue(ctx, listenerKey{}, l), listens, req)
	if err == nil {
		l.all.Wait() // at once, if the subscription is to something else and has ended
	}
	return res, err
}

// acknowledgeTasks accepts the tasks of a subscription, and follows them once its client knows.
func acknowledgeTasks(ctx context.Context, next mcp.MethodHandler, req mcp.Request) (mcp.Result, error) {
	l, _ := ctx.Value(listenerKey{}).(*listener)
	p, ok := req.GetParams().(*mcp.SubscriptionsAcknowledgedParams)
	session, server := req.GetSession().(*mcp.ServerSession)
	if l == nil || !ok || !server {
		return next(ctx, acknowledges, req)
	}
	l.id = p.Meta[mcp.MetaKeySubscriptionID]
	own := &acknowledgedTasks{p, l.accept()}
	res, err := next(ctx, acknowledges, &mcp.ServerRequest[*acknowledgedTasks]{Session: session, Params: own, Extra: req.GetExtra()})
	if err == nil {
		for key, id := range l.tasks {
			l.all.Go(func() { l.follow(key, id) })
		}
	}
	return res, err
}

// acknowledgedTasks is what go-sdk acknowledges, with tasks.
type acknowledgedTasks struct {
	*mcp.SubscriptionsAcknowledgedParams
	tasks []string
}

func (a *acknowledgedTasks) MarshalJSON() ([]byte, error) {
	var own struct {
		Meta          mcp.Meta `json:"_meta,omitempty"`
		Notifications struct {
			mcp.NotificationSubscriptions
			TaskIDs []string `json:"taskIds,omitempty"`
		} `json:"notifications"`
	}
	own.Meta, own.Notifications.NotificationSubscriptions, own.Notifications.TaskIDs = a.Meta, a.Notifications, a.tasks
	return json.Marshal(&own)
}

// accept returns the tasks that the listener may follow, and gives each a place. One of
// another caller's, one that is not admitted or has expired, and one for which there is no room
// are left out: they can be polled, or cannot.
func (l *listener) accept() (ids []string) {
	for _, id := range l.stream.Tasks(l.id) {
		key, err := l.m.find(id, l.principal)
		key = l.m.in(key)
		if _, twice := l.tasks[key]; err != nil || twice || !l.mayFollow(key) {
			continue
		}
		place := newHolder() + key.Name
		if !l.m.listening.admit(place, l.principal, 0, time.Now().Add(l.m.o.TTL)) {
			continue
		}
		l.places, l.tasks[key], ids = append(l.places, place), id, append(ids, id)
	}
	return ids
}

// mayFollow reports whether the client may go on with a task of its own. A record that cannot be
// read now is judged when it can.
func (l *listener) mayFollow(key store.Key) bool {
	if l.way.admit == nil {
		return true
	}
	r, _, err := l.m.load(l.ctx, key)
	return err != nil || l.way.admits(r) == nil
}

// follow tells of one task until it ends.
func (l *listener) follow(key store.Key, id string) {
	var told []byte
	named, err := l.m.find(id, l.principal)
	if err != nil {
		return
	}
	for l.ctx.Err() == nil {
		var r *record
		var at store.Revision
		w := *l.way // whoever looks after the task later keeps it
		err := l.m.found(l.ctx, named, &w, func(now store.Key) (err error) {
			key = now
			r, at, err = l.m.get(l.ctx, now, &w)
			return err
		})
		if store.IsVerdict(err) || errors.Is(err, errRecord) || errors.As(err, new(*notAdmitted)) {
			return
		}
		if err == nil {
			if seen := r.seen(); !bytes.Equal(seen, told) {
				if told = seen; !l.tell(r, id) {
					return
				}
			}
			if r.Status.terminal() {
				return
			}
		}
		l.await(key, at)
	}
}

// await returns when a task may have changed, or somebody has to look whether its holder lives.
// A store that cannot tell of a change is read as often as the client would poll.
func (l *listener) await(key store.Key, at store.Revision) {
	watcher, ok := l.m.store.(store.Watcher)
	if !ok {
		sleep(l.ctx, l.m.o.PollInterval)
		return
	}
	ctx, cancel := context.WithTimeout(l.ctx, l.m.lease)
	defer cancel()
	if err := watcher.Wait(ctx, key, at); err != nil && ctx.Err() == nil {
		sleep(ctx, lastPause)
	}
}

// tell is false where nobody listens any more.
func (l *listener) tell(r *record, id string) bool {
	task := r.show(id, l.m.o.PollInterval)
	task.ResultType, task.Meta = "", mcp.Meta{mcp.MetaKeySubscriptionID: l.id}
	params, err := json.Marshal(task)
	if err != nil {
		return false
	}
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-l.ctx.Done():
		return false
	}
	if l.stream.Notify(l.ctx, tells, params) != nil {
		l.stop()
		return false
	}
	return true
}

// seen is the task as a client sees it, but for when its holder last wrote.
func (r *record) seen() []byte {
	still := *r
	still.Updated = still.Created
	seen, _ := json.Marshal(still.show("", 0))
	return seen
}

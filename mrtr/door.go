package mrtr

import (
	"context"
	"sync"

	"github.com/mrtr-go/sdk/internal/rpcerror"
	"github.com/mrtr-go/sdk/sse/era"
)

// door lets requests in until the runtime drains, and knows when the last of them has left.
// A legacy client's call is one request, which lasts while its user is asked.
type door struct {
	mu     sync.Mutex
	inside int // guarded by mu, as are the others
	closed bool
	empty  emptiness
}

// enter lets a request in, or returns a retryable error so that another instance can take it.
// A legacy client can't send a later round again, so that one enters a closed door too.
func (rt *Runtime) enter(ctx context.Context, ex *exchange, t *target) error {
	later := ex.client.Era == era.Legacy && ex.token != ""
	if rt.door.enter(later) {
		return nil
	}
	c := &Call{rt: rt, target: t, ex: *ex}
	return c.turnAway(ctx)
}

// turnAway refuses a request that has done nothing, and can be sent to another instance as
// it is.
func (c *Call) turnAway(ctx context.Context) error {
	c.phase = elsewhere
	c.observe(ctx, Event{Kind: RoundRefused, Reason: string(ShuttingDown)})
	return rpcerror.Retryable(sendElsewhere, string(ShuttingDown))
}

// enter reports whether the request is inside: always if evenSo, else while the door is open.
func (d *door) enter(evenSo bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed && !evenSo {
		return false
	}
	d.inside++
	return true
}

func (d *door) leave() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.inside--
	d.empty.note(d.inside == 0)
}

// close shuts the door. The channel it returns is closed once everybody has left.
func (d *door) close() (empty <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	return d.empty.wait(d.inside == 0)
}

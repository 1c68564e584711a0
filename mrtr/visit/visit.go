// Package visit tells a handler that its user is done at a page, and with what.
package visit

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/usage"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/sse/era"
	"github.com/mrtr-go/sdk/store"
)

// Visits tell a handler that its user is done at a page, and with what: a receipt, an
// authorization code. The accept of an [mrtr.ElicitURL] tells only that the user agreed to go.
//
//	id, err := visits.Begin(ctx, c, "pay")
//	...
//	_, err = linear.Ask(ctx, c, mrtr.ElicitURL("pay", "Please pay.", shop+"/pay?visit="+id))
//	...
//	receipt, err := mrtr.Once(ctx, c, "paid", func(ctx context.Context, _ string) (Receipt, error) {
//		return visits.Wait(ctx, c, "pay")
//	})
//
// and in the page's callback, once the payment has been checked:
//
//	err := visits.Done(ctx, id, user, receipt)
//
// A legacy client whose session is in the process of Done or Wait is then told by
// notifications/elicitation/complete, as revision 2025-11-25 has it, so that it can close
// its page. Revision 2026-07-28 has no such message.
//
// The zero value is ready to use, and its visits are known to this process alone.
type Visits[T any] struct {
	// Runtime lends the store of its Keeper, if it has one: then the callback may arrive at any
	// instance, and a visit outlives the one that it began at. Values are kept as JSON.
	Runtime *mrtr.Runtime
	// MaxAge is how long the visits of a call are known after the last of them began or was done;
	// 1 hour if zero.
	MaxAge time.Duration
	// Max is how many visits a principal may begin in MaxAge at this instance; 5,000 if zero.
	// The callers that nobody knows count as one.
	Max int

	once  sync.Once
	kept  records
	begun tally
	tells sync.Map // of *telling, by id: the clients that are to be told
}

// The errors of [Visits], beside those of its store and its context.
var (
	// ErrNoVisit is the error of a visit that has not begun, that began too long ago, or, for
	// [Visits.Done], that another user began.
	ErrNoVisit error = &visitError{"no_visit", "The page of this question is not waited for any more. Whether the user was done there is unknown: do not call the tool again without checking."}
	// ErrVisitDone is the error of [Visits.Done] for a visit that is done: its value stands. A
	// callback that may come twice takes it for success.
	ErrVisitDone error = &visitError{"visit_done", "This page is done already."}
	// ErrManyVisits is the error of [Visits.Begin] for a caller that has begun too many.
	ErrManyVisits error = &visitError{"many_visits", "The server has sent this user to too many pages. Try again later."}

	errVisitUnkept error = &visitError{"store_unavailable", "The server cannot wait for a user at a page now. Try again later."}
)

// visitError is no fault of the program's.
type visitError struct{ kind, text string }

func (e *visitError) Error() string           { return e.text }
func (e *visitError) ToolErrorType() string   { return e.kind }
func (e *visitError) ToolErrorExpected() bool { return true }

// Begin makes the visit of a question known, so that Done can end it, and returns its
// id. ctx is the handler's own: over HTTP that is how a legacy client is told on the
// stream of its call. To begin a visit again changes nothing.
func (v *Visits[T]) Begin(ctx context.Context, c *mrtr.Call, key string) (id string, _ error) {
	m := v.records()
	id = c.ElicitationID(key)
	limited, cancel := context.WithTimeout(ctx, m.Patience())
	defer cancel()
	if v.begun.admits(c.Principal(), v.max(), v.maxAge()) {
		created, err := m.beginVisit(limited, c.Principal(), id, v.maxAge())
		if err != nil {
			return "", err
		}
		if created {
			v.begun.add(c.Principal())
		}
	} else if _, err := m.visit(limited, c.Principal(), id); err != nil {
		return "", ErrManyVisits
	}
	if send := tellVisited(ctx, c, id); send != nil {
		if one, err := m.visit(limited, c.Principal(), id); err != nil || !one.Done {
			if _, known := v.tells.LoadOrStore(id, &telling{send: send, told: make(chan struct{})}); !known {
				time.AfterFunc(v.maxAge(), func() { v.tells.Delete(id) })
			}
		}
	}
	return id, nil
}

// Done ends a visit with a value. user is who the page knows its visitor to be, and has to be
// the [mrtr.Call.Principal] of the call; "" for callers that nobody knows. ErrNoVisit and
// ErrVisitDone say that nothing was changed. Any other error is that of a store which did not
// answer in time, and the visit may be done or not: call Done again.
//
// A legacy client whose session is here is told before Wait returns, so that it hears of it
// before the result of its call. One that does not read holds up both for 5 seconds.
func (v *Visits[T]) Done(ctx context.Context, id, user string, value T) error {
	text, err := json.Marshal(value)
	if err != nil {
		return usage.New("visit", "Visits.Done: the value cannot be kept: %v", err)
	}
	m := v.records()
	limited, cancel := context.WithTimeout(ctx, m.Patience())
	defer cancel()
	if err := m.endVisit(limited, user, id, text, v.maxAge()); err != nil {
		return err
	}
	v.tell(id)
	return nil
}

// Wait returns the value of a visit of this call when it is done. Where ctx ends first, also
// because the store does not answer, the error is that of ctx marked with [mrtr.NotDone]; for a
// visit that is not known it is [ErrNoVisit]. A client waits for a round as long as its own
// timeout: bound ctx below that, and ask the user again.
func (v *Visits[T]) Wait(ctx context.Context, c *mrtr.Call, key string) (value T, _ error) {
	id := c.ElicitationID(key)
	m := v.records()
	one, err := m.awaitVisit(ctx, c.Principal(), id)
	switch {
	case err == nil:
	case errors.Is(err, ErrNoVisit):
		return value, err
	default:
		return value, mrtr.NotDone(err) // [mrtr.Once] may wait again
	}
	if err := json.Unmarshal(one.Value, &value); err != nil {
		return value, usage.New("visit", "Visits.Wait: the visit of %q is done with a value of another type: %v", key, err)
	}
	v.tell(id)
	return value, nil
}

func (v *Visits[T]) maxAge() time.Duration { return cmp.Or(v.MaxAge, time.Hour) }

func (v *Visits[T]) max() int { return cmp.Or(v.Max, 5_000) }

// records are those of the runtime, or of a store of its own.
func (v *Visits[T]) records() records {
	v.once.Do(func() {
		if v.Runtime != nil {
			v.kept.audience = v.Runtime.Audience()
			if k := durable.Of(v.Runtime.Keeper()); k != nil {
				v.kept.Records = k.Records()
				return
			}
		}
		v.kept.Records = durable.NewRecords(store.NewMemory(nil), 2*time.Second)
	})
	return v.kept
}

// telling is a message that a client gets once.
type telling struct {
	send  func()
	begun atomic.Bool
	told  chan struct{} // closed when it was sent, or given up
}

// tell tells the client of a visit, if this process is to tell it and has not yet. It returns
// when that is done, also where somebody else does it.
func (v *Visits[T]) tell(id string) {
	found, ok := v.tells.Load(id)
	if !ok {
		return
	}
	one := found.(*telling)
	if one.begun.Swap(true) {
		<-one.told
		return
	}
	defer v.tells.Delete(id)
	defer close(one.told)
	sent := make(chan struct{})
	go func() { // not every transport gives up a message when a context ends
		defer close(sent)
		one.send()
	}()
	select {
	case <-sent:
	case <-time.After(tellTime):
	}
}

// tellTime is for a message to a client that reads.
const tellTime = 5 * time.Second

// tellVisited returns the function that tells the client of this call that its user is
// done at a page. It is nil for a client that knows no such message.
func tellVisited(ctx context.Context, c *mrtr.Call, id string) func() {
	client, session := c.Client(), c.Session()
	if client.Era != era.Legacy || !client.URL || session == nil {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	return func() {
		p := mcp.ElicitationCompleteParams{ElicitationID: id}
		if session.NotifyElicitationComplete(ctx, &p) == nil {
			return
		}
		// The call is over, and its stream with it. The session may have another one.
		_ = session.NotifyElicitationComplete(context.Background(), &p) // the client may be gone
	}
}

// tally counts by principal, in one span of time after another.
type tally struct {
	mu    sync.Mutex
	since time.Time
	count map[string]int
}

// admits reports whether one more of this principal's is admitted.
func (t *tally) admits(who string, most int, span time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if time.Since(t.since) >= span {
		t.since, t.count = time.Now(), map[string]int{}
	}
	return t.count[who] < most
}

func (t *tally) add(who string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count[who]++
}

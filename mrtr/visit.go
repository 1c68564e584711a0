package mrtr

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/sse/era"
)

// ElicitationID names the visit that an [ElicitURL] question of this call asks for: in
// every round, in every instance, and however often it is asked again. Put it into the
// address, so that the page there knows which visit it ends. A legacy client is sent it as
// elicitationId; in revision 2026-07-28 there is no such field.
//
// Nobody can guess it. It is in the address, so it proves nothing about who comes with it:
// a page that acts for a user has to know the user by other means, and compare with
// [Call.Principal].
func (c *Call) ElicitationID(key string) string {
	sum := sha256.Sum256([]byte("elicitation\x00" + c.ID() + "\x00" + key))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// nameVisits gives the requests of a legacy client their elicitationId.
func (c *Call) nameVisits(requests mcp.InputRequestMap) {
	if c.ex.client.Era == era.Modern {
		return
	}
	for key, request := range requests {
		if e, ok := request.(*mcp.ElicitParams); ok && era.IsURL(e) {
			e.ElicitationID = c.ElicitationID(key)
		}
	}
}

// Visits tell a handler that its user is done at a page, and with what: a receipt, an
// authorization code. The accept of an [ElicitURL] tells only that the user agreed to go.
//
//	id := visits.Begin(ctx, c, "pay")
//	_, err := mrtr.Ask(ctx, c, mrtr.ElicitURL("pay", "Please pay.", shop+"/pay?visit="+id))
//	...
//	receipt, err := mrtr.Once(ctx, c, "paid", func(ctx context.Context, _ string) (Receipt, error) {
//		return visits.Wait(ctx, id)
//	})
//
// and in the page's callback, once the payment has been checked: visits.Done(id, receipt).
// A legacy client is then told by notifications/elicitation/complete, as revision 2025-11-25
// has it, so that it can close its page. Revision 2026-07-28 has no such message.
//
// Visits are those of one process. Where a callback may arrive at another instance, keep
// the outcome in a database, by the same id. The zero value is ready to use.
type Visits[T any] struct {
	// MaxAge is how long a visit is known after it began; 1 hour if zero.
	MaxAge time.Duration
	// Max bounds the visits that are known; 10,000 if zero. A principal has three quarters
	// of them at most, and its own oldest makes room for the next. If all are taken, the
	// oldest of the principal with the most makes room. The callers that nobody knows count
	// as one principal.
	Max int

	// All guarded by mu.
	mu    sync.Mutex
	known map[string]*list.Element // of *visit[T], in order
	order list.List                // oldest first
	of    map[string]*list.List    // of *visit[T], by principal, oldest first; none is empty
}

type visit[T any] struct {
	id    string
	who   string        // the principal, "" for all that are not known
	own   *list.Element // in the list of its principal
	began time.Time
	ended bool
	done  chan struct{} // closed when the client was told
	value T
	tell  func() // tells the client that it is done; nil for a modern one
}

// Begin makes the visit of a question known, so that Done can end it, and returns its
// id. ctx is the handler's own: over HTTP that is how a legacy client is told on the
// stream of its call. To begin a visit again changes nothing else.
func (v *Visits[T]) Begin(ctx context.Context, c *Call, key string) (id string) {
	id = c.ElicitationID(key)
	tell := c.tellVisited(ctx, id)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.forget()
	if at := v.known[id]; at != nil {
		if one := at.Value.(*visit[T]); !one.ended {
			one.tell = tell
		}
		return id
	}
	if v.known == nil {
		v.known, v.of = map[string]*list.Element{}, map[string]*list.List{}
	}
	v.makeRoom(c.principal)
	one := &visit[T]{id: id, who: c.principal, began: time.Now(), done: make(chan struct{}), tell: tell}
	v.known[id] = v.order.PushBack(one)
	if v.of[one.who] == nil {
		v.of[one.who] = list.New()
	}
	one.own = v.of[one.who].PushBack(one)
	return id
}

// makeRoom drops visits until a principal may begin one. So one that begins many forgets
// its own, and no others as long as those are fewer than its own. The caller holds v.mu.
func (v *Visits[T]) makeRoom(who string) {
	most := v.Max
	if most == 0 {
		most = 10_000
	}
	for own := v.of[who]; own != nil && own.Len() >= most-most/4; own = v.of[who] {
		v.dropOldest(who)
	}
	for len(v.known) >= most && len(v.known) > 0 {
		largest := who
		for other, visits := range v.of {
			if at := v.of[largest]; at == nil || visits.Len() > at.Len() {
				largest = other
			}
		}
		v.dropOldest(largest)
	}
}

// dropOldest drops the oldest visit of a principal that has one. The caller holds v.mu.
func (v *Visits[T]) dropOldest(who string) {
	v.drop(v.known[v.of[who].Front().Value.(*visit[T]).id])
}

// Done ends a visit with a value. It is false for a visit that is not known, or that
// has ended before: then the first value stands. A legacy client is told before Wait
// returns, so that it hears of it before the result of its call. One that does not read
// holds up both for 5 seconds.
func (v *Visits[T]) Done(id string, value T) bool {
	one, tell := v.end(id, value)
	if one == nil {
		return false
	}
	defer close(one.done)
	if tell == nil {
		return true
	}
	told := make(chan struct{})
	go func() { // not every transport gives up a message when a context ends
		defer close(told)
		tell()
	}()
	select {
	case <-told:
	case <-time.After(tellTime):
	}
	return true
}

// tellTime is for a message to a client that reads.
const tellTime = 5 * time.Second

// end is nil where there is no visit to end. The function tells the client, and is not
// kept, because it keeps the session.
func (v *Visits[T]) end(id string, value T) (one *visit[T], tell func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.forget()
	at := v.known[id]
	if at == nil {
		return nil, nil
	}
	one = at.Value.(*visit[T])
	if one.ended {
		return nil, nil
	}
	tell, one.tell = one.tell, nil
	one.ended, one.value = true, value
	return one, tell
}

// tellVisited returns the function that tells the client of this call that its user is
// done at a page. It is nil for a client that knows no such message.
func (c *Call) tellVisited(ctx context.Context, id string) func() {
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

// Wait returns the value of a visit when it is done. Where ctx ends first the error is
// that of ctx marked with [NotDone], and for a visit that is not known [ErrNoVisit]. A client waits for a
// round as long as its own timeout: bound ctx below that, and ask the user again.
func (v *Visits[T]) Wait(ctx context.Context, id string) (T, error) {
	var none T
	v.mu.Lock()
	v.forget()
	at := v.known[id]
	v.mu.Unlock()
	if at == nil {
		return none, ErrNoVisit
	}
	one := at.Value.(*visit[T])
	select {
	case <-one.done:
	case <-ctx.Done():
		select {
		case <-one.done: // both have come, and this one first
		default:
			return none, NotDone(ctx.Err()) // [Once] may wait again
		}
	}
	return one.value, nil
}

type noVisit struct{}

func (*noVisit) Error() string {
	return "The page of this question is not waited for any more. " + atThePage
}
func (*noVisit) ToolErrorType() string   { return "no_visit" }
func (*noVisit) ToolErrorExpected() bool { return true }

// forget drops the visits that are too old. The caller holds v.mu.
func (v *Visits[T]) forget() {
	age := v.MaxAge
	if age == 0 {
		age = time.Hour
	}
	for at := v.order.Front(); at != nil && time.Since(at.Value.(*visit[T]).began) >= age; at = v.order.Front() {
		v.drop(at)
	}
}

func (v *Visits[T]) drop(at *list.Element) {
	one := at.Value.(*visit[T])
	delete(v.known, one.id)
	v.order.Remove(at)
	own := v.of[one.who]
	if own.Remove(one.own); own.Len() == 0 {
		delete(v.of, one.who)
	}
}

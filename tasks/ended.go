package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/store"
)

// ended are the tasks that ended here and whose results are kept. Beyond a bound the largest results of
// a caller give way, so that nobody fills the store for the others.
type ended struct {
	mu sync.Mutex
	of map[string]*results // by principal
	// crowd is how many principals make it worth looking for those whose results have all expired.
	crowd int
}

type results struct {
	tasks []endedTask // as they ended
	bytes int
}

type endedTask struct {
	key     store.Key
	call    string // of the engine, "" for none
	bytes   int
	expires time.Time
}

const (
	// maxKnown bounds the results that a store keeps for one known principal's tasks, and again what
	// its open tasks hold. The callers that nobody knows have maxUnknown together.
	maxKnown   = 4 << 20
	maxUnknown = 16 << 20
	// perEnded is about what a task leaves beside its result.
	perEnded = 2 << 10
)

// room is how many bytes a principal's tasks may have.
func room(principal string) int {
	if principal == "" {
		return maxUnknown
	}
	return maxKnown
}

// weight is about how much a task holds, which the record of its last turn has too.
func (r *record) weight() int {
	n := len(r.Result) + len(r.Error) + len(r.Arguments) + len(r.Meta) + len(r.State)
	for _, answer := range r.Answers {
		n += len(answer)
	}
	for _, q := range r.Open {
		n += len(q.Request) + len(q.Answer)
	}
	return 2 * n
}

// add counts in a task, and counts out those that give way to it.
func (e *ended) add(principal string, one endedTask) (giveWay []endedTask, _ string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.of == nil {
		e.of = map[string]*results{}
	}
	if len(e.of) >= e.crowd {
		e.forgetExpired()
		e.crowd = max(2*len(e.of), 64)
	}
	of := e.of[principal]
	if of == nil {
		of = &results{}
		e.of[principal] = of
	}
	of.forgetExpired(time.Now())
	of.tasks, of.bytes = append(of.tasks, one), of.bytes+one.bytes
	for of.bytes > room(principal) && len(of.tasks) > 1 {
		giveWay = append(giveWay, of.take(of.largest()))
	}
	return giveWay, principal
}

// forgetExpired counts out those that have expired. The caller holds e.mu.
func (e *ended) forgetExpired() {
	now := time.Now()
	for principal, of := range e.of {
		of.forgetExpired(now)
		if len(of.tasks) == 0 {
			delete(e.of, principal)
		}
	}
}

func (r *results) forgetExpired(now time.Time) {
	for len(r.tasks) > 0 && now.After(r.tasks[0].expires) {
		r.take(0)
	}
}

// largest finds the oldest of those with the largest result, but for the last one, which nobody can
// have read yet: who fills the store gives way, and not who has little in it.
func (r *results) largest() (at int) {
	for i, one := range r.tasks[:len(r.tasks)-1] {
		if one.bytes > r.tasks[at].bytes {
			at = i
		}
	}
	return at
}

func (r *results) take(at int) endedTask {
	one := r.tasks[at]
	r.tasks, r.bytes = slices.Delete(r.tasks, at, at+1), r.bytes-one.bytes
	return one
}

// giveWay empties all records of the calls of some tasks.
func (m *Manager) giveWay(tasks []endedTask, principal string) {
	for _, one := range tasks {
		if rt := m.o.Runtime; rt != nil && durable.Of(rt.Keeper()) != nil && one.call != "" {
			_, _ = rt.Erase(m.ctx, principal, one.call)
		} else {
			_, _ = m.erase(m.ctx, strings.TrimPrefix(one.key.Name, recordName("")))
		}
	}
}

var (
	errErased  = errors.New("the records of this call were erased")
	errRunning = errors.New("a task of the call is still running")
)

// erase implements [keep.Eraser] for the record of a task. It stays, empty, for as long as the task
// would have been known.
func (m *Manager) erase(ctx context.Context, name string) (erased bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, m.patience)
	defer cancel()
	key := store.Key{Name: recordName(name)}
	if key.Epoch, err = m.store.Epoch(ctx); err != nil {
		return false, err
	}
	for {
		value, at, err := m.store.Get(ctx, key)
		if errors.Is(err, store.ErrNotFound) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		r, err := m.open(key, value)
		switch {
		case err != nil:
			return false, err
		case r.Erased:
			return false, nil
		case r.Status == working && !m.abandoned(key, r, at):
			return false, errRunning
		}
		r.erase()
		if _, err = m.save(ctx, key, r, at); !errors.Is(err, store.ErrConflict) {
			m.ledger.leave(key.Name)
			m.waits.drop(key)
			return err == nil, err
		}
	}
}

// noLonger is the result of a task that completed, and whose own is no longer kept.
var noLonger = json.RawMessage(`{"content":[{"type":"text","text":"The tool completed, and its result is no longer kept. Do not call it again."}],"isError":true,"resultType":"complete"}`)

// erase leaves of a task that it was one, and how it ended.
func (r *record) erase() {
	switch {
	case r.Status == completed:
		r.Result = noLonger
	case r.Status == cancelled:
		r.Message = taskCancelled
	default:
		r.end(failed, errErased.Error())
		r.Error = marshal(wireError(errErased))
	}
	r.Principal, r.Call, r.Erased = "", "", true
}

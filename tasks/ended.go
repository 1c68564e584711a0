package tasks

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/store"
)

// ended are the tasks that ended here and whose results are kept. Beyond a bound the oldest results of
// a caller give way, so that nobody fills the store for the others.
type ended struct {
	mu sync.Mutex
	of map[string]*results // by principal
}

type results struct {
	oldest []endedTask
	bytes  int
}

type endedTask struct {
	key     store.Key
	call    string // of the engine, "" for none
	bytes   int
	expires time.Time
}

const (
	// maxResults bounds the results that a store keeps for one known principal's tasks. The callers
	// that nobody knows have maxUnknown together.
	maxResults = 4 << 20
	maxUnknown = 16 << 20
	// perEnded is about what a task leaves beside its result, which the record of its last turn has too.
	perEnded = 4 << 10
)

func (r *record) weight() int { return perEnded + 2*len(r.Result) + 2*len(r.Error) }

// add counts in a task, and counts out those that give way to it.
func (e *ended) add(principal string, one endedTask) (giveWay []endedTask, _ string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.forgetExpired()
	if e.of == nil {
		e.of = map[string]*results{}
	}
	of, most := e.of[principal], maxResults
	if of == nil {
		of = &results{}
		e.of[principal] = of
	}
	if principal == "" {
		most = maxUnknown
	}
	of.oldest, of.bytes = append(of.oldest, one), of.bytes+one.bytes
	for of.bytes > most && len(of.oldest) > 1 {
		giveWay = append(giveWay, of.take())
	}
	return giveWay, principal
}

// forgetExpired counts out those that have expired. The caller holds e.mu.
func (e *ended) forgetExpired() {
	now := time.Now()
	for principal, of := range e.of {
		for len(of.oldest) > 0 && now.After(of.oldest[0].expires) {
			of.take()
		}
		if len(of.oldest) == 0 {
			delete(e.of, principal)
		}
	}
}

func (r *results) take() endedTask {
	one := r.oldest[0]
	r.oldest, r.bytes = r.oldest[1:], r.bytes-one.bytes
	return one
}

// giveWay empties all records of the calls of some tasks.
func (m *Manager) giveWay(tasks []endedTask, principal string) {
	for _, one := range tasks {
		if rt := m.o.Runtime; rt != nil && durable.Of(rt) != nil && one.call != "" {
			_, _ = rt.Erase(context.Background(), principal, one.call)
		} else {
			_, _ = m.erase(context.Background(), strings.TrimPrefix(one.key.Name, recordName("")))
		}
	}
}

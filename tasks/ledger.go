package tasks

import (
	"sync"
	"time"
)

// ledger counts the tasks that this instance has created and that have not ended, as far as
// it knows: one that ends at another instance counts until it is asked for here, or expires.
type ledger struct {
	max, maxPrincipal int

	mu    sync.Mutex
	tasks map[string]entry // by the name of the record, in whichever incarnation of the store
	of    map[string]int   // by principal, "" for all that are not known
}

type entry struct {
	principal string
	expires   time.Time
}

// admit counts in a task, unless there are too many. The callers without a principal share
// three quarters of all places.
func (l *ledger) admit(name, principal string, expires time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.tasks[name]; known { // an earlier call has the same key
		return true
	}
	most := l.maxPrincipal
	if principal == "" {
		most = l.max - l.max/4
	}
	if len(l.tasks) >= l.max || l.of[principal] >= most {
		l.forgetExpired()
	}
	if len(l.tasks) >= l.max || l.of[principal] >= most {
		return false
	}
	if l.tasks == nil {
		l.tasks, l.of = map[string]entry{}, map[string]int{}
	}
	l.tasks[name] = entry{principal, expires}
	l.of[principal]++
	return true
}

// open is how many are counted in and have not expired.
func (l *ledger) open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forgetExpired()
	return len(l.tasks)
}

// leave counts out a task that has ended, if it was counted in.
func (l *ledger) leave(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remove(name)
}

// forgetExpired counts out those that have expired. The caller holds l.mu.
func (l *ledger) forgetExpired() {
	now := time.Now()
	for name, e := range l.tasks {
		if now.After(e.expires) {
			l.remove(name)
		}
	}
}

func (l *ledger) remove(name string) {
	e, counted := l.tasks[name]
	if !counted {
		return
	}
	delete(l.tasks, name)
	if l.of[e.principal]--; l.of[e.principal] == 0 {
		delete(l.of, e.principal)
	}
}

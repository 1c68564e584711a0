package tasks

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mrtr-go/sdk/store"
)

// Waiting counts the tasks of one tool that wait for their users.
type Waiting struct {
	Tool    string
	Tasks   int
	Longest time.Duration // since the questions were there to be read
}

// Waiting counts the tasks that asked at this instance and wait for their users. A task that was
// answered at another instance still counts until it is polled here, or expires.
func (m *Manager) Waiting() []Waiting {
	w := &m.waits
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	w.forgetExpired(now)
	of := map[string]Waiting{}
	for _, one := range w.of {
		sum := of[one.tool]
		of[one.tool] = Waiting{one.tool, sum.Tasks + 1, max(sum.Longest, now.Sub(one.since))}
	}
	return slices.SortedFunc(maps.Values(of), func(a, b Waiting) int { return strings.Compare(a.Tool, b.Tool) })
}

// waits are the tasks that asked here and have no answer that this instance knows of.
type waits struct {
	mu    sync.Mutex
	of    map[string]waitingTask // by the name of the record
	crowd int                    // as many make it worth looking for expired ones
}

type waitingTask struct {
	tool           string
	since, expires time.Time
	// over is the revision that the questions were written over. Only a later record can
	// have their answers: a poll may have read an earlier one, and come by after the write.
	over store.Revision
}

// ask notes the questions that a run of this instance is about to write. If they were noted
// after the write, their answers could come by first, and the task would count until it expired.
func (w *waits) ask(key store.Key, r *record, over store.Revision) {
	if r.Status != inputRequired {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.of) >= w.crowd {
		w.forgetExpired(time.Now())
		w.crowd = max(2*len(w.of), 64)
	}
	if w.of == nil {
		w.of = map[string]waitingTask{}
	}
	w.of[key.Name] = waitingTask{tool: r.Name, since: r.Updated, expires: r.Expires, over: over}
}

// saw notes a record that came by.
func (w *waits) saw(key store.Key, r *record, at store.Revision) {
	if r.Status == inputRequired {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if one, waits := w.of[key.Name]; waits && at > one.over {
		delete(w.of, key.Name)
	}
}

// drop notes that a task's questions could not be written.
func (w *waits) drop(key store.Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.of, key.Name)
}

// forgetExpired drops those that have expired. The caller holds w.mu.
func (w *waits) forgetExpired(now time.Time) {
	maps.DeleteFunc(w.of, func(_ string, one waitingTask) bool { return now.After(one.expires) })
}

// looks are the tasks that another instance works on and that somebody has asked for here. Who
// asks need not come again: if that instance says nothing for a lease, its task goes on here. One
// goroutine looks after all of them.
type looks struct {
	mu sync.Mutex
	at map[store.Key]look
}

type look struct {
	seen store.Revision
	way  *way
}

// maxLooks bounds them. A task beyond it goes on when it is asked for again.
const maxLooks = 10_000

// lookAgain has a task looked at in a lease, if no run here holds it.
func (m *Manager) lookAgain(key store.Key, r *record, at store.Revision, w *way) {
	if r.Status != working || m.running(key) != nil {
		return
	}
	m.looks.mu.Lock()
	defer m.looks.mu.Unlock()
	if _, known := m.looks.at[key]; known || len(m.looks.at) >= maxLooks {
		return
	}
	if len(m.looks.at) == 0 && !m.look() {
		return
	}
	if m.looks.at == nil {
		m.looks.at = map[store.Key]look{}
	}
	m.looks.at[key] = look{at, w}
}

// look starts the goroutine. It is false where the manager is closed.
func (m *Manager) look() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	m.looking.Add(1)
	go func() {
		defer m.looking.Done()
		for sleep(m.ctx, m.lease) {
			if m.lookAtAll() {
				return
			}
		}
	}()
	return true
}

// lookAtAll takes over the tasks whose holder has been silent, and forgets those whose holder has
// written. It reports whether none is left.
func (m *Manager) lookAtAll() bool {
	m.looks.mu.Lock()
	at := make(map[store.Key]look, len(m.looks.at))
	for key, l := range m.looks.at {
		at[key] = l
	}
	m.looks.mu.Unlock()
	for key, l := range at {
		if !m.lookAt(key, l) {
			continue
		}
		m.looks.mu.Lock()
		delete(m.looks.at, key)
		m.looks.mu.Unlock()
	}
	m.looks.mu.Lock()
	defer m.looks.mu.Unlock()
	return len(m.looks.at) == 0
}

// lookAt reports whether a task need not be looked at any more.
func (m *Manager) lookAt(key store.Key, l look) bool {
	r, now, err := m.load(m.ctx, key)
	switch {
	case err != nil:
		return store.IsVerdict(err) // else the store is away
	case r.Status != working, now != l.seen && !r.Cancel:
		return true
	}
	return m.abandoned(key, r, now) && m.takeOver(m.ctx, key, r, l.way) == nil
}

package tasks

import (
	"sync"

	"github.com/mrtr-go/sdk/store"
)

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

// lookAgain has a task looked at in a lease, if another instance holds it.
func (m *Manager) lookAgain(key store.Key, r *record, at store.Revision, w *way) {
	if r.Status != working || !m.shared || m.running(key) != nil {
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

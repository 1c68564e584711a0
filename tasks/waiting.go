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
	of := map[string]Waiting{}
	for key, one := range w.of {
		if now.After(one.expires) {
			delete(w.of, key)
			continue
		}
		sum := of[one.tool]
		of[one.tool] = Waiting{one.tool, sum.Tasks + 1, max(sum.Longest, now.Sub(one.since))}
	}
	return slices.SortedFunc(maps.Values(of), func(a, b Waiting) int { return strings.Compare(a.Tool, b.Tool) })
}

// waits are the tasks that asked here and have no answer that this instance knows of.
type waits struct {
	mu sync.Mutex
	of map[store.Key]waitingTask
}

type waitingTask struct {
	tool           string
	since, expires time.Time
}

// wrote notes a record that a run of this instance has written.
func (w *waits) wrote(key store.Key, r *record) {
	if r.Status != inputRequired {
		w.saw(key, r)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of == nil {
		w.of = map[store.Key]waitingTask{}
	}
	w.of[key] = waitingTask{tool: r.Name, since: r.Updated, expires: r.Expires}
}

// saw notes a record that came by.
func (w *waits) saw(key store.Key, r *record) {
	if r.Status == inputRequired {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.of, key)
}

package page

import (
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// What the calls of one visitor may hold, on each instance and setting. A visitor makes a
// handful of calls; one who means harm is not to fill the memory of a public page.
const (
	maxMessage   = 64 << 10 // bytes of a message to an instance
	maxHeld      = 256      // handlers that wait
	maxHeldBytes = 1 << 20  // of their inputs and answers
)

// instanceNames are the two instances of every bench.
var instanceNames = []string{"a", "b"}

// bench belongs to one visitor: two instances of a server that share a
// key which nobody else has, and the events on them.
type bench struct {
	id        string
	events    *events
	instances map[string]*instance
	rounds    store.Store
	opener    *mrtr.Runtime // it only opens states
	closing   *sync.WaitGroup
	idle      *time.Timer

	mu      sync.Mutex
	used    time.Time
	sockets int
}

func newBench(id string, closing *sync.WaitGroup) (*bench, error) {
	keys := []statecodec.Key{statecodec.GenerateKey()}
	b := &bench{id: id, events: newEvents(), instances: map[string]*instance{}, rounds: outliving{store.NewMemory(&store.MemoryOptions{MaxBytes: 4 << 20})}, closing: closing, used: time.Now()}
	var err error
	if b.opener, err = mrtr.New(&mrtr.Options{State: &statecodec.Options{Keys: keys}}); err != nil {
		return nil, err
	}
	for _, name := range instanceNames {
		b.instances[name] = &instance{name: name, bench: b, keys: keys, stands: map[settings]*stand{}}
	}
	return b, nil
}

// outliving is a memory store that outlives the instances that use it, since they are
// killed and started inside one process.
type outliving struct{ *store.Memory }

func (outliving) Scope() store.Scope { return store.Machine }

func (b *bench) touch() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used = time.Now()
}

// usage tells when the bench was last used, and whether its visitor is there.
func (b *bench) usage() (since time.Time, inUse bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used, b.sockets > 0
}

// maxSockets bounds the connections of one visitor, who needs one for each
// instance and setting.
const maxSockets = 64

func (b *bench) takeSocket() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sockets == maxSockets {
		return false
	}
	b.sockets++
	return true
}

func (b *bench) returnSocket() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sockets--
	b.used = time.Now()
}

func (b *bench) close() {
	for _, i := range b.instances {
		i.kill()
	}
	b.closing.Go(func() { _ = b.opener.Close() })
}

// serveOpen opens a state with the bench's key, as a server does before each
// round. A client has no such endpoint anywhere else.
func serveOpen(w http.ResponseWriter, r *http.Request, b *bench) {
	var body struct {
		State     string          `json:"state"`
		Tool      string          `json:"tool"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, "The body must be an object with state, tool and arguments.", http.StatusBadRequest)
		return
	}
	payload, err := b.opener.Inspect(body.State, mrtr.SealedFor{Name: body.Tool, Arguments: body.Arguments, Principal: owner})
	var refused *statecodec.TokenError
	switch {
	case errors.As(err, &refused):
		writeJSON(w, map[string]any{"refused": refused.Reason()})
	case err != nil:
		writeJSON(w, map[string]any{"refused": "unreadable"})
	default:
		writeJSON(w, map[string]any{"payload": payload})
	}
}

package mrtr

import (
	"context"
	"hash/maphash"
	"strconv"
	"sync"
)

// registrations remember which handler serves a name. A state is bound to the method
// and the name of its target, and a handler does not know the server that it is
// registered with. So two handlers under one name, as on two servers with one
// Runtime, would take each other's states: a yes given to one would be a yes to the
// other. The second is refused, unless its audience tells them apart.
type registrations struct {
	mu     sync.RWMutex
	served map[registration]*target
	read   int // addresses of resources among them
}

type registration struct {
	method, name string
	address      uint64 // the hash of a resource's address, in place of the name
}

// maxAddresses bounds the addresses of resources that are remembered. A client can
// make up any number of them for one template; the names of tools and prompts are
// those that the program registered.
const maxAddresses = 4096

var addressSeed = maphash.MakeSeed()

// serve notes that t serves a name, and reports whether it is the only one to.
func (r *registrations) serve(method, name string, t *target) bool {
	if t.ownAudience { // the author says which handlers belong together
		return true
	}
	key := registration{method: method, name: name}
	if method == resourcesRead {
		key.name, key.address = "", maphash.String(addressSeed, name)
	}
	r.mu.RLock()
	first := r.served[key]
	r.mu.RUnlock()
	if first == nil {
		first = r.add(key, t)
	}
	return first == t
}

func (r *registrations) add(key registration, t *target) *target {
	r.mu.Lock()
	defer r.mu.Unlock()
	if first := r.served[key]; first != nil {
		return first
	}
	if key.method == resourcesRead {
		if r.read == maxAddresses {
			r.forgetAddresses()
		}
		r.read++
	}
	if r.served == nil {
		r.served = map[registration]*target{}
	}
	r.served[key] = t
	return t
}

func (r *registrations) forgetAddresses() {
	for key := range r.served {
		if key.method == resourcesRead {
			delete(r.served, key)
		}
	}
	r.read = 0
}

// misregistered refuses a request for a name that two handlers are registered under.
func (c *Call) misregistered(ctx context.Context) error {
	cause := misuse("two handlers are registered as %s %s with one Runtime: give each server a Runtime and Options.Audience of its own, or its handlers a HandlerOptions.Audience, or register one handler with both",
		c.ex.method, strconv.Quote(nameInLog(c.ex.method, c.ex.name)))
	return c.refuse(ctx, cause.Error(), cause, &refusal{
		text: "This request was refused: its server is not set up correctly.", kind: errorType(cause), cause: cause,
	})
}

// Package registry remembers which handler serves a name.
//
// A state is bound to the method and the name of its target, and a handler does not know the server
// that it is registered with. So two handlers under one name would take each other's states, and a
// yes given to one would be a yes to the other. The second is refused, unless its audience tells
// them apart.
package registry

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
)

// A Handler is a handler as a registry knows it, to be embedded.
type Handler struct {
	Name     string // of a tool that says it
	Audience string // that its states are bound to
	// OwnAudience: the author says which handlers belong together.
	OwnAudience bool

	served atomic.Pointer[string] // the last name that this was found to serve alone, nil for a resource
}

// Registered is the handler itself.
func (h *Handler) Registered() *Handler { return h }

// A Registry has the handlers of one runtime.
type Registry[H interface {
	comparable
	Registered() *Handler
}] struct {
	mu     sync.RWMutex
	served map[target]H
	read   int            // addresses of resources among them
	named  map[string][]H // the tools that say their name
}

type target struct {
	method, name string
	address      uint64 // the hash of a resource's address, in place of the name
	audience     string
}

func targetOf(method, name, audience string) target {
	if method == resourcesRead {
		return target{method: method, address: maphash.String(addressSeed, name), audience: audience}
	}
	return target{method: method, name: name, audience: audience}
}

// maxAddresses bounds the addresses of resources that are remembered. A client can make up any
// number of them for one template.
const maxAddresses = 4096

var addressSeed = maphash.MakeSeed()

const resourcesRead = "resources/read"

// Serve notes that h serves a name, and reports whether it is the only one to.
func (r *Registry[H]) Serve(method, name string, h H) bool {
	own := h.Registered()
	if last := own.served.Load(); last != nil && *last == name { // it has one method
		return true
	}
	key := targetOf(method, name, own.Audience)
	r.mu.RLock()
	first, known := r.served[key]
	r.mu.RUnlock()
	if !known {
		first = r.add(key, h)
	}
	alone := first == h || own.OwnAudience
	if alone && method != resourcesRead { // the address of a resource is forgotten
		own.served.Store(&key.name)
	}
	return alone
}

func (r *Registry[H]) add(key target, h H) H {
	r.mu.Lock()
	defer r.mu.Unlock()
	if first, known := r.served[key]; known {
		return first
	}
	if key.method == resourcesRead {
		if r.read == maxAddresses {
			r.forgetAddresses()
		}
		r.read++
	}
	if r.served == nil {
		r.served = map[target]H{}
	}
	r.served[key] = h
	return h
}

func (r *Registry[H]) forgetAddresses() {
	for key := range r.served {
		if key.method == resourcesRead {
			delete(r.served, key)
		}
	}
	r.read = 0
}

// Add notes a tool that says its name.
func (r *Registry[H]) Add(h H) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.named == nil {
		r.named = map[string][]H{}
	}
	name := h.Registered().Name
	r.named[name] = append(r.named[name], h)
}

// Find is a handler that serves a name, as far as this instance knows: one that says its name, or
// one that was asked for under it.
func (r *Registry[H]) Find(method, name, audience string) (h H, ok bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if method == "tools/call" {
		for _, h := range r.named[name] {
			if h.Registered().Audience == audience {
				return h, true
			}
		}
	}
	h, ok = r.served[targetOf(method, name, audience)]
	return h, ok
}

// Named are the tools that say a name.
func (r *Registry[H]) Named(name string) []H {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.named[name]
}

// Len counts the names and addresses that are remembered.
func (r *Registry[H]) Len() int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return len(r.served)
}

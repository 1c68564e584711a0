package contract

import (
	"os"
	"time"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/store"
)

// instancesStore is a memory store as if several instances shared it.
type instancesStore struct{ *store.Memory }

func (instancesStore) Scope() store.Scope { return store.Machine }

// SharedStore is a new one that the instances of a deployment share.
func SharedStore() store.Store { return instancesStore{store.NewMemory(nil)} }

var forcedStore = store.NewMemory(nil)

// OnForcedStore puts a store under a runtime that has none, with
//
//	MRTR_STORE=memory go test . ./options/contract
//
// The invariant and the boundary hold with a store as they do without.
func OnForcedStore(opts *mrtr.Options) *mrtr.Options {
	if os.Getenv("MRTR_STORE") != "memory" {
		return opts
	}
	var o mrtr.Options
	if opts != nil {
		o = *opts
	}
	if o.Durable != nil {
		return &o
	}
	var shared store.Store = forcedStore
	if o.State != nil && len(o.State.Keys) > 0 {
		shared = instancesStore{forcedStore}
	}
	o.Durable = durable.In(shared, &durable.Options{Patience: 100 * time.Millisecond}) // it never waits
	return &o
}

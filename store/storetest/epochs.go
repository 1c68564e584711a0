package storetest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/mrtr-go/sdk/store"
)

var epochRules = []rule{{
	name:        "the scope is one of three",
	explanation: "Scope says who shares the records: it is Process, Machine or Cluster.",
	check: func(tr *trial) error {
		if scope := tr.Store.Scope(); scope != store.Process && scope != store.Machine && scope != store.Cluster {
			return fmt.Errorf("it is %v", scope)
		}
		return nil
	},
}, {
	name:        "everybody sees one epoch",
	explanation: "All who ask an empty store for its epoch, at once and through any handle, get the same, and get it again later. It is valid in a Key.",
	check: func(tr *trial) error {
		wiped := tr.Wipe()
		handles := []store.Store{wiped}
		if tr.Another != nil {
			handles = append(handles, tr.Another())
		}
		var mu sync.Mutex
		var epochs []string
		if err := each(20, func(i int) error {
			epoch, err := handles[i%len(handles)].Epoch(tr.ctx)
			mu.Lock()
			defer mu.Unlock()
			epochs = append(epochs, epoch)
			return err
		}); err != nil {
			return err
		}
		if all := slices.Compact(epochs); len(all) != 1 {
			return fmt.Errorf("they got %q", all)
		}
		return store.Key{Epoch: epochs[0], Name: "a"}.Check()
	},
}, {
	name:        "a wiped store refuses",
	explanation: "A store that was wiped has another epoch, and answers ErrForgotten to every write under the old one. Otherwise it would take a round that ran for one that did not.",
	check: func(tr *trial) error {
		at, err := tr.create("record", "one")
		if err != nil {
			return err
		}
		s := tr.Wipe()
		// The first operation after the wipe is a write: a store that learns of it
		// in Epoch alone would let this one through.
		if err := tr.forgotten(s, tr.key("record"), at); err != nil {
			return fmt.Errorf("before anybody asked for the epoch: %w", err)
		}
		now, err := s.Epoch(tr.ctx)
		if err != nil {
			return fmt.Errorf("Epoch after the wipe: %w", err)
		}
		if now == tr.epoch {
			return fmt.Errorf("the epoch is %q as it was before", now)
		}
		if err := tr.forgotten(s, tr.key("record"), at); err != nil {
			return err
		}
		key := store.Key{Epoch: now, Name: "record"}
		at, err = s.Create(tr.ctx, key, []byte("anew"), ttl)
		if err != nil {
			return fmt.Errorf("Create in the new epoch: %w", err)
		}
		return tr.holds(s, key, []byte("anew"), at)
	},
}, {
	name:        "another store's key is refused",
	explanation: "A key with an epoch that is not the store's gets ErrForgotten, though the store has a record of that name.",
	check: func(tr *trial) error {
		at, err := tr.create("record", "one")
		if err != nil {
			return err
		}
		for _, epoch := range []string{"another", tr.epoch + "x", tr.epoch[1:], "0"} {
			if err := tr.forgotten(tr.Store, store.Key{Epoch: epoch, Name: "record"}, at); err != nil {
				return fmt.Errorf("epoch %q: %w", epoch, err)
			}
		}
		return tr.holds(tr.Store, tr.key("record"), []byte("one"), at)
	},
}}

// forgotten checks that a key of another epoch is refused. A backend in which
// something is just being deleted may leave a write without an answer, and then
// it is asked again. Only a write that is done is always wrong.
func (tr *trial) forgotten(s store.Store, key store.Key, at store.Revision) error {
	ops := []struct {
		name string
		call func(ctx context.Context) error
		want []error
	}{
		{"Create", func(ctx context.Context) error {
			_, err := s.Create(ctx, key, []byte("again"), ttl)
			return err
		}, []error{store.ErrForgotten}},
		{"Create of another name", func(ctx context.Context) error {
			_, err := s.Create(ctx, store.Key{Epoch: key.Epoch, Name: "not-there"}, []byte("again"), ttl)
			return err
		}, []error{store.ErrForgotten}},
		{"Update", func(ctx context.Context) error {
			_, err := s.Update(ctx, key, at, []byte("again"), ttl)
			return err
		}, []error{store.ErrForgotten}},
		{"Get", func(ctx context.Context) error {
			_, _, err := s.Get(ctx, key)
			return err
		}, []error{store.ErrForgotten, store.ErrNotFound}},
	}
	for _, op := range ops {
		err := tr.settled(func() error {
			ctx, cancel := context.WithTimeout(tr.ctx, promptly)
			defer cancel()
			return op.call(ctx)
		})
		if err := want(op.name, err, op.want...); err != nil {
			return err
		}
	}
	return nil
}

package storetest

import (
	"context"
	"slices"
	"sync"

	"github.com/mrtr-go/sdk/internal/fault"
	"github.com/mrtr-go/sdk/store"
)

var epochRules = []rule{{
	name:        "the scope is one of three",
	explanation: "Scope says who shares the records: it is Process, Machine or Cluster.",
	check: func(tr *trial) {
		if scope := tr.Store.Scope(); scope != store.Process && scope != store.Machine && scope != store.Cluster {
			fault.Failf("it is %v", scope)
		}
	},
}, {
	name:        "everybody sees one epoch",
	explanation: "All who ask an empty store for its epoch, at once and through any handle, get the same, and get it again later. It is valid in a Key.",
	check: func(tr *trial) {
		handles := []store.Store{tr.Wipe()}
		if tr.Another != nil {
			handles = append(handles, tr.Another())
		}
		var mu sync.Mutex
		var epochs []string
		each(20, func(i int) {
			epoch, err := handles[i%len(handles)].Epoch(tr.ctx)
			succeeds("Epoch", err)
			mu.Lock()
			defer mu.Unlock()
			epochs = append(epochs, epoch)
		})
		if all := slices.Compact(epochs); len(all) != 1 {
			fault.Failf("they got %q", all)
		}
		succeeds("a Key with it", store.Key{Epoch: epochs[0], Name: "a"}.Check())
	},
}, {
	name:        "a wiped store refuses",
	explanation: "A store that was wiped has another epoch, and answers ErrForgotten to every write under the old one. Otherwise it would take a round that ran for one that did not.",
	check: func(tr *trial) {
		at := tr.create("record", "one")
		s := tr.Wipe()
		// The first operation after the wipe is a write: a store that learns of it
		// in Epoch alone would let this one through.
		tr.forgotten("before anybody asked for the epoch", s, tr.key("record"), at)
		now, err := s.Epoch(tr.ctx)
		succeeds("Epoch after the wipe", err)
		if now == tr.epoch {
			fault.Failf("the epoch is %q as it was before", now)
		}
		tr.forgotten("after that", s, tr.key("record"), at)
		key := store.Key{Epoch: now, Name: "record"}
		at, err = s.Create(tr.ctx, key, []byte("anew"), ttl)
		succeeds("Create in the new epoch", err)
		tr.sees(s, key, "anew", at)
	},
}, {
	name:        "another store's key is refused",
	explanation: "A key with an epoch that is not the store's gets ErrForgotten, though the store has a record of that name.",
	check: func(tr *trial) {
		at := tr.create("record", "one")
		for _, epoch := range []string{"another", tr.epoch + "x", tr.epoch[1:], "0"} {
			tr.forgotten("epoch "+epoch, tr.Store, store.Key{Epoch: epoch, Name: "record"}, at)
		}
		tr.holds("record", "one", at)
	},
}}

// forgotten checks that every write under a key of another epoch is refused, and that Get
// finds nothing.
func (tr *trial) forgotten(when string, s store.Store, key store.Key, at store.Revision) {
	for name, write := range map[string]func(ctx context.Context) error{
		"Create": func(ctx context.Context) error {
			_, err := s.Create(ctx, key, []byte("again"), ttl)
			return err
		},
		"Create of another name": func(ctx context.Context) error {
			_, err := s.Create(ctx, store.Key{Epoch: key.Epoch, Name: "not-there"}, []byte("again"), ttl)
			return err
		},
		"Update": func(ctx context.Context) error {
			_, err := s.Update(ctx, key, at, []byte("again"), ttl)
			return err
		},
	} {
		want(when+", "+name, tr.settled(write), store.ErrForgotten)
	}
	want(when+", Get", tr.settled(func(ctx context.Context) error {
		_, _, err := s.Get(ctx, key)
		return err
	}), store.ErrForgotten, store.ErrNotFound)
}

var incarnationRules = []rule{{
	name:        "a handle knows how far the store has come",
	explanation: "Reached is the largest revision that the handle has seen in an epoch, and 0 in another one. A write whose key says so succeeds.",
	needs:       marked,
	check: func(tr *trial) {
		marker := tr.Store.(store.Marker)
		at := tr.update("a", tr.create("a", "one"), "two")
		tr.create("b", "one")
		key := tr.key("c")
		if key.After = marker.Reached(tr.epoch); key.After <= at {
			fault.Failf("it is %d, and another record was made after %d", key.After, at)
		}
		now, err := tr.Store.Create(tr.ctx, key, nil, ttl)
		succeeds("Create after that", err)
		if got := marker.Reached(tr.epoch); got != now {
			fault.Failf("it is %d, and the last write has %d", got, now)
		}
		if got := marker.Reached("another"); got != 0 {
			fault.Failf("it is %d in another epoch", got)
		}
	},
}, {
	name:        "a store that has gone back ends its epoch",
	explanation: "A write whose revision is not larger than the one that its key names finds that the store has lost writes. It is refused, and so is everybody else from then on. What is left is found in the next epoch, if that is one of the same contents.",
	check: func(tr *trial) {
		at := tr.create("record", "one")
		key := tr.key("lost")
		key.After = at + 1<<20 // by a state that was sealed when the store had come so far
		_, err := tr.Store.Create(tr.ctx, key, []byte("again"), ttl)
		want("Create of a record that may be lost", err, store.ErrForgotten)
		tr.ended(tr.Store, at)
	},
}, {
	name:        "a backup that is restored ends the epoch",
	explanation: "A store that was put back to an earlier moment refuses every key of the epoch: a round that ran since would run again.",
	needs:       rewound,
	check: func(tr *trial) {
		at := tr.create("record", "one")
		back := tr.Rewind()
		tr.create("lost", "one")
		s := back()
		_, err := s.Create(tr.ctx, tr.key("lost"), []byte("again"), ttl)
		want("Create of a record that was lost", err, store.ErrForgotten)
		tr.ended(s, at)
	},
}}

// ended checks that an epoch is over, and that a record of it is there still, or not at all.
func (tr *trial) ended(s store.Store, at store.Revision) {
	tr.forgotten("in the epoch that has ended", s, tr.key("record"), at)
	now, err := s.Epoch(tr.ctx)
	succeeds("Epoch", err)
	if now == tr.epoch {
		fault.Failf("the epoch is %q as it was before", now)
	}
	key := store.Key{Epoch: now, Name: "record"}
	if store.Kin(now, tr.epoch) {
		tr.sees(s, key, "one", at)
	} else {
		_, _, err := s.Get(tr.ctx, key)
		want("Get in the next epoch", err, store.ErrNotFound)
	}
	key.Name = "other"
	at, err = s.Create(tr.ctx, key, []byte("new"), ttl)
	succeeds("Create in the next epoch", err)
	tr.sees(s, key, "new", at)
}

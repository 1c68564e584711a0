package storetest

import (
	"github.com/mrtr-go/sdk/internal/fault"
	"github.com/mrtr-go/sdk/store"
)

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

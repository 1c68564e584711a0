package storetest

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mrtr-go/sdk/internal/fault"
	"github.com/mrtr-go/sdk/store"
)

const racers = 50

var raceRules = []rule{{
	name:        "one creator wins",
	explanation: "Of all who Create a key at once, one succeeds and the others get ErrExists: the winner runs the round.",
	check: func(tr *trial) {
		for _, name := range []string{"race.1", "race.2", "race.3"} {
			tr.raceToCreate(name)
		}
	},
}, {
	name:        "one creator wins after an expiry",
	explanation: "An expired record is no record: of all who Create its key at once, one succeeds.",
	check: func(tr *trial) {
		tr.createFor(store.MinTTL, "race", "expires")
		time.Sleep(store.MinTTL + tr.Slack)
		tr.raceToCreate("race")
	},
}, {
	name:        "one updater wins",
	explanation: "Of all who Update a record at one revision, one succeeds and the others get ErrConflict: the winner holds the round, the others are fenced.",
	check: func(tr *trial) {
		for _, name := range []string{"race.1", "race.2", "race.3"} {
			at := tr.create(name, "begin")
			tr.race(name, store.ErrConflict, func(s store.Store, value []byte) (store.Revision, error) {
				return s.Update(tr.ctx, tr.key(name), at, value, ttl)
			})
		}
	},
}, {
	name:        "no update is lost",
	explanation: "A value that is read and written back at the revision it was read at counts every success, whoever else writes.",
	check:       countTogether,
}, {
	name:        "a refused create shows the record",
	explanation: "A Create that is refused returns the record under its key, with its value and its revision, or says no more than that it exists: the caller goes on from it as from a Get, and would otherwise answer with another round's result.",
	check: func(tr *trial) {
		for _, name := range []string{"a", "b"} {
			at := tr.create(name, "first of "+name)
			tr.shows(name, "first of "+name, at)
			at = tr.update(name, at, "second of "+name)
			tr.shows(name, "second of "+name, at)
		}
	},
}, {
	name:        "a stale revision conflicts",
	explanation: "Update fails with ErrConflict unless the record is at this very revision, and changes nothing.",
	check: func(tr *trial) {
		first := tr.create("record", "one")
		second := tr.update("record", first, "two")
		for _, at := range []store.Revision{0, first, second + 1, 1<<63 - 1} {
			_, err := tr.Store.Update(tr.ctx, tr.key("record"), at, []byte("stale"), ttl)
			want(fmt.Sprintf("Update at %d of a record at %d", at, second), err, store.ErrConflict)
		}
		for _, at := range []store.Revision{0, first, second} {
			_, err := tr.Store.Update(tr.ctx, tr.key("nobody"), at, []byte("stale"), ttl)
			want("Update of a record that never was", err, store.ErrConflict)
		}
		_, err := tr.Store.Create(tr.ctx, tr.key("record"), []byte("again"), ttl)
		want("Create of a record that is there", err, store.ErrExists)
		_, _, err = tr.Store.Get(tr.ctx, tr.key("nobody"))
		want("Get of a record that never was", err, store.ErrNotFound)
		tr.holds("record", "two", second)
	},
}, {
	name:        "revisions never repeat",
	explanation: "No two writes of an epoch have one revision, and a later write of a key has the larger one: otherwise a holder that stood still could overwrite its successor.",
	check: func(tr *trial) {
		seen := map[store.Revision]string{}
		last := map[string]store.Revision{}
		for turn := range 10 {
			for _, name := range []string{"a", "b", "c"} {
				write := fmt.Sprintf("write %d of %s", turn, name)
				var at store.Revision
				if turn == 0 {
					at = tr.create(name, write)
				} else {
					at = tr.update(name, last[name], write)
				}
				if at <= last[name] {
					fault.Failf("%s has revision %d, after %d", write, at, last[name])
				}
				if other, twice := seen[at]; twice {
					fault.Failf("%s and %s both got revision %d", other, write, at)
				}
				seen[at], last[name] = write, at
			}
		}
	},
}, {
	name:        "revisions never repeat after an expiry",
	explanation: "A key that is created again after its record expired has a new, larger revision: an Update at the old one must not touch it.",
	check: func(tr *trial) {
		old := tr.createFor(store.MinTTL, "record", "expires")
		time.Sleep(store.MinTTL + tr.Slack)
		at := tr.create("record", "new")
		if at <= old {
			fault.Failf("the new record has revision %d, after %d", at, old)
		}
		_, err := tr.Store.Update(tr.ctx, tr.key("record"), old, []byte("from the past"), ttl)
		want("Update at the expired record's revision", err, store.ErrConflict)
		tr.holds("record", "new", at)
	},
}, {
	name:        "handles share the records",
	explanation: "A store of a machine or a cluster is shared: what one handle writes, another sees and may continue, and their revisions are one sequence.",
	needs:       secondHandle,
	check: func(tr *trial) {
		if tr.Another == nil {
			fault.Failf("the scope is %s and the Subject has no Another", tr.Store.Scope())
		}
		other := tr.Another()
		if tr.Store.Scope() == store.Process || tr.Store.Scope() != other.Scope() {
			fault.Failf("the handles' scopes are %s and %s", tr.Store.Scope(), other.Scope())
		}
		first := tr.create("record", "one")
		tr.sees(other, tr.key("record"), "one", first)
		_, err := other.Create(tr.ctx, tr.key("record"), []byte("two"), ttl)
		want("Create by the other handle", err, store.ErrExists)
		second, err := other.Update(tr.ctx, tr.key("record"), first, []byte("two"), ttl)
		succeeds("Update by the other handle", err)
		_, err = tr.Store.Update(tr.ctx, tr.key("record"), first, []byte("three"), ttl)
		want("Update at the revision before the other handle's", err, store.ErrConflict)
		if second <= first {
			fault.Failf("the other handle's revision is %d, after %d", second, first)
		}
		tr.holds("record", "two", second)
	},
}}

// shows creates a record a second time, which shows it.
func (tr *trial) shows(name, value string, at store.Revision) {
	for range 2 { // the value is the caller's: the second time it is unharmed
		_, err := tr.Store.Create(tr.ctx, tr.key(name), []byte("again"), ttl)
		want("Create of "+name, err, store.ErrExists)
		found := new(store.ExistsError)
		switch {
		case !errors.As(err, &found) && tr.Unshown:
			return
		case found.At == 0:
			fault.Failf("Create of %s: it does not show the record, and the Subject does not say so", name)
		case found.At != at || string(found.Value) != value:
			fault.Failf("Create of %s: it shows %q at revision %d, and the record is %q at %d", name, found.Value, found.At, value, at)
		}
		clear(found.Value)
	}
	tr.holds(name, value, at)
}

func (tr *trial) raceToCreate(name string) {
	tr.race(name, store.ErrExists, func(s store.Store, value []byte) (store.Revision, error) {
		return s.Create(tr.ctx, tr.key(name), value, ttl)
	})
}

// race runs many writers at once, half of them through another handle if there is
// one, and checks that one wins and its value stands.
func (tr *trial) race(name string, lost error, write func(s store.Store, value []byte) (store.Revision, error)) {
	handles := []store.Store{tr.Store}
	if tr.Another != nil {
		handles = append(handles, tr.Another())
	}
	var mu sync.Mutex
	var winners []string
	var at store.Revision
	each(racers, func(i int) {
		value := "racer " + strconv.Itoa(i)
		got, err := write(handles[i%len(handles)], []byte(value))
		if err != nil {
			want(value, err, lost)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		winners, at = append(winners, value), got
	})
	if len(winners) != 1 {
		fault.Failf("of %d racers on %s, %d won: %q", racers, name, len(winners), winners)
	}
	tr.holds(name, winners[0], at)
}

// countTogether lets many writers add to one number.
func countTogether(tr *trial) {
	const writers, additions = 8, 15
	key := tr.key("counter")
	var highest atomic.Uint64
	highest.Store(uint64(tr.create("counter", "0")))
	each(writers, func(int) {
		for done := 0; done < additions; {
			value, at, err := tr.Store.Get(tr.ctx, key)
			succeeds("Get", err)
			n, err := strconv.Atoi(string(value))
			succeeds("the number", err)
			now, err := tr.Store.Update(tr.ctx, key, at, []byte(strconv.Itoa(n+1)), ttl)
			if errors.Is(err, store.ErrConflict) {
				time.Sleep(time.Millisecond)
				continue
			}
			succeeds("Update", err)
			done++
			for before := highest.Load(); uint64(now) > before && !highest.CompareAndSwap(before, uint64(now)); before = highest.Load() {
			}
		}
	})
	tr.holds("counter", strconv.Itoa(writers*additions), store.Revision(highest.Load()))
}

package storetest

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mrtr-go/sdk/store"
)

const racers = 50

var raceRules = []rule{{
	name:        "one creator wins",
	explanation: "Of all who Create a key at once, one succeeds and the others get ErrExists: the winner runs the round.",
	check: func(tr *trial) error {
		for _, name := range []string{"race.1", "race.2", "race.3"} {
			if err := tr.race(name, store.ErrExists, func(s store.Store, value []byte) (store.Revision, error) {
				return s.Create(tr.ctx, tr.key(name), value, ttl)
			}); err != nil {
				return err
			}
		}
		return nil
	},
}, {
	name:        "one creator wins after an expiry",
	explanation: "An expired record is no record: of all who Create its key at once, one succeeds.",
	check: func(tr *trial) error {
		if _, err := tr.Store.Create(tr.ctx, tr.key("race"), []byte("expires"), store.MinTTL); err != nil {
			return err
		}
		time.Sleep(store.MinTTL + tr.Slack)
		return tr.race("race", store.ErrExists, func(s store.Store, value []byte) (store.Revision, error) {
			return s.Create(tr.ctx, tr.key("race"), value, ttl)
		})
	},
}, {
	name:        "one updater wins",
	explanation: "Of all who Update a record at one revision, one succeeds and the others get ErrConflict: the winner holds the round, the others are fenced.",
	check: func(tr *trial) error {
		for _, name := range []string{"race.1", "race.2", "race.3"} {
			at, err := tr.create(name, "begin")
			if err != nil {
				return err
			}
			if err := tr.race(name, store.ErrConflict, func(s store.Store, value []byte) (store.Revision, error) {
				return s.Update(tr.ctx, tr.key(name), at, value, ttl)
			}); err != nil {
				return err
			}
		}
		return nil
	},
}, {
	name:        "no update is lost",
	explanation: "A value that is read and written back at the revision it was read at counts every success, whoever else writes.",
	check:       countTogether,
}, {
	name:        "a refused create shows the record",
	explanation: "A Create that is refused returns the record under its key, with its value and its revision, or says no more than that it exists: the caller goes on from it as from a Get, and would otherwise answer with another round's result.",
	check:       refuseAndShow,
}, {
	name:        "a stale revision conflicts",
	explanation: "Update fails with ErrConflict unless the record is at this very revision, and changes nothing.",
	check: func(tr *trial) error {
		first, err := tr.create("record", "one")
		if err != nil {
			return err
		}
		second, err := tr.Store.Update(tr.ctx, tr.key("record"), first, []byte("two"), ttl)
		if err != nil {
			return fmt.Errorf("Update: %w", err)
		}
		for _, at := range []store.Revision{0, first, second + 1, 1<<63 - 1} {
			_, err := tr.Store.Update(tr.ctx, tr.key("record"), at, []byte("stale"), ttl)
			if err := want(fmt.Sprintf("Update at %d of a record at %d", at, second), err, store.ErrConflict); err != nil {
				return err
			}
		}
		for _, at := range []store.Revision{0, first, second} {
			_, err = tr.Store.Update(tr.ctx, tr.key("nobody"), at, []byte("stale"), ttl)
			if err := want("Update of a record that never was", err, store.ErrConflict); err != nil {
				return err
			}
		}
		_, err = tr.Store.Create(tr.ctx, tr.key("record"), []byte("again"), ttl)
		if err := want("Create of a record that is there", err, store.ErrExists); err != nil {
			return err
		}
		if _, _, err = tr.Store.Get(tr.ctx, tr.key("nobody")); !errors.Is(err, store.ErrNotFound) {
			return want("Get of a record that never was", err, store.ErrNotFound)
		}
		return tr.holds(tr.Store, tr.key("record"), []byte("two"), second)
	},
}, {
	name:        "revisions never repeat",
	explanation: "No two writes of an epoch have one revision, and a later write of a key has the larger one: otherwise a holder that stood still could overwrite its successor.",
	check: func(tr *trial) error {
		seen := map[store.Revision]string{}
		note := func(write string, at store.Revision) error {
			if other, twice := seen[at]; twice {
				return fmt.Errorf("%s and %s both got revision %d", other, write, at)
			}
			seen[at] = write
			return nil
		}
		last := map[string]store.Revision{}
		for turn := range 10 {
			for _, name := range []string{"a", "b", "c"} {
				at, err := last[name], error(nil)
				write := fmt.Sprintf("write %d of %s", turn, name)
				if turn == 0 {
					at, err = tr.create(name, write)
				} else {
					at, err = tr.Store.Update(tr.ctx, tr.key(name), at, []byte(write), ttl)
				}
				if err != nil {
					return fmt.Errorf("%s: %w", write, err)
				}
				if at <= last[name] {
					return fmt.Errorf("%s has revision %d, after %d", write, at, last[name])
				}
				last[name] = at
				if err := note(write, at); err != nil {
					return err
				}
			}
		}
		return nil
	},
}, {
	name:        "revisions never repeat after an expiry",
	explanation: "A key that is created again after its record expired has a new, larger revision: an Update at the old one must not touch it.",
	check: func(tr *trial) error {
		key := tr.key("record")
		old, err := tr.Store.Create(tr.ctx, key, []byte("expires"), store.MinTTL)
		if err != nil {
			return err
		}
		time.Sleep(store.MinTTL + tr.Slack)
		at, err := tr.create("record", "new")
		if err != nil {
			return err
		}
		if at <= old {
			return fmt.Errorf("the new record has revision %d, after %d", at, old)
		}
		_, err = tr.Store.Update(tr.ctx, key, old, []byte("from the past"), ttl)
		if err := want("Update at the expired record's revision", err, store.ErrConflict); err != nil {
			return err
		}
		return tr.holds(tr.Store, key, []byte("new"), at)
	},
}, {
	name:        "handles share the records",
	explanation: "A store of a machine or a cluster is shared: what one handle writes, another sees and may continue, and their revisions are one sequence.",
	needs:       secondHandle,
	check: func(tr *trial) error {
		if tr.Another == nil {
			return fmt.Errorf("the scope is %s and the Subject has no Another", tr.Store.Scope())
		}
		other := tr.Another()
		if tr.Store.Scope() == store.Process || tr.Store.Scope() != other.Scope() {
			return fmt.Errorf("the handles' scopes are %s and %s", tr.Store.Scope(), other.Scope())
		}
		first, err := tr.create("record", "one")
		if err != nil {
			return err
		}
		if err := tr.holds(other, tr.key("record"), []byte("one"), first); err != nil {
			return err
		}
		_, err = other.Create(tr.ctx, tr.key("record"), []byte("two"), ttl)
		if err := want("Create by the other handle", err, store.ErrExists); err != nil {
			return err
		}
		second, err := other.Update(tr.ctx, tr.key("record"), first, []byte("two"), ttl)
		if err != nil {
			return fmt.Errorf("Update by the other handle: %w", err)
		}
		_, err = tr.Store.Update(tr.ctx, tr.key("record"), first, []byte("three"), ttl)
		if err := want("Update at the revision before the other handle's", err, store.ErrConflict); err != nil {
			return err
		}
		if second <= first {
			return fmt.Errorf("the other handle's revision is %d, after %d", second, first)
		}
		return tr.holds(tr.Store, tr.key("record"), []byte("two"), second)
	},
}}

// refuseAndShow creates records a second time, before an update and after it.
func refuseAndShow(tr *trial) error {
	shown := func(name, value string, at store.Revision) error {
		for range 2 { // the value is the caller's: the second time it is unharmed
			_, err := tr.Store.Create(tr.ctx, tr.key(name), []byte("again"), ttl)
			if err := want("Create of "+name, err, store.ErrExists); err != nil {
				return err
			}
			found := new(store.ExistsError)
			switch {
			case !errors.As(err, &found) && tr.Unshown:
				return nil
			case found.At == 0:
				return fmt.Errorf("Create of %s: it does not show the record, and the Subject does not say so", name)
			case found.At != at || string(found.Value) != value:
				return fmt.Errorf("Create of %s: it shows %q at revision %d, and the record is %q at %d", name, found.Value, found.At, value, at)
			}
			clear(found.Value)
		}
		return tr.holds(tr.Store, tr.key(name), []byte(value), at)
	}
	for _, name := range []string{"a", "b"} {
		at, err := tr.create(name, "first of "+name)
		if err != nil {
			return err
		}
		if err := shown(name, "first of "+name, at); err != nil {
			return err
		}
		if at, err = tr.Store.Update(tr.ctx, tr.key(name), at, []byte("second of "+name), ttl); err != nil {
			return err
		}
		if err := shown(name, "second of "+name, at); err != nil {
			return err
		}
	}
	return nil
}

// race runs many writers at once, half of them through another handle if there is
// one, and checks that one wins and its value stands.
func (tr *trial) race(name string, lost error, write func(s store.Store, value []byte) (store.Revision, error)) error {
	handles := []store.Store{tr.Store}
	if tr.Another != nil {
		handles = append(handles, tr.Another())
	}
	var mu sync.Mutex
	var winners []string
	var at store.Revision
	if err := each(racers, func(i int) error {
		value := "racer " + strconv.Itoa(i)
		got, err := write(handles[i%len(handles)], []byte(value))
		if err != nil {
			return want(value, err, lost)
		}
		mu.Lock()
		defer mu.Unlock()
		winners, at = append(winners, value), got
		return nil
	}); err != nil {
		return err
	}
	if len(winners) != 1 {
		return fmt.Errorf("of %d racers on %s, %d won: %q", racers, name, len(winners), winners)
	}
	return tr.holds(tr.Store, tr.key(name), []byte(winners[0]), at)
}

// countTogether lets many writers add to one number.
func countTogether(tr *trial) error {
	const writers, additions = 8, 15
	key := tr.key("counter")
	at, err := tr.create("counter", "0")
	if err != nil {
		return err
	}
	var highest atomic.Uint64
	highest.Store(uint64(at))
	if err := each(writers, func(int) error {
		for done := 0; done < additions; {
			value, at, err := tr.Store.Get(tr.ctx, key)
			if err != nil {
				return fmt.Errorf("Get: %w", err)
			}
			n, err := strconv.Atoi(string(value))
			if err != nil {
				return err
			}
			now, err := tr.Store.Update(tr.ctx, key, at, []byte(strconv.Itoa(n+1)), ttl)
			switch {
			case err == nil:
				done++
				for {
					before := highest.Load()
					if uint64(now) <= before || highest.CompareAndSwap(before, uint64(now)) {
						break
					}
				}
			case errors.Is(err, store.ErrConflict):
				time.Sleep(time.Millisecond)
			default:
				return fmt.Errorf("Update: %w", err)
			}
		}
		return nil
	}); err != nil {
		return err
	}
	return tr.holds(tr.Store, key, []byte(strconv.Itoa(writers*additions)), store.Revision(highest.Load()))
}

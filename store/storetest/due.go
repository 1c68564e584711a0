package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/mrtr-go/sdk/internal/fault"
	"github.com/mrtr-go/sdk/store"
)

var dueRules = []rule{{
	name:        "a record is found when it is due",
	explanation: "Due names the records that were scheduled before a time, the earliest first and no more than were asked for, and none that is not due, was not scheduled or belongs to another epoch.",
	needs:       scheduled,
	check: func(tr *trial) {
		now := time.Now()
		var names []string
		for _, i := range []int{3, 1, 4, 0, 2} {
			name := fmt.Sprintf("due.%d", i)
			tr.schedule(name, 0, now.Add(time.Duration(i-5)*time.Hour))
			names = append(names, name)
		}
		slices.Sort(names)
		tr.schedule("later", 0, now.Add(time.Hour))
		tr.create("never", "one")
		tr.due(now, 10, names...)
		tr.due(now, 3, names[:3]...)
		tr.due(now.Add(-3*time.Hour+time.Second), 10, names[:3]...)
		tr.due(now.Add(-3*time.Hour), 10, names[:2]...) // which is before, and not at that time
		tr.due(now.Add(2*time.Hour), 10, append(names, "later")...)
	},
}, {
	name:        "an update takes a record off its schedule",
	explanation: "Schedule creates and updates as Create and Update do, and moves a record that was scheduled before. A record that is updated otherwise is not due any more: somebody came back to its call.",
	needs:       scheduled,
	check: func(tr *trial) {
		now := time.Now()
		first := tr.schedule("record", 0, now.Add(-time.Hour))
		_, err := tr.Store.(store.Scheduler).Schedule(tr.ctx, tr.key("record"), 0, nil, ttl, now)
		want("Schedule of a record that is there", err, store.ErrExists)
		second := tr.schedule("record", first, now.Add(time.Hour))
		_, err = tr.Store.(store.Scheduler).Schedule(tr.ctx, tr.key("record"), first, nil, ttl, now.Add(-time.Hour))
		want("Schedule at a stale revision", err, store.ErrConflict)
		tr.due(now, 10)
		tr.due(now.Add(2*time.Hour), 10, "record")
		tr.holds("record", "scheduled", second)
		tr.update("record", second, "taken")
		tr.due(now.Add(2*time.Hour), 10)
		tr.schedule("late", tr.create("late", "one"), now.Add(-time.Hour))
		tr.due(now, 10, "late")
	},
}, {
	name:        "an expired record is not due",
	explanation: "Due does not name a record whose time to live has passed.",
	needs:       scheduled,
	check: func(tr *trial) {
		_, err := tr.Store.(store.Scheduler).Schedule(tr.ctx, tr.key("record"), 0, nil, store.MinTTL, time.Now().Add(-time.Hour))
		succeeds("Schedule", err)
		time.Sleep(store.MinTTL + tr.Slack)
		tr.due(time.Now(), 10)
	},
}}

// schedule writes a record that is due.
func (tr *trial) schedule(name string, at store.Revision, due time.Time) store.Revision {
	now, err := tr.Store.(store.Scheduler).Schedule(tr.ctx, tr.key(name), at, []byte("scheduled"), ttl, due)
	succeeds("Schedule "+name, err)
	if now <= at {
		fault.Failf("Schedule %s has revision %d, after %d", name, now, at)
	}
	return now
}

// due checks which records are, in their order, at once or a moment later.
func (tr *trial) due(before time.Time, n int, names ...string) {
	succeeds("Due", tr.soon(func() error {
		keys, err := tr.Store.(store.Scheduler).Due(tr.ctx, before, n)
		if err != nil {
			return err
		}
		found := make([]string, len(keys))
		for i, key := range keys {
			if found[i] = key.Name; key.Epoch != tr.epoch {
				return fmt.Errorf("%s is of epoch %s", key.Name, key.Epoch)
			}
		}
		if !slices.Equal(found, names) {
			return fmt.Errorf("it names %q, not %q", found, names)
		}
		return nil
	}))
}

var clockRules = []rule{{
	name:        "one clock that is wrong ends no record",
	explanation: "A record has expired when the backend's clock and the caller's both say so. Under a clock that is ahead it is found and held, and no sweep removes it. One that was written under a clock that is behind lives its time.",
	needs:       twoClocks,
	check: func(tr *trial) {
		for _, by := range []time.Duration{-2 * time.Hour, -2 * time.Minute, 2 * time.Minute, 2 * time.Hour} {
			const brief = time.Minute
			wrong, name := tr.Ahead(by), fmt.Sprintf("record.%d", int(by.Minutes()+200))
			at := tr.createFor(brief, name, "one")
			tr.sees(wrong, tr.key(name), "one", at)
			_, err := wrong.Create(tr.ctx, tr.key(name), []byte("again"), brief)
			want("Create by a clock that is ahead by "+by.String(), err, store.ErrExists)
			if sweeper, ok := wrong.(store.Sweeper); ok {
				_, err := sweeper.Sweep(tr.ctx)
				succeeds("Sweep", err)
			}
			tr.holds(name, "one", at)
			at, err = wrong.Update(tr.ctx, tr.key(name), at, []byte("two"), brief)
			succeeds("Update by that clock", err)
			tr.holds(name, "two", at)
			_, err = tr.Store.Create(tr.ctx, tr.key(name), []byte("again"), brief)
			want("Create by the right clock", err, store.ErrExists)
		}
	},
}}

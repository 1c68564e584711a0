package storetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mrtr-go/sdk/internal/fault"
	"github.com/mrtr-go/sdk/store"
)

// life is the time to live in the rules about it. With a real clock it is what
// the suite waits for.
const life = 2 * time.Second

var expiryRules = []rule{{
	name:        "a record lives its time",
	explanation: "A record is there until its time to live has passed, and then it is gone: Get does not find it, Update conflicts, and the key can be created again. A record that went early would let its round run twice.",
	check: func(tr *trial) {
		for try := 0; tr.ctx.Err() == nil; try++ {
			name := fmt.Sprintf("record.%d", try)
			began := time.Now()
			at := tr.createFor(life, name, "one")
			tr.holds(name, "one", at)
			time.Sleep(life - 300*time.Millisecond - time.Since(began))
			_, err := tr.Store.Create(tr.ctx, tr.key(name), []byte("too early"), life)
			if time.Since(began) >= life {
				continue // the machine stood still: this proves nothing
			}
			want("Create before the time has passed", err, store.ErrExists)
			time.Sleep(life + tr.Slack - time.Since(began))
			tr.gone(name, at)
			return
		}
		fault.Failf("the machine is too slow to say")
	},
}, {
	name:        "an update renews the time",
	explanation: "After an Update the record lives its new time to live, whatever the old one was: a holder keeps its claim alive by writing it again.",
	check: func(tr *trial) {
		was := tr.create("shorter", "one")
		var longer string
		var at store.Revision
		for try := 0; at == 0; try++ {
			longer = fmt.Sprintf("longer.%d", try)
			began := time.Now()
			now, err := tr.Store.Update(tr.ctx, tr.key(longer), tr.createFor(life, longer, "one"), []byte("two"), ttl)
			if time.Since(began) < life || tr.ctx.Err() != nil { // or else the machine stood still
				succeeds("Update "+longer, err)
			}
			at = now
		}
		short := tr.updateFor(life, "shorter", was, "two")
		time.Sleep(life + max(tr.Slack, time.Second))
		tr.holds(longer, "two", at) // after the first time to live has passed
		tr.update(longer, at, "three")
		tr.gone("shorter", short)
	},
}, {
	name:        "a sweep removes what has expired",
	explanation: "Sweep removes expired records and no others, and says whether any are left: what users have said does not wait for the next call.",
	needs:       swept,
	check: func(tr *trial) {
		sweep := func(left bool) {
			got, err := tr.Store.(store.Sweeper).Sweep(tr.ctx)
			succeeds("Sweep", err)
			if got != left {
				fault.Failf("Sweep reports %t", got)
			}
		}
		for i := range 600 { // more than a store may remove at once
			tr.createFor(store.MinTTL, fmt.Sprintf("short.%d", i), "short")
		}
		long := tr.create("long", "one")
		time.Sleep(store.MinTTL + tr.Slack)
		sweep(true)
		tr.holds("long", "one", long)
		tr.updateFor(store.MinTTL, "long", long, "one")
		time.Sleep(store.MinTTL + tr.Slack)
		sweep(false)
	},
}}

// gone checks that an expired record is one no more.
func (tr *trial) gone(name string, at store.Revision) {
	succeeds("Get after the time has passed", tr.soon(func() error {
		_, _, err := tr.Store.Get(tr.ctx, tr.key(name))
		return fault.Caught(func() { want("it", err, store.ErrNotFound) })
	}))
	_, err := tr.Store.Update(tr.ctx, tr.key(name), at, []byte("too late"), life)
	want("Update after the time has passed", err, store.ErrConflict)
	tr.holds(name, "anew", tr.createFor(life, name, "anew"))
}

var limitRules = []rule{{
	name:        "a full store refuses and drops nothing",
	explanation: "A store without room answers ErrFull to a Create. It keeps every record, as a record that was dropped would let its round run again, and it takes an Update that needs no more room.",
	needs:       ownLimit,
	check: func(tr *trial) {
		s := tr.small()
		revisions := s.filled("record")
		_, err := s.Store.Create(tr.ctx, s.key("record.0"), []byte(kilobyte), ttl)
		want("Create of a record that is there", err, store.ErrExists)
		for i, at := range revisions {
			name, other := fmt.Sprintf("record.%d", i), strings.Repeat("2", len(kilobyte))
			s.holds(name, kilobyte, at)
			s.holds(name, other, s.update(name, at, other)) // which needs no more room
		}
	},
}, {
	name:        "expired records make room",
	explanation: "A full store takes records again when others have expired.",
	needs:       ownLimit,
	check: func(tr *trial) {
		s := tr.small()
		for _, name := range []string{"first", "second"} {
			for i, at := range s.filled(name) {
				s.updateFor(store.MinTTL, fmt.Sprintf("%s.%d", name, i), at, kilobyte)
			}
			time.Sleep(store.MinTTL + tr.Slack)
		}
	},
}}

var kilobyte = strings.Repeat("1", 1<<10)

// small is the trial of a store with little room.
func (tr *trial) small() *trial {
	s := tr.Small()
	epoch, err := s.Epoch(tr.ctx)
	succeeds("Epoch", err)
	return &trial{Subject: &Subject{Store: s}, ctx: tr.ctx, epoch: epoch}
}

// filled fills a store with records of a kilobyte, and returns their revisions.
func (tr *trial) filled(name string) (revisions []store.Revision) {
	for {
		at, err := tr.Store.Create(tr.ctx, tr.key(fmt.Sprintf("%s.%d", name, len(revisions))), []byte(kilobyte), ttl)
		if err != nil {
			want("Create without room", err, store.ErrFull)
			break
		}
		if revisions = append(revisions, at); len(revisions) == 100 {
			fault.Failf("it has taken a hundred records")
		}
	}
	if len(revisions) < 2 {
		fault.Failf("it was full after %d records", len(revisions))
	}
	return revisions
}

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

// Package store says how the rounds of calls are remembered, so that a round
// that comes again gets the result of the first time and runs nothing twice.
//
// A [Store] keeps small records that expire. It decides two races: of all who
// [Store.Create] a key one wins, and of all who [Store.Update] a record at one
// revision one wins. Everything else, such as the content of a record and when a
// silent holder is given up, is up to the caller and the same for every store.
//
// [Memory] is the store of one process. The others are modules of their own,
// so that nobody builds a database driver they do not use:
//
//	sqlitestore   the processes of one machine, on one file
//	natsstore     a fleet, on NATS JetStream
//	pgstore       a fleet, on PostgreSQL
//	redisstore    a fleet, on Redis
//
// Package storetest is the suite that each of them passes, and that a store of
// your own should pass.
package store

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/mrtr-go/sdk/internal/usage"
)

// A Store remembers records for a while. It is safe for concurrent use, by the
// goroutines of a process and, within its [Scope], by many processes.
//
// # Errors
//
// The errors of this package are verdicts: whoever gets one knows that nothing
// was written, and why. Any other error leaves the operation unsettled. That
// includes the errors of a context, a lost connection and a lock timeout. An
// unsettled write was done, was not done, or is still on its way and will be
// done later; it is never done in part. To settle it, look: a Create that
// answers [ErrExists] may mean the caller's own record, so a record should say
// who wrote it. A store does not repeat an unsettled write by itself, because
// the second attempt would report the first as somebody else's.
//
// An operation returns soon after its context ends.
//
// # Values
//
// A store keeps no reference to a value it is given, and a value it returns
// belongs to the caller. A value may be empty and may hold any bytes.
type Store interface {
	// Epoch returns the name of the store's present incarnation: its contents,
	// chosen at random when the store is empty, and the life they have had since.
	// A store that was wiped has another epoch, and so has one that may have lost
	// acknowledged writes: a standby that was promoted, a backup that was restored.
	// Epochs of the same contents are [Kin]. The epoch is the same for every process
	// that uses the store. A caller keeps it and passes it on in each [Key].
	//
	// Epoch asks the backend each time it is called. It begins an epoch if the
	// backend has none.
	Epoch(ctx context.Context) (string, error)

	// Create makes a record that expires after ttl, and returns its revision. A record has
	// expired when the clocks of the backend and of the caller both say so: a clock that is
	// ahead for a while must not let a round run again.
	//
	// It fails with [ErrForgotten] if the key's epoch is not the store's, with
	// [ErrExists] if there is such a record, with [ErrTooLarge] if the value
	// exceeds the store's limit, and with [ErrFull] if there is no room. The
	// backend compares the epoch in the same operation that writes, so a store
	// that is wiped in between is noticed.
	//
	// ErrExists is also the answer while another Create of the key is being
	// decided, so a Get that follows may find nothing yet. A store that reads the
	// record in the same operation returns it in an [*ExistsError], which saves the
	// caller that Get.
	Create(ctx context.Context, key Key, value []byte, ttl time.Duration) (Revision, error)

	// Update replaces the record if it is still at revision at, and returns its
	// new revision. The record now expires after ttl from this moment.
	//
	// It fails with [ErrConflict] if the record is at another revision, has
	// expired, never existed, or is being written by somebody else, and with
	// [ErrForgotten] and [ErrTooLarge] as Create does. [ErrFull] is possible:
	// but a store that is at a limit of its own takes every Update whose value
	// is not longer than the one it replaces.
	Update(ctx context.Context, key Key, at Revision, value []byte, ttl time.Duration) (Revision, error)

	// Get returns the record's value and its revision, or [ErrNotFound].
	//
	// It may lag behind the writes for a moment, also behind the caller's own:
	// it may miss a new record and return an older revision. Never decide by
	// Get alone; Create and Update decide. For a key of another epoch it
	// returns ErrNotFound or [ErrForgotten], and never a value.
	Get(ctx context.Context, key Key) ([]byte, Revision, error)

	// Scope says who shares the records. It never changes.
	Scope() Scope
}

// A Watcher is a [Store] that notices when a record changes. [Wait] uses it,
// and asks again and again if a store is none.
type Watcher interface {
	// Wait returns nil once the record's revision is larger than at, and at
	// once if it is already or if there is no such record. A nil may come too
	// early, though not time after time: look with Get. Wait returns the
	// context's error when that ends first, and ErrForgotten or any other error
	// when it cannot tell.
	Wait(ctx context.Context, key Key, at Revision) error
}

// A Sweeper is a [Store] that keeps expired records until somebody removes them. A runtime
// calls Sweep about every minute, for as long as any record is left.
type Sweeper interface {
	// Sweep removes the records that have expired, and reports whether there are others.
	// It goes on where another Sweep does the same.
	Sweep(ctx context.Context) (left bool, err error)
}

// A Scheduler is a [Store] that also finds records by a time that their writer gave them,
// such as that of a call to which nobody came back. Records without one cost nothing.
type Scheduler interface {
	// Schedule is Create at revision 0, and Update at any other, of a record that Due finds
	// once the time due has come. An Update that does not schedule it again takes that back.
	Schedule(ctx context.Context, key Key, at Revision, value []byte, ttl time.Duration, due time.Time) (Revision, error)

	// Due returns up to n keys, in the present epoch, of records that are due before a time,
	// the earliest first. It may lag as Get does, and names each record until it is written
	// again or expires: who acts on one claims it with an Update first.
	Due(ctx context.Context, before time.Time, n int) ([]Key, error)
}

// A Marker is a [Store] that knows how far it has come. Whoever keeps an epoch, such as the
// state of a call, keeps this revision with it, and returns both in a [Key].
type Marker interface {
	// Reached returns the largest revision that this handle has seen in an epoch, 0 for none.
	// It asks nobody.
	Reached(epoch string) Revision
}

// A Revision numbers the writes of a store. Within an epoch no two writes have
// the same, whatever their keys and even if the record expired in between, and
// a write that begins after another has ended has the larger one. So an Update at a
// revision is fenced: it cannot touch what somebody else wrote meanwhile. And a write
// whose revision is not larger than one that was seen before proves that the store has
// lost writes, which ends the epoch: see [Key.After]. Zero is none.
type Revision uint64

// Scope says who shares the records of a store.
type Scope int

const (
	// Process: the goroutines of one process. The records end with it.
	Process Scope = iota + 1
	// Machine: the processes of one machine. The records outlive them.
	Machine
	// Cluster: whoever reaches the backend. The records outlive them.
	Cluster
)

// String returns "process", "machine" or "cluster".
func (s Scope) String() string {
	switch s {
	case Process:
		return "process"
	case Machine:
		return "machine"
	case Cluster:
		return "cluster"
	}
	return "scope " + strconv.Itoa(int(s))
}

// Wait waits, with any store, until the record is no longer at revision at. It
// is the store's own Wait if it is a [Watcher]. Otherwise it looks with Get,
// at first soon and then every quarter of a second. Its errors are
// Watcher's.
func Wait(ctx context.Context, s Store, key Key, at Revision) error {
	if watcher, ok := s.(Watcher); ok {
		return watcher.Wait(ctx, key, at)
	}
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 250*time.Millisecond) {
		_, now, err := s.Get(ctx, key)
		switch {
		case errors.Is(err, ErrNotFound):
			return nil
		case err != nil:
			return err
		case now > at:
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// The verdicts of a store. Each says that nothing was written. Backends wrap
// them, so compare with [errors.Is].
var (
	// ErrExists: Create found a record under the key.
	ErrExists = errors.New("the record exists")
	// ErrConflict: the record is not at the revision that Update named.
	ErrConflict = errors.New("the record is not at this revision")
	// ErrNotFound: there is no such record, or Get does not see it yet.
	ErrNotFound = errors.New("no such record")
	// ErrForgotten: the store's contents are not those that the key is about.
	// The store was wiped, or it is another store.
	ErrForgotten = errors.New("the store has lost what this key is about")
	// ErrFull: there is no room. Records that expire make some.
	ErrFull = errors.New("the store is full")
	// ErrTooLarge: the value is longer than the store takes.
	ErrTooLarge = errors.New("the value is too large")
)

// ExistsError is an [ErrExists] with the record that is there, as it was at a moment of
// the Create that found it. The value belongs to the caller.
type ExistsError struct {
	Value []byte
	At    Revision
}

// Error is that of ErrExists.
func (*ExistsError) Error() string { return ErrExists.Error() }

// Unwrap returns ErrExists.
func (*ExistsError) Unwrap() error { return ErrExists }

// IsVerdict reports whether err settles an operation: it is one of the errors
// above or a [*UsageError]. After any other error a write may have been done,
// or may yet be.
func IsVerdict(err error) bool {
	verdicts := []error{ErrExists, ErrConflict, ErrNotFound, ErrForgotten, ErrFull, ErrTooLarge}
	return errors.As(err, new(*UsageError)) ||
		slices.ContainsFunc(verdicts, func(verdict error) bool { return errors.Is(err, verdict) })
}

// UsageError reports misuse: the code that calls the store has to change.
// Nothing was written.
type UsageError = usage.Error

// Misuse returns a [*UsageError]. It is for those who write a store.
func Misuse(format string, args ...any) error { return usage.New("store", format, args...) }

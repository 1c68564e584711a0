package store

import (
	"bytes"
	"cmp"
	"container/heap"
	"context"
	"crypto/rand"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"
)

// DefaultMaxBytes is how much a [Memory] keeps unless its options say otherwise.
const DefaultMaxBytes = 64 << 20

// MemoryOptions bounds a [Memory]. The zero value is good for most.
type MemoryOptions struct {
	// MaxBytes bounds the records together, each counted with its name and the
	// book-keeping. A record that does not fit is refused with [ErrFull]: to drop an
	// older record instead would let its round run again. Zero means
	// [DefaultMaxBytes].
	MaxBytes int
	// MaxValue bounds a value. Zero means [DefaultMaxValue], or MaxBytes if
	// that is less.
	MaxValue int
}

// Memory is the [Store] of one process. Its records end with it, so a state
// that was sealed by an earlier process is refused with [ErrForgotten].
//
// It has no goroutine and needs no closing. Expired records are removed by Sweep, and by
// the writes that follow.
type Memory struct {
	maxBytes, maxValue int

	// mu guards the fields below, and the records.
	mu      sync.Mutex
	epoch   string
	ended   int                // epochs
	records map[string]*record // by name
	expiry  byExpiry           // the same
	due     map[*record]time.Time
	bytes   int // their size
	last    Revision
}

// perRecord is roughly the memory of a record beside its name and its value.
const perRecord = 256

// sweepAtOnce bounds how many expired records a write removes, so that no
// write pays for a whole burst of them. It is more than one, so that the
// expired do not pile up.
const sweepAtOnce = 16

// epochLen is enough of a random text (65 bits) to tell one Memory from another. The
// epoch is part of each state that relies on it, so that a shorter one saves its bytes
// on the wire.
const epochLen = 13

// NewMemory returns an empty store. It panics if a limit is negative or too
// small for any record at all, as that is a mistake in the program's text.
func NewMemory(opts *MemoryOptions) *Memory {
	var o MemoryOptions
	if opts != nil {
		o = *opts
	}
	o.MaxBytes = cmp.Or(o.MaxBytes, DefaultMaxBytes)
	limit, err := MaxValue(o.MaxValue)
	longest := o.MaxBytes - perRecord - MaxName
	switch {
	case longest <= 0:
		panic(Misuse("MaxBytes is %d: no record fits", o.MaxBytes))
	case err != nil:
		panic(err)
	case o.MaxValue > longest:
		panic(Misuse("MaxValue is %d: such a record does not fit in MaxBytes %d", o.MaxValue, o.MaxBytes))
	}
	return &Memory{
		epoch: rand.Text()[:epochLen], maxBytes: o.MaxBytes, maxValue: min(limit, longest), records: map[string]*record{}, due: map[*record]time.Time{},
	}
}

// Scope is [Process].
func (m *Memory) Scope() Scope { return Process }

// Epoch returns a name of this Memory alone.
func (m *Memory) Epoch(ctx context.Context) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.epoch, ctx.Err()
}

// Reached implements [Marker].
func (m *Memory) Reached(epoch string) Revision {
	m.mu.Lock()
	defer m.mu.Unlock()
	if epoch != m.epoch {
		return 0
	}
	return m.last
}

// Create implements [Store].
func (m *Memory) Create(ctx context.Context, key Key, value []byte, ttl time.Duration) (Revision, error) {
	return m.Schedule(ctx, key, 0, value, ttl, time.Time{})
}

// Update implements [Store].
func (m *Memory) Update(ctx context.Context, key Key, at Revision, value []byte, ttl time.Duration) (Revision, error) {
	if at == 0 { // which no record has, and Create takes for none
		at = math.MaxUint64
	}
	return m.Schedule(ctx, key, at, value, ttl, time.Time{})
}

// Schedule implements [Scheduler].
func (m *Memory) Schedule(ctx context.Context, key Key, at Revision, value []byte, ttl time.Duration, due time.Time) (Revision, error) {
	if err := CheckWrite(key, value, m.maxValue, ttl); err != nil {
		return 0, err
	}
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.knows(ctx, key); err != nil {
		return 0, err
	}
	if m.last < key.After { // its key is of this epoch, and no revision is lost here
		m.ended++
		m.epoch = EpochOf(Contents(m.epoch), strconv.Itoa(m.ended))
		return 0, ErrForgotten
	}
	write := m.update
	if at == 0 {
		write = m.create
	}
	r, err := write(key.Name, at, value, now)
	if err != nil {
		return 0, err
	}
	m.last++
	r.value, r.revision, r.expires = bytes.Clone(value), m.last, now.Add(ttl)
	heap.Fix(&m.expiry, r.index)
	delete(m.due, r)
	if !due.IsZero() {
		m.due[r] = due
	}
	r.announce()
	return r.revision, nil
}

func (m *Memory) create(name string, _ Revision, value []byte, now time.Time) (*record, error) {
	m.sweep(now, 0)
	if r := m.live(name, now); r != nil {
		return nil, &ExistsError{bytes.Clone(r.value), r.revision}
	}
	if old := m.records[name]; old != nil { // expired, and not swept yet
		m.remove(old)
	}
	size := len(name) + len(value) + perRecord
	if m.sweep(now, size); size > m.maxBytes-m.bytes {
		return nil, ErrFull
	}
	r := &record{name: name, expires: now}
	m.records[name] = r
	heap.Push(&m.expiry, r)
	m.bytes += size
	return r, nil
}

func (m *Memory) update(name string, at Revision, value []byte, now time.Time) (*record, error) {
	r := m.live(name, now)
	if r == nil || r.revision != at {
		return nil, ErrConflict
	}
	more := len(value) - len(r.value)
	if m.sweep(now, more); more > 0 && more > m.maxBytes-m.bytes {
		return nil, ErrFull
	}
	m.bytes += more
	return r, nil
}

// Due implements [Scheduler].
func (m *Memory) Due(ctx context.Context, before time.Time, n int) ([]Key, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var due []*record
	for r, at := range m.due {
		if at.Before(before) && m.live(r.name, time.Now()) != nil {
			due = append(due, r)
		}
	}
	slices.SortFunc(due, func(a, b *record) int { return m.due[a].Compare(m.due[b]) })
	keys := make([]Key, min(len(due), n))
	for i := range keys {
		keys[i] = Key{Epoch: m.epoch, Name: due[i].name}
	}
	return keys, nil
}

// Get implements [Store]. It never lags.
func (m *Memory) Get(ctx context.Context, key Key) ([]byte, Revision, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.admit(ctx, key); err != nil {
		return nil, 0, err
	}
	r := m.live(key.Name, time.Now())
	if r == nil {
		return nil, 0, ErrNotFound
	}
	return bytes.Clone(r.value), r.revision, nil
}

// Wait implements [Watcher]. It also returns when the record expires.
func (m *Memory) Wait(ctx context.Context, key Key, at Revision) error {
	now := time.Now()
	m.mu.Lock()
	if err := m.admit(ctx, key); err != nil {
		m.mu.Unlock()
		return err
	}
	r := m.live(key.Name, now)
	if r == nil || r.revision > at {
		m.mu.Unlock()
		return nil
	}
	changed, left := r.watch(), r.expires.Sub(now)
	m.mu.Unlock()
	expired := time.NewTimer(left)
	defer expired.Stop()
	select {
	case <-changed:
		return nil
	case <-expired.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Sweep implements [Sweeper].
func (m *Memory) Sweep(ctx context.Context) (left bool, err error) {
	for now := time.Now(); ctx.Err() == nil; {
		m.mu.Lock()
		before := len(m.expiry)
		m.sweep(now, 0)
		after := len(m.expiry)
		m.mu.Unlock()
		if before-after < sweepAtOnce {
			return after > 0, nil
		}
	}
	return true, ctx.Err()
}

// admit returns why a read cannot begin. The caller holds m.mu.
func (m *Memory) admit(ctx context.Context, key Key) error {
	if err := key.Check(); err != nil {
		return err
	}
	return m.knows(ctx, key)
}

// knows returns an error if the operation is over, or if the key is of another store. The
// caller holds m.mu.
func (m *Memory) knows(ctx context.Context, key Key) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if key.Epoch != m.epoch {
		return ErrForgotten
	}
	return nil
}

func (m *Memory) live(name string, now time.Time) *record {
	if r := m.records[name]; r != nil && now.Before(r.expires) {
		return r
	}
	return nil
}

// sweep removes expired records: a few, and as many more as it takes to make
// room for so many bytes.
func (m *Memory) sweep(now time.Time, room int) {
	for removed := 0; len(m.expiry) > 0 && !now.Before(m.expiry[0].expires); removed++ {
		if removed >= sweepAtOnce && room <= m.maxBytes-m.bytes {
			return
		}
		m.remove(m.expiry[0])
	}
}

func (m *Memory) remove(r *record) {
	heap.Remove(&m.expiry, r.index)
	delete(m.records, r.name)
	delete(m.due, r)
	m.bytes -= len(r.name) + len(r.value) + perRecord
	r.announce()
}

// record is one record of a [Memory].
type record struct {
	name     string
	value    []byte
	revision Revision
	expires  time.Time
	index    int           // its place in byExpiry
	changed  chan struct{} // nil while nobody waits
}

// watch returns a channel that is closed at the record's next change.
func (r *record) watch() <-chan struct{} {
	if r.changed == nil {
		r.changed = make(chan struct{})
	}
	return r.changed
}

func (r *record) announce() {
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// byExpiry is a heap of records, the first to expire on top.
type byExpiry []*record

func (h byExpiry) Len() int           { return len(h) }
func (h byExpiry) Less(i, j int) bool { return h[i].expires.Before(h[j].expires) }
func (h byExpiry) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *byExpiry) Push(x any) {
	r := x.(*record)
	r.index = len(*h)
	*h = append(*h, r)
}

func (h *byExpiry) Pop() any {
	last := len(*h) - 1
	r := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return r
}

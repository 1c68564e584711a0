package storetest

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/mrtr-go/sdk/store"
)

type toyRecord struct {
	value    []byte
	revision store.Revision
	expires  time.Time
	since    int
	due      time.Time
}

func (s *toy) live(name string) *toyRecord {
	r := s.records[name]
	if r == nil || !s.early().Before(r.expires) && !s.is("nothing expires") {
		return nil
	}
	return r
}

// early is the earlier of the two clocks.
func (s *toy) early() time.Time {
	if s.is("the caller's clock is enough") {
		return time.Now().Add(s.ahead)
	}
	return time.Now().Add(min(s.ahead, 0))
}

// late is the later one.
func (s *toy) late() time.Time {
	if s.is("a record lives from the caller's clock") {
		return time.Now().Add(s.ahead)
	}
	return time.Now().Add(max(s.ahead, 0))
}

func (s *toy) fits(more int) bool {
	if !s.small {
		return true
	}
	size := more
	for name, r := range s.records {
		if s.live(name) != nil || s.is("the expired take up room") {
			size += len(r.value)
		}
	}
	return size <= toyRoom
}

func (s *toy) put(ctx context.Context, name string, value []byte, ttl time.Duration) store.Revision {
	r := s.records[name]
	if r == nil {
		r = &toyRecord{since: len(s.records)}
		s.records[name] = r
	}
	if !s.is("a revision is used twice when the context ends") || ctx.Err() == nil {
		s.last++
	}
	r.revision++
	if !s.is("revisions count a record's writes") {
		r.revision = s.last
	}
	switch {
	case s.is("a value is cut to the limit"):
		value = value[:min(len(value), toyMaxValue)]
	case s.is("values are text"):
		value = bytes.ToValidUTF8(value, []byte("?"))
	case s.is("values end at a zero"):
		value, _, _ = bytes.Cut(value, []byte{0})
	case s.is("half a value is written when the context ends") && ctx.Err() != nil:
		value = value[:len(value)/2]
	}
	if r.value = value; !s.is("the caller's value is kept") {
		r.value = bytes.Clone(value)
	}
	switch {
	case s.is("records go early"):
		ttl /= 2
	case s.is("an update does not renew") && !r.expires.IsZero():
		ttl = time.Until(r.expires)
	}
	if r.expires = s.late().Add(ttl); !s.is("an update stays due") {
		r.due = time.Time{}
	}
	s.wake()
	return r.revision
}

func (s *toy) wake() {
	waiting := s.waiting
	if s.is("only the writer's handle wakes") {
		waiting = s.mine
	}
	for ch := range waiting {
		close(ch)
		delete(s.waiting, ch)
		delete(s.mine, ch)
		if s.is("one waiter wakes") {
			return
		}
	}
}

func (s *toy) Create(ctx context.Context, key store.Key, value []byte, ttl time.Duration) (store.Revision, error) {
	return s.write(ctx, key, value, ttl, s.create, time.Time{})
}

func (s *toy) Update(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration) (store.Revision, error) {
	return s.write(ctx, key, value, ttl, s.update(at), time.Time{})
}

func (s *toy) Schedule(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration, due time.Time) (store.Revision, error) {
	if at == 0 || s.is("schedule creates only") {
		return s.write(ctx, key, value, ttl, s.create, due)
	}
	return s.write(ctx, key, value, ttl, s.update(at), due)
}

// write writes a record unless may says why not.
func (s *toy) write(ctx context.Context, key store.Key, value []byte, ttl time.Duration, may func(name string, value []byte) error, due time.Time) (store.Revision, error) {
	if err := s.check(key, value, ttl); err != nil {
		return 0, err
	}
	if !s.is("the caller's value is kept") {
		value = bytes.Clone(value)
	}
	var at store.Revision // which a late attempt sets too
	err := s.operate(ctx, func() error {
		name := s.name(key)
		if s.strange(key) {
			return store.ErrForgotten
		}
		if s.last < key.After && !s.is("it is believed that it has not gone back") {
			s.next()
			return store.ErrForgotten
		}
		if err := may(name, value); err != nil {
			return err
		}
		at = s.put(ctx, name, value, ttl)
		if !due.IsZero() {
			s.records[name].due = due
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return at, nil
}

func (s *toy) create(name string, value []byte) error {
	switch {
	case s.live(name) != nil && !s.is("create replaces"):
		return s.show(name)
	case !s.fits(len(value)) && s.is("the oldest is dropped"):
		s.dropOldest()
	case !s.fits(len(value)) && !s.is("there is always room"):
		return store.ErrFull
	}
	if s.live(name) == nil {
		delete(s.records, name)
	}
	return nil
}

func (s *toy) update(at store.Revision) func(name string, value []byte) error {
	return func(name string, value []byte) error {
		r := s.live(name)
		switch {
		case r == nil && !s.is("update creates"):
			return store.ErrConflict
		case r != nil && r.revision != at && !s.is("update ignores the revision"):
			return store.ErrConflict
		case !s.fits(len(value)) && s.is("an update needs room of its own"):
			return store.ErrFull
		}
		return nil
	}
}

func (s *toy) Due(ctx context.Context, before time.Time, n int) ([]store.Key, error) {
	var keys []store.Key
	err := s.operate(ctx, func() error {
		for name, r := range s.records {
			due := r.due.Before(before) || s.is("a record is due at its time") && r.due.Equal(before)
			if !r.due.IsZero() && due && (s.live(name) != nil || s.is("an expired record is due")) {
				keys = append(keys, store.Key{Epoch: s.epoch, Name: name})
			}
		}
		slices.SortFunc(keys, func(a, b store.Key) int {
			order := s.records[a.Name].due.Compare(s.records[b.Name].due)
			if s.is("the last is due first") {
				return -order
			}
			return order
		})
		return nil
	})
	if err != nil {
		return nil, err
	}
	if !s.is("all that is due is named") {
		keys = keys[:min(n, len(keys))]
	}
	return keys, nil
}

// show refuses a Create.
func (s *toy) show(name string) error {
	r := s.records[name]
	found := &store.ExistsError{Value: bytes.Clone(r.value), At: r.revision}
	switch {
	case s.is("a refused create says nothing"):
		return store.ErrExists
	case s.is("a refused create shows another record"):
		other := slices.Min(slices.Collect(maps.Keys(s.records)))
		found.Value = bytes.Clone(s.records[other].value)
	case s.is("a refused create shows an old revision"):
		found.At = 1
	case s.is("a refused create hands out its own value"):
		found.Value = r.value
	}
	return found
}

func (s *toy) dropOldest() {
	var oldest string
	for name, r := range s.records {
		if oldest == "" || r.since < s.records[oldest].since {
			oldest = name
		}
	}
	delete(s.records, oldest)
}

func (s *toy) Get(ctx context.Context, key store.Key) ([]byte, store.Revision, error) {
	if err := key.Check(); err != nil && !s.is("any key is taken") {
		return nil, 0, err
	}
	var value []byte
	var at store.Revision
	err := s.operate(ctx, func() error {
		r := s.live(s.name(key))
		strange := s.strange(key) && !s.is("a read ignores the epoch")
		if strange || r == nil || len(r.value) == 0 && s.is("an empty value is none") {
			return store.ErrNotFound
		}
		if value, at = r.value, r.revision; !s.is("its own value is handed out") {
			value = slices.Clone(r.value)
		}
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	return value, at, nil
}

func (s *toy) Sweep(ctx context.Context) (left bool, err error) {
	err = s.operate(ctx, func() error {
		for name := range s.records {
			if s.is("a sweep removes everything") || s.live(name) == nil && !s.is("a sweep removes nothing") {
				delete(s.records, name)
			}
		}
		left = len(s.records) > 0
		return nil
	})
	return left, err
}

func (s *toy) Wait(ctx context.Context, key store.Key, at store.Revision) error {
	if err := key.Check(); err != nil {
		return err
	}
	if s.is("wait returns at once") {
		return nil
	}
	ch := make(chan struct{})
	done := false
	var expires time.Time
	if err := s.operate(ctx, func() error {
		r := s.live(s.name(key))
		if done = r == nil || r.revision > at; done && !s.is("wait does not look first") && !s.is("wait never returns") {
			return nil
		}
		if done = false; r != nil {
			expires = r.expires
		}
		s.waiting[ch], s.mine[ch] = true, true
		return nil
	}); err != nil || done {
		return err
	}
	expired := time.After(time.Until(expires))
	if s.is("an expiry wakes nobody") || s.is("wait never returns") || expires.IsZero() {
		expired = nil
	}
	if s.is("wait never returns") {
		<-ctx.Done()
		return ctx.Err()
	}
	select {
	case <-ch:
		return nil
	case <-expired:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

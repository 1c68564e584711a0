package claim

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/mrtr-go/sdk/internal/jsontext"
	"github.com/mrtr-go/sdk/store"
)

// Notice says that the record of a turn has a letter for the instance that holds a frame.
type Notice struct {
	Turn  store.Key // in the epoch of the inbox
	Frame string
}

// inboxRecord is all that the store keeps of an inbox.
type inboxRecord struct {
	open    bool
	beat    int // in milliseconds by the clock of its instance, and larger each time it writes
	notices []Notice
}

// maxNotices bounds those that an instance has not read yet.
const maxNotices = 4096

func (r *inboxRecord) append() []byte {
	w := jsontext.Begin(nil, "v", recordFormat)
	w.Flag("open", r.open)
	w.Number("beat", r.beat)
	if len(r.notices) > 0 {
		w.List("notices")
		for i, n := range r.notices {
			w.Object(i, "turn", n.Turn.Name)
			w.Text("frame", n.Frame)
			w.EndObject()
		}
		w.EndList()
	}
	return w.End()
}

func decodeInbox(b []byte, epoch string) (r inboxRecord, _ error) {
	in, format := jsontext.Open(b, "v")
	r.open = in.Flag("open")
	r.beat = in.Number("beat")
	if in.List("notices") {
		for i := 0; in.Object(i); i++ {
			r.notices = append(r.notices, Notice{store.Key{Epoch: epoch, Name: in.First("turn")}, in.Text("frame")})
			in.EndObject()
		}
	}
	if format != recordFormat || !in.End() {
		return inboxRecord{}, errOtherRelease
	}
	return r, nil
}

func (t *Table) readInbox(ctx context.Context, key store.Key) (r inboxRecord, at store.Revision, _ error) {
	value, at, err := t.read(ctx, key)
	if err == nil {
		r, err = decodeInbox(value, key.Epoch)
	}
	return r, at, err
}

// writeInbox writes the record of an inbox, which outlives a silent instance by a lease. At
// revision 0 it makes one.
func (t *Table) writeInbox(ctx context.Context, key store.Key, at store.Revision, r *inboxRecord) (store.Revision, error) {
	value, err := t.seal(key, r.append())
	if err != nil {
		return 0, err
	}
	ctx, cancel := t.bounded(ctx)
	defer cancel()
	ttl := max(t.Lease, store.MinTTL)
	if at == 0 {
		return t.Store.Create(ctx, key, value, ttl)
	}
	return t.Store.Update(ctx, key, at, value, ttl)
}

// Inbox is the one record by which an instance hears of the letters to it, however many
// handlers it holds. Its instance writes it every third of a lease, so that nobody waits
// for one that is dead.
type Inbox struct {
	Key   store.Key
	table *Table
	take  func(context.Context, Notice)

	// Of one goroutine at a time.
	at   store.Revision // 0 where there is no record
	open bool
	beat int
	seen map[Notice]bool // of those in the record

	stop   context.CancelFunc
	closed chan struct{}
}

// OpenInbox begins to listen. It calls take for each notice, on a goroutine of its own. The
// store may know of the inbox only later, if it fails now.
func (t *Table) OpenInbox(ctx context.Context, key store.Key, take func(context.Context, Notice)) *Inbox {
	i := &Inbox{Key: key, table: t, take: take, seen: map[Notice]bool{}, closed: make(chan struct{})}
	_ = i.put(ctx, true)
	listening, stop := context.WithCancel(t.ctx)
	i.stop = stop
	go func() {
		defer close(i.closed)
		i.listen(listening)
	}()
	return i
}

// Close tells the others that nobody listens any more, and takes the last notices.
func (i *Inbox) Close(ctx context.Context) {
	i.stop()
	<-i.closed
	_ = i.put(ctx, false)
}

func (i *Inbox) listen(ctx context.Context) {
	beat := i.table.Lease / 3
	next := time.Now().Add(beat)
	for ctx.Err() == nil {
		err := i.table.wait(ctx, i.Key, i.at, max(time.Until(next), 0))
		if err == nil && i.at != 0 && time.Now().Before(next) {
			err = i.read(ctx)
		}
		if err == nil && (i.at == 0 || !i.open || len(i.seen) >= maxNotices/16 || !time.Now().Before(next)) {
			next = time.Now().Add(beat)
			err = i.put(ctx, true)
		}
		if errors.Is(err, store.ErrForgotten) { // and all calls with it
			return
		}
		if err != nil && i.table.pause(ctx, lastPause, time.Now().Add(time.Hour)) != nil {
			return
		}
	}
}

// read takes the notices that have come.
func (i *Inbox) read(ctx context.Context) error {
	r, at, err := i.table.readInbox(ctx, i.Key)
	switch {
	case errors.Is(err, store.ErrNotFound):
		i.at = 0
		return nil
	case err != nil, at <= i.at: // Get lags behind
		return err
	}
	i.at, i.open = at, r.open
	for _, n := range r.notices {
		if !i.seen[n] {
			i.seen[n] = true
			i.table.later(func(ctx context.Context) { i.take(ctx, n) })
		}
	}
	return nil
}

// put writes the record without the notices that were taken.
func (i *Inbox) put(ctx context.Context, open bool) error {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		i.beat = max(i.beat+1, int(time.Now().UnixMilli()))
		at, err := i.table.writeInbox(ctx, i.Key, i.at, &inboxRecord{open: open, beat: i.beat})
		if err == nil {
			i.at, i.open = at, open
			clear(i.seen)
			return nil
		}
		if !errors.Is(err, store.ErrExists) && !errors.Is(err, store.ErrConflict) {
			return err
		}
		if err := i.read(ctx); err != nil {
			return err
		}
		if err := i.table.pause(ctx, pause, time.Now().Add(lastPause)); err != nil {
			return err
		}
	}
}

// listens reports whether the instance of an inbox is alive. One without
// an inbox counts as dead, and finds that out when it writes again.
func (t *Table) listens(ctx context.Context, key store.Key) (bool, error) {
	until := time.Now().Add(t.Patience)
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		r, _, err := t.readInbox(ctx, key)
		if err == nil {
			return t.isAlive(key, &r), nil
		}
		if !errors.Is(err, store.ErrNotFound) {
			return false, err
		}
		if _, err = t.writeInbox(ctx, key, 0, &inboxRecord{}); !errors.Is(err, store.ErrExists) {
			return false, err
		}
		if err := t.pause(ctx, pause, until); err != nil { // Get lags behind
			return false, err
		}
	}
}

// isAlive judges an instance by its beats, on the reader's clock.
func (t *Table) isAlive(key store.Key, r *inboxRecord) bool {
	since := t.seen.Note(key, store.Revision(r.beat))
	return r.open && time.Since(since) < t.Lease && time.Since(time.UnixMilli(int64(r.beat))) <= t.Lease+2*t.Skew
}

// outbox has the notices that wait for a write of this process: one write carries all of
// those for one inbox.
type outbox struct {
	writing chan struct{} // a lock that waits for the store
	mu      sync.Mutex
	waiting map[store.Key]*batch
}

type batch struct {
	notices []Notice
	done    chan struct{}
	listens bool
	err     error
}

// notify puts a notice into an inbox. It reports whether its instance is alive.
func (t *Table) notify(ctx context.Context, key store.Key, n Notice) (listens bool, _ error) {
	o := &t.outbox
	o.mu.Lock()
	b := o.waiting[key]
	first := b == nil
	if first {
		b = &batch{done: make(chan struct{})}
		o.waiting[key] = b
	}
	b.notices = append(b.notices, n)
	o.mu.Unlock()
	if first {
		t.later(func(ctx context.Context) { t.carry(ctx, key, b) })
	}
	select {
	case <-b.done:
		return b.listens, b.err
	case <-ctx.Done():
		return false, ctx.Err()
	case <-t.ctx.Done():
		return false, t.ctx.Err()
	}
}

// carry writes the notices that have gathered for an inbox.
func (t *Table) carry(ctx context.Context, key store.Key, b *batch) {
	defer close(b.done)
	o := &t.outbox
	o.writing <- struct{}{}
	defer func() { <-o.writing }()
	o.mu.Lock()
	delete(o.waiting, key)
	o.mu.Unlock()
	until := time.Now().Add(t.Patience)
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		r, at, err := t.readInbox(ctx, key)
		switch {
		case errors.Is(err, store.ErrNotFound):
			return
		case err == nil && !t.isAlive(key, &r):
			return
		case err == nil && len(r.notices) >= maxNotices:
			err = errors.New("the inbox is full")
		case err == nil:
			r.notices = append(r.notices, b.notices...)
			_, err = t.writeInbox(ctx, key, at, &r)
		}
		if err == nil {
			b.listens = true
			return
		}
		if !errors.Is(err, store.ErrConflict) || t.pause(ctx, pause, until) != nil {
			b.err = err
			return
		}
	}
}

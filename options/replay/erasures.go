package replay

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// secret is in all that a call holds: its arguments, its answers, its effects and their values, its
// visit, its approval, its questions and its result.
const secret = "by the window"

// Erasure is a call that is erased as it stands. Whatever it has left goes with it. A round that runs is
// said to, and loses nothing. A call that waits is ended first if there is anything to undo.
type Erasure struct {
	undoes bool
	play   func(d *desk)
	ends   string // the status of its task
	says   string // the task, besides
	did    []string
}

// Erasures are those that hold with every store.
var Erasures = map[string]Erasure{
	"completed": {true, func(d *desk) {
		close(d.goesOn)
		d.goOn()
		require.Equal(d, "completed", d.settle().Status)
	}, "completed", "no longer kept", []string{"hold"}},
	"running": {true, func(d *desk) {
		d.goOn()
		_, err := d.erase()
		require.ErrorContains(d, err, "still running")
		close(d.goesOn)
		end := d.settle()
		require.Equal(d, "completed", end.Status, string(end.raw))
		require.Contains(d, string(end.raw), secret)
	}, "completed", "no longer kept", []string{"hold"}},
	"waiting, with nothing to undo": {false, func(*desk) {}, "failed", "erased", []string{"hold"}},
	"waiting, with an effect":       {true, func(*desk) {}, "failed", "erased", []string{"hold", "unhold"}},
}

// Hold plays the call and erases it. A dump is all that the store shows of its records.
func (c Erasure) Hold(t *testing.T, s store.Store, dump func() []byte) {
	records := keepAll(s)
	d := newDesk(t, records, statecodec.GenerateKey(), "", c.undoes)
	d.waits()
	require.Greater(t, len(records.left(dump())), 1, "the task and its visit at least")
	c.play(d)
	n, err := d.erase()
	require.NoError(t, err)
	require.Positive(t, n)
	require.Empty(t, records.left(dump()))
	end := d.get()
	require.Equal(t, c.ends, end.Status)
	require.Contains(t, string(end.raw), c.says)
	require.Equal(t, c.did, d.did)
	again, err := d.erase()
	require.NoError(t, err)
	require.Zero(t, again)
	require.Empty(t, records.left(dump()))
}

// history is a store that keeps all that was ever written to it.
type history struct {
	store.Store
	scheduler store.Scheduler

	mu      sync.Mutex
	erases  bool                // guarded by mu
	written map[string][][]byte // by the name of the record; guarded by mu
}

func keepAll(s store.Store) *history {
	return &history{Store: s, scheduler: s.(store.Scheduler), written: map[string][][]byte{}}
}

// keep keeps a value. What an erasure leaves of a record is sealed as well, and says nothing.
func (h *history) keep(key store.Key, value []byte, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil && !(h.erases && h.seals()) {
		h.written[key.Name] = append(h.written[key.Name], bytes.Clone(value))
	}
}

func (h *history) erasing(is bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.erases = is
}

// seals reports whether the records leave the process.
func (h *history) seals() bool { return h.Scope() != store.Process }

// left names the records of which a dump shows a value with the secret, or any part of a sealed one. An
// approval is its caller's, and no call's.
func (h *history) left(dump []byte) (names []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, values := range h.written {
		if !strings.HasPrefix(name, "gate.") && slices.ContainsFunc(values, func(value []byte) bool { return h.shows(dump, value) }) {
			names = append(names, name)
		}
	}
	return names
}

// A sealed value is looked for by parts of it, behind what begins all of them.
const sealHead, part = 64, 32

func (h *history) shows(dump, value []byte) bool {
	if !h.seals() {
		return bytes.Contains(value, []byte(secret)) && bytes.Contains(dump, value)
	}
	for ; len(value) >= sealHead+part; value = value[part:] {
		if bytes.Contains(dump, value[sealHead:sealHead+part]) {
			return true
		}
	}
	return false
}

func (h *history) Create(ctx context.Context, key store.Key, value []byte, ttl time.Duration) (store.Revision, error) {
	at, err := h.Store.Create(ctx, key, value, ttl)
	h.keep(key, value, err)
	return at, err
}

func (h *history) Update(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration) (store.Revision, error) {
	now, err := h.Store.Update(ctx, key, at, value, ttl)
	h.keep(key, value, err)
	return now, err
}

func (h *history) Schedule(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration, due time.Time) (store.Revision, error) {
	now, err := h.scheduler.Schedule(ctx, key, at, value, ttl, due)
	h.keep(key, value, err)
	return now, err
}

func (h *history) Due(ctx context.Context, before time.Time, n int) ([]store.Key, error) {
	return h.scheduler.Due(ctx, before, n)
}

func (h *history) Wait(ctx context.Context, key store.Key, at store.Revision) error {
	return store.Wait(ctx, h.Store, key, at)
}

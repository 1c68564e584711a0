package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/fault"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/store"
)

// A record of any bytes is refused or read; one that is read can be shown and written again,
// and taken on with any answers.
func FuzzRecord(f *testing.F) {
	now := time.Unix(1_800_000_000, 0).UTC()
	for _, r := range []*record{
		{Name: "a", Status: working, Created: now, Updated: now, Expires: now.Add(time.Hour), Holder: "h", State: "s"},
		{Name: "a", Status: completed, Result: json.RawMessage(`{"content":[]}`), Expires: now},
		{Name: "a", Status: failed, Error: json.RawMessage(`{"code":1}`), Expires: now},
		{
			Name: "a", Status: inputRequired, Expires: now, Round: 2, Meta: json.RawMessage(`{"a":1}`), Arguments: json.RawMessage(`{}`),
			Open: map[string]question{"k-2": {Key: "k", Request: json.RawMessage(`{"method":"elicitation/create"}`)}},
		},
	} {
		b, err := r.encode()
		require.NoError(f, err)
		f.Add(b, []byte(`{"k-2":{"action":"accept","content":{}}}`))
	}
	f.Add([]byte(`{"v":1}`), []byte(`{"":null}`))
	f.Add([]byte(`{"v":2,"name":"a","status":"working"}`), []byte(`[]`))
	f.Fuzz(func(t *testing.T, text, answers []byte) {
		r, ok := decodeRecord(text)
		if !ok {
			return
		}
		first, err := r.encode()
		require.NoError(t, err)
		again, ok := decodeRecord(first)
		require.True(t, ok)
		second, err := again.encode()
		require.NoError(t, err)
		require.Equal(t, string(first), string(second))
		_, err = json.Marshal(r.show("id", time.Second))
		require.NoError(t, err)
		responses, ok := (&params{InputResponses: answers}).responses()
		if !ok {
			return
		}
		r.answer(responses)
		if r.answered() {
			r.proceed("holder")
			require.Equal(t, working, r.Status)
			_, _ = r.params()
		}
	})
}

// A clock that is two hours ahead or behind ends no record, and keeps none for longer.
func TestARecordOutlivesAWrongClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		records := store.NewMemory(nil)
		m := &Manager{store: records, patience: time.Second, skew: time.Minute, o: Options{TTL: time.Hour}}
		for name, left := range map[string]time.Duration{"ahead": -time.Hour, "behind": 3 * time.Hour, "right": time.Hour} {
			key := store.Key{Epoch: fault.Must(records.Epoch(t.Context())), Name: name}
			_, err := m.save(t.Context(), key, &record{Name: name, Status: completed, Created: time.Now().Add(left - time.Hour), Expires: time.Now().Add(left)}, 0)
			require.NoError(t, err)
			time.Sleep(59 * time.Minute)
			_, _, err = m.load(t.Context(), key)
			require.NoError(t, err)
			time.Sleep(2 * time.Minute)
			_, _, err = m.load(t.Context(), key)
			require.ErrorIs(t, err, store.ErrNotFound)
		}
	})
}

// unheard is a store that does its next update, and says that it did not.
type unheard struct {
	*store.Memory
	meanwhile func()
}

func (s *unheard) Update(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration) (store.Revision, error) {
	now, err := s.Memory.Update(ctx, key, at, value, ttl)
	if s.meanwhile == nil {
		return now, err
	}
	s.meanwhile()
	s.meanwhile = nil
	return 0, errors.New("connection lost")
}

// A task that is cancelled between a write and its confirmation is cancelled for whoever made the write.
func TestACancelBesideAWriteThatNobodyConfirmed(t *testing.T) {
	records := store.NewMemory(nil)
	s := &unheard{Memory: records}
	here := &Manager{store: s, patience: time.Second, skew: time.Minute, o: Options{TTL: time.Hour}}
	there := &Manager{store: records, patience: time.Second, skew: time.Minute, o: Options{TTL: time.Hour}}
	key := store.Key{Epoch: fault.Must(records.Epoch(t.Context())), Name: "task"}
	_, err := here.save(t.Context(), key, &record{Name: "a", Status: working, Created: time.Now(), Expires: time.Now().Add(time.Hour)}, 0)
	require.NoError(t, err)
	s.meanwhile = func() {
		_, _, err := there.change(t.Context(), key, func(r *record) bool { r.Cancel = true; return true })
		require.NoError(t, err)
	}
	r, at, err := here.change(t.Context(), key, func(r *record) bool { r.Holder = "here"; return true })
	require.NoError(t, err)
	require.True(t, r.Cancel)
	_, err = here.save(t.Context(), key, r, at)
	require.NoError(t, err, "it is the last revision")
}

// An instance whose clock contradicts a task leaves it to others: it refuses answers for now, and takes
// nothing over.
func TestATaskOfAnotherTimeIsLeftAlone(t *testing.T) {
	for clock, ahead := range map[string]time.Duration{"behind": 2 * time.Hour, "ahead": -2 * time.Hour} {
		t.Run(clock, func(t *testing.T) {
			m := &Manager{store: store.NewMemory(nil), patience: time.Second, lease: time.Minute, skew: time.Minute, o: Options{TTL: time.Hour}}
			key := store.Key{Epoch: fault.Must(m.store.Epoch(t.Context())), Name: "task"}
			created := time.Now().Add(ahead)
			waits := &record{Name: "a", Status: inputRequired, Created: created, Expires: created.Add(time.Hour), Open: map[string]question{"k": {Key: "k"}}}
			_, err := m.save(t.Context(), key, waits, 0)
			require.NoError(t, err)
			answers := map[string]json.RawMessage{"k": json.RawMessage(`{"action":"decline"}`)}
			require.Equal(t, storeFailed(), unreachable(t.Context(), m.update(t.Context(), key, answers, &way{})))
			require.Equal(t, storeFailed(), unreachable(t.Context(), m.cancel(t.Context(), key, &way{})))
			r, at, err := m.load(t.Context(), key)
			require.NoError(t, err)
			require.Equal(t, inputRequired, r.Status)
			r.Status, r.Open = working, nil // and let go of
			_, err = m.save(t.Context(), key, r, at)
			require.NoError(t, err)
			require.NoError(t, m.takeOver(t.Context(), key, r, &way{}))
			r, _, err = m.load(t.Context(), key)
			require.NoError(t, err)
			require.Empty(t, r.Holder)
		})
	}
}

// The id of a task that an instance made whose clock was behind is good for as long as its record.
func TestAnIDLastsAsLongAsItsRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt, err := mrtr.New(&mrtr.Options{Durable: durable.In(store.NewMemory(nil), nil)})
		require.NoError(t, err)
		defer rt.Close()
		m := &Manager{o: Options{Runtime: rt, TTL: time.Hour}, patience: time.Second}
		require.NoError(t, m.keep())
		id, key, err := m.name(t.Context(), "ann", "")
		require.NoError(t, err)
		time.Sleep(3 * time.Hour)
		found, err := m.find(id, "ann")
		require.NoError(t, err)
		require.Equal(t, key, found)
		_, err = m.find(id, "eve")
		require.Error(t, err)
	})
}

// Params of any shape name a task or none, and have answers or none.
func FuzzParams(f *testing.F) {
	for _, seed := range []string{
		`{"taskId":"a"}`, `{"taskId":7}`, `{"taskId":null,"inputResponses":null}`, `{}`, `{"taskId":"a","inputResponses":{"k-1":{"action":"accept","content":{"k":"v"}}}}`,
		`{"taskId":"a","inputResponses":[]}`, `{"taskId":"a","inputResponses":{"k":7,"l":null,"m":{"roots":[]},"n":{"role":"user","content":{"type":"text","text":"t"},"model":"m"}}}`,
	} {
		f.Add([]byte(seed))
	}
	m, err := Install(mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil), nil)
	require.NoError(f, err)
	f.Cleanup(func() { require.NoError(f, m.Close()) })
	f.Fuzz(func(t *testing.T, text []byte) {
		var p params
		if json.Unmarshal(text, &p) != nil {
			return
		}
		p.Meta = mcp.Meta{
			mcp.MetaKeyProtocolVersion:    "2026-07-28",
			mcp.MetaKeyClientCapabilities: map[string]any{"extensions": map[string]any{Extension: map[string]any{}}},
		}
		for _, method := range []string{tasksGet, tasksUpdate, tasksCancel} {
			_, err := m.serve(t.Context(), nil, method, &mcp.ServerRequest[*params]{Params: &p})
			var refused *jsonrpc.Error
			require.ErrorAs(t, err, &refused)
			require.EqualValues(t, jsonrpc.CodeInvalidParams, refused.Code)
		}
		answers, ok := p.responses()
		require.Equal(t, ok, answers != nil)
		for _, answer := range answers {
			readable(answer)
		}
	})
}

// A caller with large results does not push out the small ones of others that nobody knows either.
// The last result is there to be read, however large it is.
func TestTheLargestResultsGiveWay(t *testing.T) {
	var e ended
	end := func(call string, size int) (gone []string) {
		tasks, _ := e.add("", endedTask{call: call, bytes: size, expires: time.Now().Add(time.Hour)})
		for _, one := range tasks {
			gone = append(gone, one.call)
		}
		return gone
	}
	for range 1000 {
		require.Empty(t, end("small", 4<<10))
	}
	large := 0
	for range 50 {
		for _, call := range end("large", 1<<20) {
			require.Equal(t, "large", call)
			large++
		}
	}
	require.Greater(t, large, 30)
	require.NotContains(t, end("larger", 2<<20), "larger")
}

// Kept is how many tasks are kept as waiting, expired ones among them.
func (m *Manager) Kept() int {
	m.waits.mu.Lock()
	defer m.waits.mu.Unlock()
	return len(m.waits.of)
}

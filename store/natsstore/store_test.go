//go:build unix

package natsstore_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/store/natsstore"
	"github.com/mrtr-go/sdk/store/natsstore/natstest"
	"github.com/mrtr-go/sdk/store/storetest"
)

// slack is the time the server takes to remove expired records.
const slack = 4 * time.Second

func TestStore(t *testing.T) {
	srv := runServer(t, &server.Options{})
	storetest.Run(t, func(t *testing.T) *storetest.Subject { return newSubject(t, srv) }, nil)
}

func newSubject(t *testing.T, srv *server.Server) *storetest.Subject {
	proxy := storetest.NewProxy(t, srv.Addr().String())
	s := subjectAt(t, "nats://"+proxy.Addr(), srv.ClientURL(), &natsstore.Options{MaxBytes: 1 << 20})
	s.HoldRequests, s.HoldAnswers, s.Cut = proxy.HoldRequests, proxy.HoldAnswers, proxy.Cut
	return s
}

// subjectAt is a stream of its own, seen from two addresses.
func subjectAt(t *testing.T, one, other string, opts *natsstore.Options) *storetest.Subject {
	const limit = 100_000
	opts.Stream, opts.MaxValue, opts.Linger = streamName(t), limit, time.Nanosecond
	s, direct := open(t, connect(t, one), opts), connect(t, other)
	return &storetest.Subject{
		Store:    s,
		MaxValue: limit,
		Another:  func() store.Store { return open(t, direct, opts) },
		Wipe: func() store.Store {
			require.NoError(t, jetStream(t, direct).DeleteStream(t.Context(), opts.Stream))
			return s
		},
		Unshown: true, // JetStream names the sequence of the record that is there, and not its value
		Slack:   slack,
	}
}

// Records that were settled cost Due one look each: the next one asks for those that are due alone.
func TestDueRetiresWhatWasSettled(t *testing.T) {
	const settled = 300
	nc := connect(t, runServer(t, &server.Options{}).ClientURL())
	s := open(t, nc, nil)
	s.RetireAfter(0)
	long := time.Now().Add(-time.Hour)
	for i := range settled {
		key := storetest.KeyOf(t, s, fmt.Sprint("settled", i))
		at, err := s.Schedule(t.Context(), key, 0, nil, time.Hour, long)
		require.NoError(t, err)
		_, err = s.Update(t.Context(), key, at, nil, time.Hour)
		require.NoError(t, err)
	}
	due := storetest.KeyOf(t, s, "due")
	_, err := s.Schedule(t.Context(), due, 0, nil, time.Hour, long.Add(time.Minute))
	require.NoError(t, err)
	looks := func() (requests uint64) {
		before := nc.Stats().OutMsgs
		keys, err := s.Due(t.Context(), time.Now(), 10)
		require.NoError(t, err)
		require.Equal(t, []store.Key{due}, keys)
		return nc.Stats().OutMsgs - before
	}
	require.Greater(t, looks(), uint64(settled))
	s.RetireAfter(time.Hour) // what replaces them goes by itself
	require.Eventually(t, func() bool { return looks() < 10 }, 30*time.Second, 100*time.Millisecond)
}

// A stream that was deleted, and made again by somebody else before this handle
// noticed, is another epoch.
func TestAStreamMadeAnewIsAnotherEpoch(t *testing.T) {
	nc := connect(t, runServer(t, &server.Options{}).ClientURL())
	storetest.Lose(t, open(t, nc, nil), func() {
		require.NoError(t, jetStream(t, nc).DeleteStream(t.Context(), "MRTR_ROUNDS"))
		open(t, nc, nil)
	})
}

// However many open a store that is not there, the stream is made and finished once.
func TestManyMakeOneStream(t *testing.T) {
	nc := connect(t, runServer(t, &server.Options{}).ClientURL())
	for try := range 5 {
		epochs := make(chan string, 16)
		for range cap(epochs) {
			go func() {
				epoch := ""
				s, err := natsstore.Open(t.Context(), nc, &natsstore.Options{Stream: fmt.Sprint("S", try)})
				if err == nil {
					epoch, err = s.Epoch(t.Context())
				}
				if err != nil {
					t.Error(err)
				}
				epochs <- epoch
			}()
		}
		one := <-epochs
		for range cap(epochs) - 1 {
			require.Equal(t, one, <-epochs)
		}
	}
}

func TestStreamCannotBePurged(t *testing.T) {
	srv := runServer(t, &server.Options{})
	nc := connect(t, srv.ClientURL())
	s := open(t, nc, nil)
	key := storetest.KeyOf(t, s, "record")
	at, err := s.Create(t.Context(), key, []byte("one"), time.Minute)
	require.NoError(t, err)
	stream, err := jetStream(t, nc).Stream(t.Context(), "MRTR_ROUNDS")
	require.NoError(t, err)
	require.Error(t, stream.Purge(t.Context()))
	require.Error(t, stream.DeleteMsg(t.Context(), uint64(at)))
	_, _, err = s.Get(t.Context(), key)
	require.NoError(t, err)
}

// A waiter hears of a change, and does not only look now and then, which is what
// it does every half second.
func TestWaitIsTold(t *testing.T) {
	srv := runServer(t, &server.Options{})
	writer := open(t, connect(t, srv.ClientURL()), nil)
	s := open(t, connect(t, srv.ClientURL()), nil)
	key := storetest.KeyOf(t, s, "record")
	at, err := s.Create(t.Context(), key, nil, time.Minute)
	require.NoError(t, err)
	var took []time.Duration
	for range 20 {
		waits := make(chan error, 1)
		go func() { waits <- s.Wait(t.Context(), key, at) }()
		time.Sleep(20 * time.Millisecond)
		next, err := writer.Update(t.Context(), key, at, nil, time.Minute)
		require.NoError(t, err)
		changed := time.Now()
		require.NoError(t, <-waits)
		took = append(took, time.Since(changed))
		at = next
	}
	slices.Sort(took)
	require.Less(t, took[len(took)/2], 250*time.Millisecond, "most of them, also on a busy machine: %v", took)
}

// A stream that could lose records and keep its epoch is refused.
func TestUnfitStreamsAreRefused(t *testing.T) {
	srv := runServer(t, &server.Options{})
	nc := connect(t, srv.ClientURL())
	js := jetStream(t, nc)
	// A server that is deleting its last stream may fail to make the next one, so
	// let there be another.
	open(t, nc, nil)
	made := 0
	for explanation, change := range map[string]func(*jetstream.StreamConfig){
		"":              func(*jetstream.StreamConfig) {},
		"not on disk":   func(c *jetstream.StreamConfig) { c.Storage = jetstream.MemoryStorage },
		"drops old":     func(c *jetstream.StreamConfig) { c.Discard, c.MaxMsgs = jetstream.DiscardOld, 10 },
		"age limit":     func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour },
		"were read":     func(c *jetstream.StreamConfig) { c.Retention = jetstream.InterestPolicy },
		"do not expire": func(c *jetstream.StreamConfig) { c.AllowMsgTTL = false },
		"direct gets":   func(c *jetstream.StreamConfig) { c.AllowDirect = false },
		"purged":        func(c *jetstream.StreamConfig) { c.DenyPurge = false },
		"more than":     func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 2 },
		"several":       func(c *jetstream.StreamConfig) { c.Subjects = append(c.Subjects, "other") },
		"subject is":    func(c *jetstream.StreamConfig) { c.Subjects[0] = "other.>" },
	} {
		made++
		config := jetstream.StreamConfig{
			Name: fmt.Sprintf("MINE_%d", made), Subjects: []string{fmt.Sprintf("mrtr.rounds.E%d.>", made)}, Storage: jetstream.FileStorage, Discard: jetstream.DiscardNew,
			MaxMsgsPerSubject: 1, AllowMsgTTL: true, AllowDirect: true, DenyDelete: true, DenyPurge: true,
		}
		change(&config)
		_, err := js.CreateStream(t.Context(), config)
		require.NoError(t, err, explanation)
		_, err = natsstore.Open(t.Context(), nc, &natsstore.Options{Stream: config.Name})
		if explanation == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, explanation)
			require.False(t, store.IsVerdict(err), err)
		}
		require.NoError(t, js.DeleteStream(t.Context(), config.Name)) // its subjects would be in the way
	}
}

func TestFullStreamRefusesAndDropsNothing(t *testing.T) {
	srv := runServer(t, &server.Options{})
	s := open(t, connect(t, srv.ClientURL()), &natsstore.Options{MaxBytes: 20 << 10})
	var keys []store.Key
	var err error
	for err == nil {
		key := storetest.KeyOf(t, s, fmt.Sprintf("record.%d", len(keys)))
		if _, err = s.Create(t.Context(), key, make([]byte, 1<<10), time.Minute); err == nil {
			keys = append(keys, key)
		}
	}
	require.ErrorIs(t, err, store.ErrFull)
	require.Greater(t, len(keys), 5)
	for _, key := range keys {
		_, _, err := s.Get(t.Context(), key)
		require.NoError(t, err)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	srv := runServer(t, &server.Options{MaxPayload: 64 << 10})
	nc := connect(t, srv.ClientURL())
	var usage *store.UsageError
	for explanation, opts := range map[string]*natsstore.Options{
		"MaxValue is -1": {MaxValue: -1},
		"max_payload":    {MaxValue: 64 << 10},
		"Replicas":       {Replicas: -1},
		"MaxBytes":       {MaxBytes: -1},
	} {
		_, err := natsstore.Open(t.Context(), nc, opts)
		require.ErrorAs(t, err, &usage, explanation)
		require.ErrorContains(t, err, explanation)
	}
	buffering, err := nats.Connect(srv.ClientURL())
	require.NoError(t, err)
	defer buffering.Close()
	_, err = natsstore.Open(t.Context(), buffering, nil)
	require.ErrorAs(t, err, &usage)
	require.ErrorContains(t, err, "nats.ReconnectBufSize(-1)")
	_, err = natsstore.Open(t.Context(), nil, nil)
	require.ErrorAs(t, err, &usage)
}

func TestServerWithoutJetStream(t *testing.T) {
	srv := natstest.Run(t, &server.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, err := natsstore.Open(ctx, connect(t, srv.ClientURL()), nil)
	require.Error(t, err)
	require.False(t, store.IsVerdict(err), err)
}

// A server that is still busy with a write of the record refuses the next one, which says
// nothing about the revision: it is said again, and an answer that stays away is no verdict.
func TestARecordThatIsBusyIsNoConflict(t *testing.T) {
	nc := connect(t, runServer(t, &server.Options{}).ClientURL())
	s := open(t, nc, nil)
	key := storetest.KeyOf(t, s, "record")
	stream, err := jetStream(t, nc).Stream(t.Context(), "MRTR_ROUNDS")
	require.NoError(t, err)
	answered := stream.CachedInfo().State.LastSeq + 7
	require.NoError(t, jetStream(t, nc).DeleteStream(t.Context(), "MRTR_ROUNDS"))
	var writes, busyFor atomic.Int32
	busyFor.Store(3)
	responder := connect(t, nc.ConnectedUrl())
	_, err = responder.Subscribe("mrtr.rounds.>", func(m *nats.Msg) {
		answer := fmt.Sprintf(`{"stream":"MRTR_ROUNDS","seq":%d}`, answered)
		if writes.Add(1) <= busyFor.Load() {
			answer = `{"error":{"code":400,"err_code":10164,"description":"wrong last sequence"}}`
		}
		require.NoError(t, m.Respond([]byte(answer)))
	})
	require.NoError(t, err)
	require.NoError(t, responder.Flush())
	at, err := s.Create(t.Context(), key, []byte("one"), time.Minute)
	require.NoError(t, err)
	require.Equal(t, store.Revision(answered), at)
	require.EqualValues(t, 4, writes.Load())

	busyFor.Store(math.MaxInt32)
	_, err = s.Update(t.Context(), key, at, []byte("two"), time.Minute)
	require.Error(t, err)
	require.False(t, store.IsVerdict(err), "%v", err)
}

func open(t testing.TB, nc *nats.Conn, opts *natsstore.Options) *natsstore.Store {
	t.Helper()
	s, err := natsstore.Open(t.Context(), nc, opts)
	require.NoError(t, err)
	return s
}

func connect(t testing.TB, url string) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(url, nats.ReconnectBufSize(-1), nats.IgnoreDiscoveredServers(), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	return nc
}

func jetStream(t testing.TB, nc *nats.Conn) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	return js
}

func runServer(t testing.TB, opts *server.Options) *server.Server {
	t.Helper()
	opts.JetStream = true
	return natstest.Run(t, opts)
}

// streamName makes one that is allowed of the test's name.
func streamName(t testing.TB) string {
	return "T" + strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' {
			return r
		}
		return '_'
	}, t.Name())
}

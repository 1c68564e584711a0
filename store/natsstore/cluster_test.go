//go:build unix

package natsstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/store/natsstore"
	"github.com/mrtr-go/sdk/store/natsstore/natstest"
	"github.com/mrtr-go/sdk/store/storetest"
)

// The suite again with three replicas, which refuse with other codes and answer
// a Get from whichever is nearest.
func TestClusterPassesTheSuite(t *testing.T) {
	servers := natstest.Cluster(t)
	storetest.Run(t, func(t *testing.T) *storetest.Subject {
		return subjectAt(t, servers[0].ClientURL(), servers[1].ClientURL(), &natsstore.Options{Replicas: 3})
	}, nil)
}

// While the stream has no leader nothing is granted and nothing is forgotten.
// When it has one again, nothing is granted twice and nothing is lost.
func TestClusterLosesItsLeader(t *testing.T) {
	leader, stores := replicated(t)
	epoch := storetest.KeyOf(t, stores[0], "record").Epoch

	const names = 60
	type claim struct {
		by int
		at store.Revision
	}
	var mu sync.Mutex
	claims := map[string][]claim{}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			s := stores[i%len(stores)]
			for n := range names {
				key := store.Key{Epoch: epoch, Name: fmt.Sprintf("record.%d", n)}
				for settled := false; !settled && t.Context().Err() == nil; {
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					at, err := s.Create(ctx, key, []byte(fmt.Sprint(i)), 10*time.Minute)
					cancel()
					settled = err == nil || store.IsVerdict(err)
					if err == nil {
						mu.Lock()
						claims[key.Name] = append(claims[key.Name], claim{i, at})
						mu.Unlock()
					} else if settled {
						if !errors.Is(err, store.ErrExists) {
							t.Errorf("%s: %v", key.Name, err)
						}
					}
				}
				if i == 0 && n == names/3 {
					leader.Shutdown()
				}
			}
		})
	}
	wg.Wait()
	granted := 0
	for name, who := range claims {
		require.Lenf(t, who, 1, "%s was granted to %v", name, who)
		granted++
		require.Eventually(t, func() bool {
			value, at, err := stores[0].Get(t.Context(), store.Key{Epoch: epoch, Name: name})
			return err == nil && at == who[0].at && string(value) == fmt.Sprint(who[0].by)
		}, 10*time.Second, 20*time.Millisecond, name)
	}
	// A Create whose answer was lost with the leader may have been done: then its
	// record has no owner, and nobody was granted that name.
	require.GreaterOrEqual(t, granted, names-8)
}

// A stream that one disk would take away is refused, at Open and when it becomes one.
func TestTooFewReplicasAreRefused(t *testing.T) {
	nc := connect(t, natstest.Cluster(t)[0].ClientURL())
	var usage *store.UsageError
	one := natsstore.Options{Stream: "ONE"}
	_, err := natsstore.Open(t.Context(), nc, &one)
	require.ErrorAs(t, err, &usage)
	require.ErrorContains(t, err, "one replica in a cluster")
	one.AcceptLoss = true
	open(t, nc, &one)
	_, err = natsstore.Open(t.Context(), nc, &natsstore.Options{Stream: "ONE", Replicas: 3})
	require.ErrorAs(t, err, &usage)
	require.ErrorContains(t, err, "has 1 replicas, and Replicas is 3")

	s := open(t, nc, &natsstore.Options{Stream: "THREE", Replicas: 3})
	key := storetest.KeyOf(t, s, "record")
	stream, err := jetStream(t, nc).Stream(t.Context(), "THREE")
	require.NoError(t, err)
	config := stream.CachedInfo().Config
	config.Replicas = 1
	_, err = jetStream(t, nc).UpdateStream(t.Context(), config)
	require.NoError(t, err)
	s.LookAgain()
	_, err = s.Create(t.Context(), key, nil, time.Minute)
	require.ErrorAs(t, err, &usage)
}

// A writer that is alone with its record never loses to itself.
func TestClusterLetsAWriterGoOn(t *testing.T) {
	leader, _ := replicated(t)
	s := open(t, connect(t, leader.ClientURL()), &natsstore.Options{Replicas: 3})
	key := storetest.KeyOf(t, s, "record")
	at, err := s.Create(t.Context(), key, []byte("one"), time.Minute)
	require.NoError(t, err)
	for n := range 2000 {
		at, err = s.Update(t.Context(), key, at, []byte("more"), time.Minute)
		require.NoError(t, err, "update %d", n)
	}
}

// replicated returns the leader of a stream with three replicas, and the stores of two
// instances that are connected to the others.
func replicated(t *testing.T) (leader *server.Server, stores []store.Store) {
	t.Helper()
	servers, opts := natstest.Cluster(t), &natsstore.Options{Replicas: 3}
	nc := connect(t, servers[0].ClientURL())
	open(t, nc, opts)
	stream, err := jetStream(t, nc).Stream(t.Context(), "MRTR_ROUNDS")
	require.NoError(t, err)
	for _, srv := range servers {
		if srv.Name() == stream.CachedInfo().Cluster.Leader {
			leader = srv
		} else {
			stores = append(stores, open(t, connect(t, srv.ClientURL()), opts))
		}
	}
	require.NotNil(t, leader)
	return leader, stores
}

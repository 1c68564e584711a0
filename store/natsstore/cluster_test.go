//go:build unix

package natsstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/store/natsstore"
	"github.com/mrtr-go/sdk/store/storetest"
	"github.com/mrtr-go/sdk/store/storetest/crashtest"
)

// The suite again with three replicas, which refuse with other codes and answer
// a Get from whichever is nearest.
func TestClusterPassesTheSuite(t *testing.T) {
	servers := runCluster(t)
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

// The stream's leader is lost while calls are made at two instances. A request is answered
// within half a minute meanwhile too, and each call ends with one receipt for one payment.
func TestOutageOfTheLeader(t *testing.T) {
	const calls, longest = 30, 30 * time.Second
	leader, stores := replicated(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	all, row := crashtest.NewInstances(t), crashtest.Find("journal")
	instances := []*crashtest.Client{all.Start(stores[0], row, nil), all.Start(stores[1], row, nil)}
	refusals := map[crashtest.Answer]int{}
	for i := range calls {
		order := fmt.Sprintf("order-%d", i)
		request, err := instances[i%2].Ask(ctx, order)
		require.NoError(t, err)
		if i == calls/3 {
			go leader.Shutdown()
		}
		for answered := false; !answered; {
			began := time.Now()
			a, err := instances[rand.IntN(2)].Send(ctx, request)
			require.NoError(t, err)
			require.Less(t, time.Since(began), longest)
			if answered = a.Class == "ok"; answered {
				require.Equal(t, order, a.Receipt.Order)
				continue
			}
			require.Equal(t, "retryable", a.Class)
			refusals[a]++
			time.Sleep(100 * time.Millisecond)
		}
	}
	time.Sleep(time.Second) // for writes that were held up
	paid := map[string]int{}
	for _, receipt := range all.Paid() {
		paid[receipt.Order]++
		require.Equal(t, 1, paid[receipt.Order], receipt.Order)
	}
	require.Len(t, paid, calls)
	t.Logf("%d calls, refused meanwhile: %v", calls, refusals)
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
	servers, opts := runCluster(t), &natsstore.Options{Replicas: 3}
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

func runCluster(t *testing.T) []*server.Server {
	t.Helper()
	var ports []int
	for range 3 {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
		require.NoError(t, listener.Close())
	}
	var routes []*url.URL
	for _, port := range ports {
		routes = append(routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", port)})
	}
	var servers []*server.Server
	for i, port := range ports {
		servers = append(servers, runServer(t, &server.Options{
			ServerName: fmt.Sprintf("node-%d", i),
			Cluster:    server.ClusterOpts{Name: "mrtr", Host: "127.0.0.1", Port: port},
			Routes:     routes,
		}))
	}
	require.Eventually(t, func() bool {
		for _, srv := range servers {
			if srv.JetStreamIsLeader() {
				return len(srv.JetStreamClusterPeers()) == len(servers)
			}
		}
		return false
	}, 30*time.Second, 50*time.Millisecond, "the cluster has no leader")
	return servers
}

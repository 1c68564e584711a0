//go:build unix

package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/fault"
	"github.com/mrtr-go/sdk/lab/fleet"
	"github.com/mrtr-go/sdk/lab/storm"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/store/natsstore"
	"github.com/mrtr-go/sdk/store/natsstore/natstest"
	"github.com/mrtr-go/sdk/store/storetest"
)

var natsServer = &Backend{
	Name: "nats",
	Addresses: func(t *testing.T) func() string {
		return at(natstest.Run(t, &server.Options{JetStream: true}).ClientURL())
	},
	Open: func(ctx context.Context, url string) (store.Store, error) {
		nc, err := nats.Connect(url, nats.ReconnectBufSize(-1))
		if err != nil {
			return nil, err
		}
		return natsstore.Open(ctx, nc, nil)
	},
	Subject: func(t *testing.T) *storetest.Subject {
		srv := natstest.Run(t, &server.Options{JetStream: true})
		opts := &natsstore.Options{MaxBytes: 1 << 20}
		return proxied(t, srv.Addr().String(), func(addr string) *nats.Conn { return connectNATS(t, "nats://"+addr) },
			func(nc *nats.Conn) store.Store { return openNATS(t, nc, opts) },
			func(nc *nats.Conn) {
				js, err := jetstream.New(nc)
				require.NoError(t, err)
				require.NoError(t, js.DeleteStream(t.Context(), streamName))
			})
	},
}

// streamName is that of the store, by default.
const streamName = "MRTR_ROUNDS"

func TestNATS(t *testing.T) { natsServer.Run(t) }

// The stream's leader is lost while calls are made at the other two servers. A request is
// answered within half a minute meanwhile too, and each call ends with one receipt for one
// payment.
func TestNATSLosesItsLeader(t *testing.T) {
	servers, opts := natstest.Cluster(t), &natsstore.Options{Replicas: 3}
	nc := connectNATS(t, servers[0].ClientURL())
	openNATS(t, nc, opts)
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	stream, err := js.Stream(t.Context(), streamName)
	require.NoError(t, err)
	var leader *server.Server
	var stores []store.Store
	for _, srv := range servers {
		if srv.Name() == stream.CachedInfo().Cluster.Leader {
			leader = srv
		} else {
			stores = append(stores, openNATS(t, connectNATS(t, srv.ClientURL()), opts))
		}
	}
	require.NotNil(t, leader)
	all := fleet.NewInstances(t)
	s := &storm.Storm{
		Seed: rand.Uint64(), Ledger: all.Ledger, Size: len(stores), Each: time.Second, Calls: 30, AtOnce: 3, Within: time.Second,
		Start: func(context.Context) *storm.Instance {
			s := stores[0]
			stores = stores[1:]
			_, conn := all.Start(t, s, remember, map[string]fleet.Row{fleet.ToolName: fleet.Find("journal")}, nil)
			return &storm.Instance{Conn: conn, End: func() {}}
		},
		Order: func(_ *rand.Rand, n int) (tool, order string) {
			if n == 10 {
				go leader.Shutdown()
			}
			return fleet.ToolName, fmt.Sprint("order-", n)
		},
		Fate: func(*rand.Rand, *storm.Instance) bool { return false },
	}
	require.NoError(t, fault.Caught(func() { s.Play(t.Context()) }))
	require.Equal(t, map[string]int{"ok": s.Calls}, s.Ends)
	require.Equal(t, s.Calls, paidOnce(t, all.Ledger))
}

func connectNATS(t *testing.T, url string) *nats.Conn {
	nc, err := nats.Connect(url, nats.Timeout(time.Minute), nats.ReconnectBufSize(-1), nats.IgnoreDiscoveredServers(), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	return nc
}

func openNATS(t *testing.T, nc *nats.Conn, opts *natsstore.Options) store.Store {
	s, err := natsstore.Open(t.Context(), nc, opts)
	require.NoError(t, err)
	return s
}

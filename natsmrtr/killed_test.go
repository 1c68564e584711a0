package natsmrtr_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/killed"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/natsmrtr"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/store/storetest"
)

// TestMain runs this binary as a server of a call too.
func TestMain(m *testing.M) {
	killed.Serve(killed.Backend{Open: openStore, Forwarder: newForwarder})
	os.Exit(m.Run())
}

// openStore opens the store in a process that a test starts.
func openStore(ctx context.Context, url string) (store.Store, error) {
	nc, err := nats.Connect(url, nats.ReconnectBufSize(-1))
	if err != nil {
		return nil, err
	}
	return natsmrtr.Open(ctx, nc, nil)
}

// newForwarder makes the forwarder of such a process.
func newForwarder(url string) (mrtr.Forwarder, error) {
	nc, err := nats.Connect(url, nats.ReconnectBufSize(-1))
	if err != nil {
		return nil, err
	}
	return natsmrtr.NewForwarder(nc, "shop")
}

func TestKillTable(t *testing.T) {
	url := runServer(t, &server.Options{}).ClientURL()
	killed.CheckDocs(t, docs, killed.Table(t, killed.At(url), killed.Rows, killed.Points))
}

func TestFrozen(t *testing.T) {
	url := runServer(t, &server.Options{}).ClientURL()
	killed.CheckDocs(t, docs, killed.Frozen(t, killed.At(url), killed.Rows))
}

func TestFleet(t *testing.T) {
	killed.CheckFleet(t, runServer(t, &server.Options{}).ClientURL())
}

func TestOutage(t *testing.T) {
	srv := runServer(t, &server.Options{})
	played := killed.Outages(t, func(t *testing.T) *killed.Outside {
		opts := &natsmrtr.Options{Stream: streamName(t), MaxBytes: 64 << 10}
		proxy := storetest.NewProxy(t, srv.Addr().String())
		direct := connect(t, srv.ClientURL())
		o := &killed.Outside{
			Store: open(t, connect(t, "nats://"+proxy.Addr()), opts), Direct: open(t, direct, opts),
			HoldRequests: proxy.HoldRequests, HoldAnswers: proxy.HoldAnswers, Cut: proxy.Cut,
			Wipe: func() { require.NoError(t, jetStream(t, direct).DeleteStream(t.Context(), opts.Stream)) },
		}
		o.Fill = killed.Filler(t, o.Direct)
		return o
	})
	require.Equal(t, killed.AllOutages, played)
}

// The stream's leader is lost while calls are made. Nothing is answered wrongly
// meanwhile, and each call ends when there is a leader again.
func TestOutageOfTheLeader(t *testing.T) {
	servers := runCluster(t)
	opts := &natsmrtr.Options{Replicas: 3}
	open(t, connect(t, servers[0].ClientURL()), opts)
	stream, err := jetStream(t, connect(t, servers[0].ClientURL())).Stream(t.Context(), "MRTR_ROUNDS")
	require.NoError(t, err)
	var leader *server.Server
	var others []*server.Server
	for _, srv := range servers {
		if srv.Name() == stream.CachedInfo().Cluster.Leader {
			leader = srv
		} else {
			others = append(others, srv)
		}
	}
	require.NotNil(t, leader)
	killed.Interruption(t, open(t, connect(t, others[0].ClientURL()), opts), open(t, connect(t, others[1].ClientURL()), opts), func() { go leader.Shutdown() }, time.Minute)
}

const docs = "../docs/with-a-store.md"

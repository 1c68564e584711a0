//go:build unix

package crash

import (
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/store/natsstore"
	"github.com/mrtr-go/sdk/store/natsstore/natstest"
)

// natsScene is a cluster of three servers, and what happens to the one that leads the stream.
func natsScene(t *testing.T, opts *natsstore.Options, at func(leader *server.Server)) Scene {
	servers := natstest.Cluster(t)
	open := func(srv *server.Server) store.Store { return openNATS(t, connectNATS(t, srv.ClientURL()), opts) }
	open(servers[0])
	leader := leads(t, servers, connectNATS(t, servers[0].ClientURL()))
	var others []*server.Server
	for _, srv := range servers {
		if srv != leader {
			others = append(others, srv)
		}
	}
	return Scene{
		Open: func(instance int) store.Store { return open(others[instance%2]) },
		At:   func() { at(leader) },
	}
}

// leads finds the leader of the stream.
func leads(t *testing.T, servers []*server.Server, nc *nats.Conn) (leader *server.Server) {
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		stream, err := js.Stream(t.Context(), streamName)
		if err != nil {
			return false
		}
		for _, srv := range servers {
			if srv.Name() == stream.CachedInfo().Cluster.Leader {
				leader = srv
			}
		}
		return leader != nil
	}, time.Minute, 50*time.Millisecond)
	return leader
}

// loseDisk ends a server, and starts it again without what it had on its disk.
func loseDisk(t *testing.T, srv *server.Server) {
	dir := srv.StoreDir()
	again := natstest.OptionsOf(srv)
	srv.Shutdown()
	srv.WaitForShutdown()
	require.NoError(t, os.RemoveAll(dir))
	natstest.Run(t, again)
}

var natsEvents = []Event{
	{Name: "three replicas, the leader is killed", Keeps: true, Set: func(t *testing.T) Scene {
		return natsScene(t, &natsstore.Options{Replicas: 3}, func(leader *server.Server) { leader.Shutdown() })
	}},
	{Name: "three replicas, the leader's disk is lost", Keeps: true, Set: func(t *testing.T) Scene {
		return natsScene(t, &natsstore.Options{Replicas: 3}, func(leader *server.Server) { loseDisk(t, leader) })
	}},
	{Name: "one replica in a cluster, its disk is lost", Daily: true, Set: func(t *testing.T) Scene {
		return natsScene(t, &natsstore.Options{AcceptLoss: true}, func(leader *server.Server) { loseDisk(t, leader) })
	}},
}

func TestNATSEvents(t *testing.T) { RunEvents(t, "NATS", append(natsEvents, clockEvent(natsServer))) }

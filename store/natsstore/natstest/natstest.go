// Package natstest starts NATS servers with JetStream on loopback, in the process of a test
// and until it ends.
package natstest

import (
	"fmt"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// OptionsOf are those of a server that [Run] has started, to start it again in its place.
func OptionsOf(srv *server.Server) *server.Options {
	mu.Lock()
	defer mu.Unlock()
	return started[srv]
}

var (
	mu      sync.Mutex
	started = map[*server.Server]*server.Options{}
)

// Run starts a server. It changes the options: the address and the folder are the test's.
func Run(t testing.TB, opts *server.Options) *server.Server {
	t.Helper()
	again := opts.Clone()
	opts.Host, opts.Port, opts.StoreDir, opts.NoLog, opts.NoSigs = "127.0.0.1", -1, t.TempDir(), true, true
	srv, err := server.NewServer(opts)
	if err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	started[srv] = again
	mu.Unlock()
	srv.Start()
	t.Cleanup(func() {
		srv.Shutdown()
		srv.WaitForShutdown()
	})
	if !srv.ReadyForConnections(30 * time.Second) {
		t.Fatal("the server is not ready")
	}
	return srv
}

// Cluster starts three servers that replicate their streams.
func Cluster(t testing.TB) []*server.Server {
	t.Helper()
	var routes []*url.URL
	var ports []int
	for range 3 {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
		routes = append(routes, &url.URL{Scheme: "nats", Host: listener.Addr().String()})
		_ = listener.Close()
	}
	var servers []*server.Server
	for i, port := range ports {
		servers = append(servers, Run(t, &server.Options{
			ServerName: fmt.Sprintf("node-%d", i), JetStream: true, Routes: routes,
			Cluster: server.ClusterOpts{Name: "mrtr", Host: "127.0.0.1", Port: port},
		}))
	}
	for deadline := time.Now().Add(time.Minute); !hasLeader(servers); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the cluster has no leader")
		}
	}
	return servers
}

func hasLeader(servers []*server.Server) bool {
	for _, srv := range servers {
		if srv.JetStreamIsLeader() {
			return len(srv.JetStreamClusterPeers()) == len(servers)
		}
	}
	return false
}

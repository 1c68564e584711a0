//go:build unix

package crash

import (
	"context"
	"errors"
	"fmt"
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
	Dump: func(t *testing.T, url string) (all []byte) {
		js, err := jetstream.New(connectNATS(t, url))
		require.NoError(t, err)
		stream, err := js.Stream(t.Context(), streamName)
		require.NoError(t, err)
		state := stream.CachedInfo().State
		for n := state.FirstSeq; n <= state.LastSeq; n++ {
			m, err := stream.GetMsg(t.Context(), n)
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				continue
			}
			require.NoError(t, err)
			all = fmt.Appendf(all, "%s %v %s ", m.Subject, m.Header, m.Data)
		}
		return all
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

//go:build unix

package natsstore_test

import (
	"context"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/store/natsstore"
	"github.com/mrtr-go/sdk/store/storetest"
	"github.com/mrtr-go/sdk/store/storetest/crashtest"
)

var backend = crashtest.Backend{
	Addresses: func(t *testing.T) func() string {
		return crashtest.At(runServer(t, &server.Options{}).ClientURL())
	},
	Open: func(ctx context.Context, url string) (store.Store, error) {
		nc, err := nats.Connect(url, nats.ReconnectBufSize(-1))
		if err != nil {
			return nil, err
		}
		return natsstore.Open(ctx, nc, nil)
	},
	Subject: func(t *testing.T) *storetest.Subject { return newSubject(t, runServer(t, &server.Options{})) },
}

func TestMain(m *testing.M) { backend.Main(m) }

func TestCrashes(t *testing.T) { backend.Run(t) }

package natsstore_test

import (
	"context"
	"log"

	"github.com/nats-io/nats.go"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store/natsstore"
)

// A runtime whose rounds a fleet shares, on a cluster of three servers. The instances
// take their keys from the environment, the same for all.
func ExampleOpen() {
	ctx := context.Background()
	keys, err := statecodec.KeysFromEnv("MRTR_KEYS")
	if err != nil {
		log.Fatal(err)
	}
	nc, err := nats.Connect("nats://nats-1,nats://nats-2,nats://nats-3", nats.ReconnectBufSize(-1))
	if err != nil {
		log.Fatal(err)
	}
	rounds, err := natsstore.Open(ctx, nc, &natsstore.Options{Replicas: 3})
	if err != nil {
		log.Fatal(err)
	}
	rt, err := mrtr.New(&mrtr.Options{Durable: durable.In(rounds, nil), State: &statecodec.Options{Keys: keys}})
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()
}

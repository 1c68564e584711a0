package redisstore_test

import (
	"context"
	"log"

	"github.com/redis/go-redis/v9"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store/redisstore"
)

// A runtime whose rounds a fleet shares. The instances take their keys from the
// environment, the same for all.
func ExampleOpen() {
	ctx := context.Background()
	keys, err := statecodec.KeysFromEnv("MRTR_KEYS")
	if err != nil {
		log.Fatal(err)
	}
	client := redis.NewClient(&redis.Options{Addr: "redis:6379", ContextTimeoutEnabled: true})
	rounds, err := redisstore.Open(ctx, client, nil)
	if err != nil {
		log.Fatal(err)
	}
	rt, err := mrtr.New(&mrtr.Options{Durable: durable.In(rounds, nil), State: &statecodec.Options{Keys: keys}})
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()
}

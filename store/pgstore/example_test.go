package pgstore_test

import (
	"context"
	"log"
	"os"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store/pgstore"
)

// A runtime whose rounds a fleet shares. The instances take their keys from the
// environment, the same for all.
func ExampleOpen() {
	ctx := context.Background()
	keys, err := statecodec.KeysFromEnv("MRTR_KEYS")
	if err != nil {
		log.Fatal(err)
	}
	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	rounds, err := pgstore.Open(ctx, pool, nil)
	if err != nil {
		log.Fatal(err)
	}
	rt, err := mrtr.New(&mrtr.Options{Durable: durable.In(rounds, nil), State: &statecodec.Options{Keys: keys}})
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()
}

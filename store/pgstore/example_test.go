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
	config, err := pgxpool.ParseConfig(os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	pgstore.Watch(config.ConnConfig) // the warnings of a server that waits for a standby
	pool, err := pgxpool.NewWithConfig(ctx, config)
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

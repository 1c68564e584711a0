//go:build unix

package pgstore_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/store/pgstore"
	"github.com/mrtr-go/sdk/store/storetest/crashtest"
)

var backend = crashtest.Backend{
	Addresses: func(t *testing.T) func() string { return crashtest.At(newDatabase(t)) },
	Open: func(ctx context.Context, address string) (store.Store, error) {
		if address == nowhere {
			return nil, nil
		}
		pool, err := pgxpool.New(ctx, address)
		if err != nil {
			return nil, err
		}
		return pgstore.Open(ctx, pool, nil)
	},
	Subject: newSubject,
	Lacks:   map[string]string{"full": "the disk of its server would have to be full"},
	Rows:    []crashtest.Row{journalPgonce},
}

// nowhere is the address of rounds that are not remembered.
const nowhere = ""

func TestMain(m *testing.M) { backend.Main(m) }

func TestCrashes(t *testing.T) { backend.Run(t) }

package pgonce

import (
	"context"
	"runtime"
	"sync"
	"weak"

	"github.com/jackc/pgx/v5/pgxpool"
)

// places holds the effects of each pool to half of its connections, so that a store, and
// whoever else shares the pool, gets the others. A [weak.Pointer] to the pool leads to a
// channel with room for that many.
var places sync.Map

// inside marks the context of an effect: another one in it is not held up by its own.
type inside struct{}

// enter waits for a place among the effects of a pool.
func enter(ctx context.Context, db DB) (leave func(), err error) {
	pool, ok := db.(*pgxpool.Pool)
	if !ok || ctx.Value(inside{}) != nil {
		return func() {}, nil
	}
	key := weak.Make(pool)
	known, ok := places.Load(key)
	if !ok {
		known, ok = places.LoadOrStore(key, make(chan struct{}, max(1, pool.Config().MaxConns/2)))
		if !ok {
			runtime.AddCleanup(pool, func(key weak.Pointer[pgxpool.Pool]) { places.Delete(key) }, key)
		}
	}
	taken := known.(chan struct{})
	select {
	case taken <- struct{}{}:
		return func() { <-taken }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

package store_test

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/mrtr-go/sdk/internal/roundcost"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/store/storetest"
)

// BenchmarkMemory compares it with the least that would do: a map and a mutex,
// with the values copied.
func BenchmarkMemory(b *testing.B) {
	var mu sync.Mutex
	records := map[string][]byte{}
	write := func(_ context.Context, name string, first, second []byte) error {
		for _, value := range [][]byte{first, second} {
			mu.Lock()
			records[name] = bytes.Clone(value)
			mu.Unlock()
		}
		return nil
	}
	storetest.Ratio(b, store.NewMemory(&store.MemoryOptions{MaxBytes: 8 << 30}), write)
}

// BenchmarkMemoryRepeat is the cost of a duplicate of a finished round: a Create
// that finds the record, and a Get.
func BenchmarkMemoryRepeat(b *testing.B) {
	m := store.NewMemory(nil)
	key, _ := record(b, m, "record", time.Hour)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Create(b.Context(), key, nil, time.Hour); err == nil {
			b.Fatal("the record is not there")
		}
		if _, _, err := m.Get(b.Context(), key); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMemoryParallel says whether the one mutex is in the way: compare
// -cpu 1 with more.
func BenchmarkMemoryParallel(b *testing.B) {
	m := store.NewMemory(&store.MemoryOptions{MaxBytes: 8 << 30})
	epoch, _ := m.Epoch(b.Context())
	value := bytes.Repeat([]byte("v"), 400)
	var mu sync.Mutex
	worker := 0
	b.RunParallel(func(pb *testing.PB) {
		mu.Lock()
		worker++
		me := worker
		mu.Unlock()
		for i := 0; pb.Next(); i++ {
			key := store.Key{Epoch: epoch, Name: fmt.Sprintf("record.%d.%d", me, i)}
			at, err := m.Create(b.Context(), key, value, time.Second)
			if err == nil {
				_, err = m.Update(b.Context(), key, at, value, time.Second)
			}
			if err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// BenchmarkRound is the cost of a remembered round, in bare writes.
func BenchmarkRound(b *testing.B) {
	roundcost.Measure(b, func() store.Store { return store.NewMemory(nil) })
}

package storetest

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/mrtr-go/sdk/store"
)

// Ratio compares a round's two writes, a Create and an Update of 400 bytes,
// with the same two writes made without the store, as bare does them through
// the library, with another value each time: a database may see that nothing
// changes. The two take turns, so that a noisy machine disturbs both. It reports
// the time of each and their ratio.
func Ratio(b *testing.B, s store.Store, bare func(ctx context.Context, name string, first, second []byte) error) {
	b.Helper()
	ctx := b.Context()
	epoch, err := s.Epoch(ctx)
	if err != nil {
		b.Fatal(err)
	}
	first, second := bytes.Repeat([]byte("1"), 400), bytes.Repeat([]byte("2"), 400)
	run := time.Now().UnixNano()
	var ours, theirs time.Duration
	b.ReportAllocs()
	n := 0
	for ; b.Loop(); n++ {
		name := fmt.Sprintf("bench.%d.%d", run, n)
		began := time.Now()
		if err := bare(ctx, name, first, second); err != nil {
			b.Fatal(err)
		}
		between := time.Now()
		key := store.Key{Epoch: epoch, Name: name}
		at, err := s.Create(ctx, key, first, time.Minute)
		if err == nil {
			_, err = s.Update(ctx, key, at, second, time.Minute)
		}
		if err != nil {
			b.Fatal(err)
		}
		theirs += between.Sub(began)
		ours += time.Since(between)
	}
	b.ReportMetric(float64(theirs.Nanoseconds())/float64(n), "ns-bare/op")
	b.ReportMetric(float64(ours.Nanoseconds())/float64(n), "ns-store/op")
	b.ReportMetric(float64(ours)/float64(theirs), "x-bare")
}

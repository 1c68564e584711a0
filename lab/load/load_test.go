// Package load_test has many clients use one server at once: calm ones of both eras over HTTP and
// WebSocket, and among them clients that read slowly or not at all, hang up, and send hostile
// bodies. Its test runs for a second, in CI for five, and with -for 1m for a minute.
package load_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var duration = flag.Duration("for", usualDuration(), "how long the load lasts")

// usualDuration is longer in CI. Every client does its part once, however short it is.
func usualDuration() time.Duration {
	if os.Getenv("MRTR_NIGHTLY") == "1" {
		return 5 * time.Second
	}
	return time.Second
}

const (
	calmClients = 240
	slowOverWeb = 40
	slowOverWS  = 20
	hangingUp   = 60
	hostileOnes = 40

	// maxHeap bounds the heap of server and clients together, while they run.
	maxHeap = 1 << 30
	// maxLeft is how much more is in use after Shutdown than before the load.
	maxLeft       = 32 << 20
	maxGoroutines = 10
)

// Four hundred clients, of which 160 misbehave, take nothing from the calm ones:
// every call of theirs completes, each has its effect once, memory is bounded, and
// after Shutdown nothing of it is left.
func TestLoad(t *testing.T) {
	goroutines, heap := runtime.NumGoroutine(), heapInUse()
	s := startServer(t)
	ctx, cancel := context.WithTimeout(t.Context(), *duration)
	defer cancel()

	var calmly, others sync.WaitGroup
	var completed, answered atomic.Int64
	var mu sync.Mutex
	var failures []error
	for n := range calmClients {
		calmly.Go(func() {
			who := fmt.Sprintf("calm-%d", n)
			done, err := calm(ctx, s, who, n)
			completed.Add(int64(done))
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failures = append(failures, err)
			} else if audits := s.audited(who); audits != done {
				failures = append(failures, fmt.Errorf("%s completed %d calls, and %d are audited", who, done, audits))
			} else if done == 0 {
				failures = append(failures, fmt.Errorf("%s completed no call", who))
			}
		})
	}
	for n := range slowOverWeb {
		others.Go(func() { slowHTTP(ctx, s, n) })
	}
	for range slowOverWS {
		others.Go(func() { slowWS(ctx, s) })
	}
	for n := range hangingUp {
		others.Go(func() { hangUp(ctx, s, n) })
	}
	for n := range hostileOnes {
		others.Go(func() { hostile(ctx, s, n, &answered) })
	}
	peak, watched := uint64(0), make(chan struct{})
	go func() {
		defer close(watched)
		for ctx.Err() == nil {
			peak = max(peak, allocated())
			pause(ctx, 200*time.Millisecond)
		}
	}()
	calmly.Wait()
	others.Wait()
	<-watched

	total := 0
	for _, audits := range s.audits {
		total += audits
	}
	stopping, enough := context.WithTimeout(context.WithoutCancel(t.Context()), 30*time.Second)
	defer enough()
	require.NoError(t, s.stop(stopping), "the shutdown")
	t.Logf("%v: %d calm calls completed, %d effects, %d errors; %d hostile bodies answered; peak of the heap %d MiB",
		*duration, completed.Load(), total, len(failures), answered.Load(), peak>>20)

	require.Emptyf(t, failures[:min(5, len(failures))], "the first of %d failures", len(failures))
	require.Equal(t, int(completed.Load()), total, "completed calls and effects")
	require.NotZero(t, answered.Load(), "no hostile body was answered")
	require.Less(t, peak, uint64(maxHeap))
	left := 0
	require.Eventually(t, func() bool {
		left = runtime.NumGoroutine() - goroutines
		return left <= maxGoroutines
	}, 20*time.Second, 100*time.Millisecond, "goroutines that are left")
	after := heapInUse()
	t.Logf("after Shutdown: %d goroutines more than before, heap %d KiB before and %d KiB after", left, heap>>10, after>>10)
	require.Less(t, int64(after)-int64(heap), int64(maxLeft))
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// heapInUse is the size of the reachable heap.
func heapInUse() uint64 {
	runtime.GC()
	runtime.GC() // values with a finalizer go with the second
	return allocated()
}

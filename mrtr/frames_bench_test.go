package mrtr

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/sse/era"
)

// A parked frame is measured beside the least that could do its work: a
// goroutine that was called just as deep, parked on a channel, with a second
// channel for its answers and an entry in a map that finds it by its token.

// bare is that goroutine.
type bare struct {
	turns, wake chan bool
}

// hold parks as a handler does, on a stack as large as a handler's.
func (b *bare) hold(used *int) {
	*used = useStack()
	for {
		b.turns <- true
		if !<-b.wake {
			return
		}
	}
}

// useStack needs as much stack as the deepest that the engine puts on a
// handler's: encoding the answer that it reads. It is not inlined.
//
//go:noinline
func useStack() int {
	var room [stackOfAFrame]byte
	for i := range room {
		room[i] = byte(i)
	}
	return int(room[len(room)/2])
}

// stackOfAFrame makes a bare goroutine's stack as large as a parked handler's
// is, which BenchmarkParkedFrame prints for both.
const stackOfAFrame = 1 << 10

func (b *bare) park(table map[string]*bare, used *int) string {
	token := newID()
	table[token] = b
	go b.hold(used)
	<-b.turns
	return token
}

// parkFrames parks n handlers, through the engine's own rounds.
func parkFrames(b *testing.B, rt *Runtime, n int) []*asked {
	question := Elicit[string]("q", "q?")
	style := Coroutine(func(ctx context.Context, c *Call, _ struct{}) (struct{}, error) {
		_, err := Ask(ctx, c, question)
		return struct{}{}, err
	})
	f := &front[struct{}, struct{}]{rt: rt, style: style, target: &target{}, format: typedFormat[struct{}]{}}
	out := make([]*asked, n)
	ex := exchange{
		method: "tools/call", name: "trip", arguments: []byte(`{}`),
		client: era.Client{Era: era.Modern, Form: true}, request: &mcp.CallToolRequest{},
	}
	for i := range out {
		var err error
		if _, out[i], err = f.serve(context.Background(), ex, struct{}{}); err != nil {
			b.Fatal(err)
		}
	}
	return out
}

type memory struct{ heap, stack uint64 }

func measure() memory {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return memory{m.HeapAlloc, m.StackInuse}
}

func (m memory) since(before memory, n int) (heap, stack float64) {
	return float64(int64(m.heap)-int64(before.heap)) / float64(n), float64(int64(m.stack)-int64(before.stack)) / float64(n)
}

// BenchmarkParkedFrame prints what 100,000 parked handlers hold each, and what
// bare goroutines do.
func BenchmarkParkedFrame(b *testing.B) {
	const frames = 100_000
	for b.Loop() {
		before := measure()
		table := make(map[string]*bare)
		used := 0
		for range frames {
			(&bare{make(chan bool), make(chan bool)}).park(table, &used)
		}
		bareHeap, bareStack := measure().since(before, frames)
		for _, g := range table {
			g.wake <- false
		}
		clear(table)
		table = nil

		rt, err := New(&Options{Limits: Limits{MaxFrames: 2 * frames}})
		if err != nil {
			b.Fatal(err)
		}
		before = measure()
		parkFrames(b, rt, frames)
		heap, stack := measure().since(before, frames)
		if err := rt.Close(); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(heap, "heap-B/frame")
		b.ReportMetric(stack, "stack-B/frame")
		b.ReportMetric(bareHeap, "bare-heap-B")
		b.ReportMetric(bareStack, "bare-stack-B")
		b.ReportMetric((heap+stack)/(bareHeap+bareStack), "frame/bare")
	}
}

// BenchmarkResume is one turn of a handler: found by its token, woken, run to
// its next question, parked under a new token.
func BenchmarkResume(b *testing.B) {
	for _, parked := range []int{100, 100_000} {
		b.Run(fmt.Sprintf("bare/%d", parked), func(b *testing.B) {
			table := make(map[string]*bare)
			used := 0
			for range parked - 1 {
				(&bare{make(chan bool), make(chan bool)}).park(table, &used)
			}
			token := (&bare{make(chan bool), make(chan bool)}).park(table, &used)
			for b.Loop() {
				g := table[token]
				delete(table, token)
				g.wake <- true
				<-g.turns
				token = newID()
				table[token] = g
			}
			for _, g := range table {
				g.wake <- false
			}
		})
		b.Run(fmt.Sprintf("frame/%d", parked), func(b *testing.B) {
			rt, err := New(&Options{Limits: Limits{MaxFrames: 2 * parked}})
			if err != nil {
				b.Fatal(err)
			}
			parkFrames(b, rt, parked-1)
			question := Elicit[string]("q", "q?")
			answer := entry{kind: answerEntry, key: "q", digest: question.spec.digest(), value: []byte(`{"q":"x"}`)}
			c := &Call{ledger: &ledger{rt: rt, target: &target{}, st: state{id: newID()}}}
			s := newLinearRun(c, linearStyle{parks: true}, &linearBody[int, int]{handler: func(ctx context.Context, c *Call, _ int) (int, error) {
				for {
					if _, err := Ask(ctx, c, question); err != nil {
						return 0, err
					}
					c.mu.Lock()
					c.linear.cursor, c.st.done = 0, nil // as if the question were new
					c.mu.Unlock()
				}
			}})
			if err := rt.frames.enter(s); err != nil {
				b.Fatal(err)
			}
			turn := func() string {
				if _, err := s.resume(context.Background(), c); err != nil {
					b.Fatal(err)
				}
				token, err := rt.frames.park(s)
				if err != nil {
					b.Fatal(err)
				}
				return token
			}
			token := turn()
			for b.Loop() {
				s = rt.frames.take(token)
				c.st.done = append(c.st.done[:0], answer)
				token = turn()
			}
			if err := rt.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

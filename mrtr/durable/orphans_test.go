package durable_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/store"
)

// waitsFor is a journal that waits after its question until it is let go, or its round ends.
func waitsFor(goOn chan struct{}) mrtr.Style[tripIn, tripOut] {
	return linear.Journal(linearOf(func(s *stage, _ tripIn) (tripOut, error) {
		seat := ask(s, text("seat"))
		select {
		case <-goOn:
			return tripOut{Plan: seat}, nil
		case <-s.ctx.Done():
			return tripOut{}, s.ctx.Err()
		}
	}))
}

type whoKey struct{}

func as(ctx context.Context, who string) context.Context {
	return context.WithValue(ctx, whoKey{}, who)
}

// The rounds whose clients left are bounded for each principal and in all: beyond that a
// round is refused before it begins, and others are served. They are counted and told,
// and a repeat finds them at work. A drain waits for them, and Close ends them.
func TestOrphans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		goOn := make(chan struct{})
		seen := &recorder{}
		opts := withStore(store.NewMemory(nil), &durable.Options{MaxOrphans: 30})
		opts.Listener, opts.Same = observe.With(seen), mrtr.SameNone
		opts.Principal = func(ctx context.Context, _ mcp.Request) (string, error) {
			who, _ := ctx.Value(whoKey{}).(string)
			return who, nil
		}
		rt := newTripRuntime(t, opts)
		tool := newTrip(rt, waitsFor(goOn), "")
		leave := func(who string) (asked tripReply, err error) {
			asked = tool.round(as(t.Context(), who), "", "", nil)
			ctx, hangUp := context.WithTimeout(as(t.Context(), who), time.Second)
			defer hangUp()
			return asked, tool.round(ctx, "", asked.state, accepting(asked, "window")).err
		}
		refused := func(err error) {
			requireCode(t, err, -31001)
		}
		var first tripReply
		for i := range 5 {
			asked, err := leave("ann")
			if i >= 3 {
				refused(err)
				continue
			}
			first = asked
			require.ErrorIs(t, err, context.DeadlineExceeded)
		}
		require.Equal(t, 3, rt.Stats().Orphans)
		require.Len(t, seen.of(observe.RoundOrphaned), 3)
		for i := range 29 { // those that nobody knows are no one principal
			_, err := leave("")
			if i >= 27 {
				refused(err)
				continue
			}
			require.ErrorIs(t, err, context.DeadlineExceeded)
		}
		close(goOn)
		synctest.Wait()
		require.Zero(t, rt.Stats().Orphans)
		require.Equal(t, tripReply{plan: "window"}, tool.round(as(t.Context(), "ann"), "", first.state, accepting(first, "window")))
	})
}

// A drain waits for the rounds that a store remembers, and Close ends them.
func TestDrainWaitsForOrphans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		goOn := make(chan struct{})
		records := shared{store.NewMemory(nil)}
		instance := func() *tripTool {
			return newTrip(newTripRuntime(t, &mrtr.Options{Durable: durable.In(records, nil)}), mrtr.Native(guardedOf(func(s *stage, _ tripIn) (tripOut, error) {
				seat := ask(s, text("seat"))
				<-goOn
				return tripOut{Plan: seat}, nil
			})), "")
		}
		tool, other := instance(), instance()
		asked := tool.begin()
		ctx, hangUp := context.WithTimeout(t.Context(), time.Second)
		defer hangUp()
		require.ErrorIs(t, tool.round(ctx, "", asked.state, accepting(asked, "window")).err, context.DeadlineExceeded)
		time.AfterFunc(time.Minute, func() { close(goOn) })
		began := time.Now()
		require.NoError(t, tool.rt.Drain(t.Context()))
		require.Equal(t, time.Minute, time.Since(began))
		require.Equal(t, tripReply{plan: "window"}, other.answer(asked, "window"))
	})
}

// A round has a time of its own. One that cannot run again ends unknown, with its effects undone;
// one that notes all it does is free, and goes on with them. A handler that does not end with its
// context does not hold its turn for ever, and has no effect any more.
func TestARoundHasATimeOfItsOwn(t *testing.T) {
	again := map[string]bool{"native": false, "coroutine": false, "journal": true, "resumable": true}
	for name, again := range again {
		for _, deaf := range []bool{false, true} {
			inBubble(t, fmt.Sprintf("%s, deaf %t", name, deaf), func(t *testing.T) {
				var did deeds
				seen, goOn := &recorder{}, make(chan struct{})
				style := everyStyle(func(s *stage, _ tripIn) (tripOut, error) {
					ask(s, text("seat"))
					once(s, "hold", did.do("held"))
					if did.note("runs") == 1 {
						if !deaf {
							<-s.ctx.Done()
							return tripOut{}, s.ctx.Err()
						}
						<-goOn
						once(s, "pay", did.do("paid by the first"))
					}
					return tripOut{Plan: "x"}, nil
				})[name].OnStop(undo("hold", func() error { did.note("undone"); return nil }))
				opts := withStore(store.NewMemory(nil))
				opts.Listener = observe.With(seen)
				tool := &tripTool{handler: mrtr.Tool(newTripRuntime(t, opts), style, &mrtr.HandlerOptions{Within: time.Minute})}
				seat := tool.begin()
				began := time.Now()
				first := tool.answer(seat, "window")
				require.ErrorContains(t, first.err, "1m0s")
				require.Equal(t, map[bool]time.Duration{false: time.Minute, true: 70 * time.Second}[deaf], time.Since(began))
				require.Len(t, seen.of(observe.CallStopped), 1, "told at once")
				last := tool.answer(seat, "window")
				if again {
					require.Equal(t, tripReply{plan: "x"}, last)
				} else {
					require.EqualError(t, last.err, first.err.Error())
					require.Equal(t, []string{"hold"}, ended(t, last.err, mrtr.OutcomeUnknown).Undone)
				}
				close(goOn)
				synctest.Wait()
				runs, undone := 1, 1
				if again {
					runs, undone = 2, 0
				}
				require.Equal(t, []int{1, runs, undone, 0}, []int{did.count("held"), did.count("runs"), did.count("undone"), did.count("paid by the first")})
				require.Len(t, seen.of(observe.CallStopped), 1)
			})
		}
	}
}

package mrtr_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/store"
)

// waitsFor is a journal that waits after its question until it is let go, or its round ends.
func waitsFor(goOn chan struct{}) mrtr.Style[tripIn, tripOut] {
	return mrtr.Journal(linearOf(func(s *stage, _ tripIn) (tripOut, error) {
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
		opts := withStore(store.NewMemory(nil))
		opts.Observer = seen
		opts.MaxOrphans, opts.MaxOrphansPerPrincipal = 8, 3
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
		require.Len(t, seen.of(mrtr.RoundOrphaned), 3)
		for i := range 7 { // three quarters of eight, less those of Ann
			_, err := leave("")
			if i >= 5 {
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
			return newTrip(newTripRuntime(t, &mrtr.Options{Store: records}), mrtr.Native(guardedOf(func(s *stage, _ tripIn) (tripOut, error) {
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

// A round has a time of its own. One that noted nothing ends unknown and does not run
// again; one that notes its effects is free. A handler that does not end with its context
// does not hold its turn for ever.
func TestARoundHasATimeOfItsOwn(t *testing.T) {
	for _, deaf := range []bool{false, true} {
		for _, journal := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				var runs, stopped atomic.Int32
				goOn := make(chan struct{})
				work := func(ctx context.Context) error {
					if runs.Add(1) > 1 {
						return nil
					}
					if deaf {
						<-goOn
						return nil
					}
					<-ctx.Done()
					return ctx.Err()
				}
				style := mrtr.Native(guardedOf(func(s *stage, _ tripIn) (tripOut, error) {
					s.Call.OnStop("pay", func(context.Context, string, error) error { stopped.Add(1); return nil })
					ask(s, text("seat"))
					return tripOut{Plan: "x"}, work(s.ctx)
				}))
				if journal {
					style = mrtr.Journal(linearOf(func(s *stage, _ tripIn) (tripOut, error) {
						s.Call.OnStop("pay", func(context.Context, string, error) error { stopped.Add(1); return nil })
						ask(s, text("seat"))
						return tripOut{Plan: "x"}, work(s.ctx)
					}))
				}
				rt := newTripRuntime(t, withStore(store.NewMemory(nil)))
				tool := &tripTool{handler: mrtr.Tool(rt, style, &mrtr.HandlerOptions{Within: time.Minute})}
				seat := tool.begin()
				began := time.Now()
				first := tool.answer(seat, "window")
				require.ErrorContains(t, first.err, "1m0s")
				if deaf {
					require.Equal(t, 70*time.Second, time.Since(began))
				} else {
					require.Equal(t, time.Minute, time.Since(began))
				}
				again := tool.answer(seat, "window")
				if journal {
					require.Equal(t, tripReply{plan: "x"}, again)
				} else {
					ended(t, again.err, mrtr.OutcomeUnknown)
					require.Equal(t, int32(1), runs.Load())
				}
				close(goOn)
				synctest.Wait()
				if journal {
					require.Zero(t, stopped.Load())
				} else {
					require.Equal(t, int32(1), stopped.Load())
				}
			})
		}
	}
}

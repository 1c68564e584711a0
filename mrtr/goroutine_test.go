package mrtr_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
)

// Code that ends its goroutine, as a failed requirement of a test does, ends its call
// with an error, and the request is answered.
func TestGoexitEndsInAnAnswer(t *testing.T) {
	var asking, doing, ending, completing tripSteps
	mrtr.AskStep(&asking, "q", func(context.Context, *tripAt) (mrtr.Question[string], error) {
		runtime.Goexit()
		return text("q"), nil
	})
	mrtr.DoStep(&doing, "d", func(context.Context, *tripAt, string) (int, error) { runtime.Goexit(); return 0, nil })
	asking.End(ends(""))
	doing.End(ends(""))
	ending.End(func(context.Context, *tripAt) (tripOut, error) { runtime.Goexit(); return tripOut{}, nil })
	completing.End(func(_ context.Context, at *tripAt) (tripOut, error) {
		at.Call.OnComplete(func(context.Context) { runtime.Goexit() })
		return tripOut{}, nil
	})
	styles := map[string]mrtr.Style[tripIn, tripOut]{
		"guarded": guardedTrip(func(context.Context, *mrtr.Call) (string, error) { runtime.Goexit(); return "", nil }),
		"guarded, in Once": guardedTrip(func(ctx context.Context, c *mrtr.Call) (string, error) {
			return mrtr.Once(ctx, c, "book", func(context.Context, string) (string, error) { runtime.Goexit(); return "", nil })
		}),
		"guarded, OnComplete": guardedTrip(func(_ context.Context, c *mrtr.Call) (string, error) {
			c.OnComplete(func(context.Context) { runtime.Goexit() })
			return "", nil
		}),
		"steps, asking": mustBuild(t, &asking), "steps, doing": mustBuild(t, &doing),
		"steps, the end": mustBuild(t, &ending), "steps, OnComplete": mustBuild(t, &completing),
	}
	for engine, style := range linearStyles {
		styles[engine+", OnComplete"] = style(func(_ context.Context, c *mrtr.Call, _ tripIn) (tripOut, error) {
			c.OnComplete(func(context.Context) { runtime.Goexit() })
			return tripOut{}, nil
		})
	}
	for name, style := range styles {
		t.Run(name, func(t *testing.T) {
			reply := make(chan tripReply, 1)
			tool := serveTrip(t, style)
			over := make(chan bool)
			go func() {
				defer close(over)
				reply <- tool.begin()
			}()
			<-over
			select {
			case last := <-reply:
				var usage *mrtr.UsageError
				require.ErrorAs(t, last.err, &usage)
				require.Contains(t, last.err.Error(), "mrtr: the handler ended its goroutine with runtime.Goexit")
			default:
				require.Fail(t, "the request's goroutine ended without an answer")
			}
		})
	}
}

// A frame that is unwound is reported once, also where its time is up while the
// runtime closes.
func TestAnAbandonedCallIsReportedOnce(t *testing.T) {
	var log eventLog
	var rt *mrtr.Runtime
	rt = newTripRuntime(t, &mrtr.Options{FrameTTL: time.Hour, Observer: observerFunc(func(ctx context.Context, e mrtr.Event) {
		log.Observe(ctx, e)
		if e.Kind == mrtr.CallAbandoned {
			mrtr.Expire(rt) // as the timer does, had it fired before close stopped it
		}
	})})
	var did deeds
	tool := newTrip(rt, mrtr.Coroutine(twoStops(&did)), "")
	for range 3 {
		require.NoError(t, tool.begin().err)
	}
	require.NoError(t, rt.Close())
	require.Len(t, log.abandoned(), 3)
	require.Equal(t, 3, did.count("unwound"))
}

type observerFunc func(context.Context, mrtr.Event)

func (f observerFunc) Observe(ctx context.Context, e mrtr.Event) { f(ctx, e) }

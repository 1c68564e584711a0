package mrtr_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/store"
)

// both hands events to a test and to the log.
type both struct {
	recorder
	log mrtr.Observer
}

func (b *both) Observe(ctx context.Context, e mrtr.Event) {
	b.recorder.Observe(ctx, e)
	b.log.Observe(ctx, e)
}

// An effect of which nobody knows whether it happened is one warning in the log and one event,
// with its name: in every style, as Once and as a step, with a store and without. An effect
// whose end is known is none.
func TestAnEffectInDoubtIsLoud(t *testing.T) {
	ends := map[string]struct {
		end   func() (string, error)
		doubt bool
	}{
		"done":          {func() (string, error) { return "paid", nil }, false},
		"an error":      {func() (string, error) { return "", errors.New("no money") }, false},
		"not done":      {func() (string, error) { return "", mrtr.NotDone(context.DeadlineExceeded) }, false},
		"indeterminate": {func() (string, error) { return "", mrtr.ErrIndeterminate }, true},
		"a broken line": {func() (string, error) { return "", io.ErrUnexpectedEOF }, true},
		"a timeout":     {func() (string, error) { return "", context.DeadlineExceeded }, true},
		"a panic":       {func() (string, error) { panic("ouch") }, true},
		"an exit":       {func() (string, error) { runtime.Goexit(); return "", nil }, true},
	}
	for explanation, c := range ends {
		pay := func(context.Context, string) (string, error) { return c.end() }
		styles := everyStyle(func(s *stage, _ tripIn) (tripOut, error) {
			ask(s, text("seat"))
			paid, err := mrtr.Once(s.ctx, s.Call, "pay", pay)
			return tripOut{paid}, err
		})
		var list tripSteps
		mrtr.AskQuestion(&list, "seat", text("seat"))
		paid := mrtr.DoStep(&list, "pay", func(ctx context.Context, _ *tripAt, idem string) (string, error) { return pay(ctx, idem) })
		list.End(func(_ context.Context, at *tripAt) (tripOut, error) { return tripOut{paid.Of(at)}, nil })
		styles["steps"] = mustBuild(t, &list)
		for name, style := range styles {
			for _, stored := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %s, store %t", explanation, name, stored), func(t *testing.T) {
					var log strings.Builder
					seen := &both{log: mrtr.LogObserver(slog.New(slog.NewTextHandler(&log, nil)))}
					o := &mrtr.Options{Observer: seen}
					if stored {
						o.Store = &hookedStore{Memory: store.NewMemory(nil), scope: store.Machine}
					}
					tool := newTrip(newTripRuntime(t, o), style, "")
					tool.answer(tool.begin(), "window")
					want := 0
					if c.doubt {
						want = 1
					}
					events := seen.of(mrtr.EffectInDoubt)
					require.Len(t, events, want)
					require.Equal(t, want, strings.Count(log.String(), `level=WARN msg="effect in doubt"`), log.String())
					for _, e := range events {
						require.Equal(t, "pay", e.Effect)
						require.NotEmpty(t, e.Call)
						require.Equal(t, "trip", e.Name)
					}
				})
			}
		}
	}
}

// An effect that another instance had begun when it died is in doubt where its round is taken
// over, unless a Check can tell.
func TestInheritedDoubtIsLoud(t *testing.T) {
	for _, style := range []string{"journal", "resumable", "steps", "native, again"} {
		for explanation, opts := range map[string]*mrtr.EffectOptions[string]{
			"nobody knows":  nil,
			"a check knows": {Check: func(context.Context, string) (string, bool, error) { return "paid", true, nil }},
		} {
			synctest.Test(t, func(t *testing.T) {
				var did deeds
				memory := store.NewMemory(nil)
				first, second := newInstance(memory, afterEffect), newInstance(memory, "")
				dying, living := first.serve(t, style, &did, opts), second.serve(t, style, &did, opts)
				seat := dying.begin()
				own := first.stopsIn(func() tripReply { return dying.answer(seat, "window") })
				living.answer(seat, "window")
				want := 1
				if opts != nil {
					want = 0
				}
				require.Len(t, second.events.of(mrtr.EffectInDoubt), want, "%s, %s", style, explanation)
				for _, e := range second.events.of(mrtr.EffectInDoubt) {
					require.Equal(t, "pay", e.Effect)
				}
				first.goOn()
				<-own
			})
		}
	}
}

package mrtr_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/store"
)

// diary notes what happened, in order.
type diary struct {
	mu  sync.Mutex
	log []string
}

func (d *diary) note(what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.log = append(d.log, what)
}

func (d *diary) all() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.log)
}

var onceStyles = slices.Sorted(maps.Keys(everyStyle(around(nil))))

// A handler ends, and leaves behind a goroutine with an effect that still runs. Its client
// is told at once that the effect is in doubt, and it is undone when it has ended.
func TestOnStopWaitsForTheEffectThatStillRuns(t *testing.T) {
	require.Len(t, onceStyles, 4)
	for _, style := range onceStyles {
		for _, test := range []struct {
			explanation    string
			stored, leaves bool
		}{
			{"the handler fails", false, false},
			{"the handler fails, with a store", true, false},
			{"its client hangs up", false, true},
		} {
			if !test.stored && isStoreForced() {
				continue
			}
			inBubble(t, style+"/"+test.explanation, func(t *testing.T) {
				var did diary
				var seen recorder
				began, end := make(chan struct{}), make(chan struct{})
				opts := &mrtr.Options{Listener: observe.With(&seen)}
				if test.stored {
					opts.Store = shared{store.NewMemory(nil)}
				}
				tool := newTrip(newTripRuntime(t, opts), everyStyle(func(s *stage, _ tripIn) (tripOut, error) {
					ask(s, text("q"))
					s.OnStop("pay", func(context.Context, string, error) error { did.note("undone"); return nil })
					go func() {
						_, _ = mrtr.Once(s.ctx, s.Call, "pay", func(context.Context, string) (string, error) {
							close(began)
							<-end
							did.note("paid")
							return "", nil
						})
					}()
					<-began
					if test.leaves {
						<-s.ctx.Done()
					}
					return tripOut{}, errors.New("no chairs")
				})[style], "")
				asked := tool.begin()
				ctx, hangUp := context.WithCancel(t.Context())
				defer hangUp()
				if test.leaves {
					go func() { <-began; hangUp() }()
				}
				reply := tool.round(ctx, "", asked.state, accepting(asked, "x"))
				require.ErrorContains(t, reply.err, `Whether "pay" was done is unknown`)
				synctest.Wait()
				require.Empty(t, did.all(), "it waits for the effect, and the request does not")
				close(end)
				synctest.Wait()
				require.Equal(t, []string{"paid", "undone"}, did.all())
				require.Len(t, seen.of(observe.EffectUndone), 1)
			})
		}
	}
}

// A client hangs up while linear code is at work. What it registered is left to its own
// goroutine: the client is told that it is in doubt, and the observer how it ended.
func TestUndoingIsLeftToAHandlerAtWork(t *testing.T) {
	if isStoreForced() {
		return // a client that hangs up does not end its round, see TestHangUpDuringWork
	}
	for name, undo := range undos {
		eachLinear(t, func(t *testing.T, style linearStyle) {
			inBubble(t, name, func(t *testing.T) {
				var did deeds
				var seen recorder
				working, end := make(chan struct{}), make(chan struct{})
				tool := newTrip(newTripRuntime(t, &mrtr.Options{Listener: observe.With(&seen)}), style(linearOf(func(s *stage, _ tripIn) (tripOut, error) {
					ask(s, text("q"))
					once(s, "reserve", did.do("reserved"))
					s.OnStop("reserve", func(context.Context, string, error) error { did.note("released"); return undo.undo() })
					close(working)
					<-end // whatever its context says
					return tripOut{}, nil
				})), "")
				asked := tool.begin()
				ctx, hangUp := context.WithCancel(t.Context())
				go func() { <-working; hangUp() }()
				reply := tool.round(ctx, "", asked.state, accepting(asked, "x"))
				require.ErrorIs(t, reply.err, context.Canceled)
				require.ErrorContains(t, reply.err, `Whether "reserve" was done is unknown`)
				require.Equal(t, "unknown", effectOf(reply.err))
				synctest.Wait()
				require.Zero(t, did.count("released"))
				close(end)
				synctest.Wait()
				require.Equal(t, 1, did.count("released"))
				events := slices.Concat(seen.of(observe.EffectUndone), seen.of(observe.StopFailed))
				require.Len(t, events, 1)
				require.Equal(t, undo.log, string(events[0].Kind))
				require.Equal(t, "reserve", events[0].Effect)
			})
		})
	}
}

// A decline comes to an instance that drains, and has to enter the journal for what it
// undoes. As long as a handler is held there, it does so. After that the call is left to
// another instance, and is not over.
func TestADeclineReachesAnInstanceThatDrains(t *testing.T) {
	for _, style := range []string{"journal", "resumable"} {
		eachStore(t, style, func(t *testing.T, stored bool) {
			synctest.Test(t, func(t *testing.T) {
				var did deeds
				records := shared{store.NewMemory(nil)}
				instance := func() *tripTool {
					opts := &mrtr.Options{}
					if stored {
						opts.Store = records
					}
					return newTrip(newTripRuntime(t, opts), linearStyles[style](linearOf(func(s *stage, in tripIn) (tripOut, error) {
						once(s, "reserve", did.do("reserved"))
						s.OnStop("reserve", func(context.Context, string, error) error { did.note("released"); return nil })
						ask(s, text("q"))
						return tripOut{}, nil
					})), "")
				}
				tool, other := instance(), instance()
				first, second := tool.begin(), tool.begin()
				var beside deeds
				waiting := &tripTool{rt: tool.rt, handler: mrtr.Tool(tool.rt, linear.Coroutine(twoStops(&beside)), &mrtr.HandlerOptions{Audience: "waiting"})}
				held := waiting.begin()
				end := drained(t.Context(), tool.rt)
				require.Empty(t, end, "a handler is held")
				decline := func(at *tripTool, asked tripReply) error {
					return at.round(t.Context(), "", asked.state, declining(asked)).err
				}
				require.Equal(t, []string{"reserve"}, ended(t, decline(tool, first), mrtr.Declined).Undone)
				require.Equal(t, 1, did.count("released"))
				goesOn(t, waiting, held)
				require.NoError(t, <-end)
				retryable(t, decline(tool, second), "shutting_down")
				require.Equal(t, 1, did.count("released"))
				require.Equal(t, []string{"reserve"}, ended(t, decline(other, second), mrtr.Declined).Undone)
				require.Equal(t, 2, did.count("released"))
			})
		})
	}
}

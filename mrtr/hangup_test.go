package mrtr_test

import (
	"context"
	"os"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/steps"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// hangUpPlaces are where the client leaves, in the round after its answer.
var hangUpPlaces = []string{"before the effect", "in the effect", "after the effect"}

// meeting is one call's part of a handler: it tells the client where the handler is.
type meeting struct {
	place              string
	here, gone         chan struct{}
	paid, undone, done atomic.Int32
	reached            atomic.Bool
	early              atomic.Bool // the undo did not wait for the effect
}

func newMeeting(place string) *meeting {
	return &meeting{place: place, here: make(chan struct{}), gone: make(chan struct{})}
}

func (m *meeting) reach(place string) {
	if m.place == place && m.reached.CompareAndSwap(false, true) {
		close(m.here)
		<-m.gone
	}
}

func (m *meeting) pay(ctx context.Context, _ string) (string, error) {
	m.reach("in the effect")
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	m.paid.Add(1)
	return "paid", nil
}

func (m *meeting) undo(context.Context, *mrtr.Call, mrtr.Undo[string]) error {
	m.early.Store(m.paid.Load() == 0)
	m.undone.Add(1)
	return nil
}

type meetingKey struct{}

func meetingOf(ctx context.Context) *meeting { return ctx.Value(meetingKey{}).(*meeting) }

// meetingStyles pay in the round after the question.
func meetingStyles() map[string]kit.Style {
	styles := kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
		kit.Ask(s, kit.Text("pay"))
		m := meetingOf(s.Ctx)
		s.Call.OnComplete(func(context.Context) { m.done.Add(1) })
		m.reach("before the effect")
		paid, err := mrtr.Once(s.Ctx, s.Call, "pay", m.pay)
		m.reach("after the effect")
		return kit.Out{Plan: paid}, err
	})
	stops := func(ctx context.Context, c *mrtr.Call, u mrtr.Undo[string]) error {
		return meetingOf(ctx).undo(ctx, c, u)
	}
	for name, style := range styles {
		styles[name] = style.OnStop(mrtr.UndoOf("pay", stops))
	}
	var list kit.Steps
	steps.Ask(&list, "pay", kit.Asks("pay", &kit.Deeds{}))
	done := steps.Do(&list, "charge", func(ctx context.Context, at *kit.At, idem string) (string, error) {
		return meetingOf(ctx).pay(ctx, idem)
	})
	steps.OnStop(&list, done, stops)
	list.End(func(ctx context.Context, at *kit.At) (kit.Out, error) {
		m := meetingOf(ctx)
		at.Call.OnComplete(func(context.Context) { m.done.Add(1) })
		m.reach("after the effect")
		return kit.Out{Plan: done.Of(at)}, nil
	})
	styles["steps"] = list.MustBuild()
	return styles
}

// A client hangs up while its round works. With a store the call goes on, and the next request
// gets its result. Without one the effect ends first, and is then undone. MRTR_HANGUPS sets how
// many calls there are of each style.
func TestHangUpDuringWork(t *testing.T) {
	calls := 400
	if os.Getenv("MRTR_NIGHTLY") == "1" {
		calls = 2000
	}
	if n, err := strconv.Atoi(os.Getenv("MRTR_HANGUPS")); err == nil {
		calls = n
	}
	styles := meetingStyles()
	require.NotEmpty(t, styles)
	for name, style := range styles {
		for _, stored := range []bool{true, false} {
			if !stored && kit.StoreForced() {
				continue
			}
			opts := &mrtr.Options{}
			if stored {
				opts = &mrtr.Options{State: &statecodec.Options{Ephemeral: true}, Durable: durable.In(store.NewMemory(nil), nil)}
			}
			tool := kit.NewTrip(kit.TripRuntime(t, opts), style, "")
			for i := range calls {
				m := newMeeting(hangUpPlaces[i%len(hangUpPlaces)])
				if name == "steps" && i%len(hangUpPlaces) == 0 {
					m.place = "in the effect"
				}
				values := context.WithValue(t.Context(), meetingKey{}, m)
				asked := tool.Round(values, "", "", nil)
				ctx, hangUp := context.WithCancel(values)
				go func() {
					<-m.here
					hangUp()
					close(m.gone)
				}()
				first := tool.Round(ctx, "", asked.State, kit.Accepting(asked, "yes"))
				hangUp()
				if stored {
					again := tool.Round(values, "", asked.State, kit.Accepting(asked, "yes"))
					require.Equal(t, kit.Reply{Plan: "paid"}, again, "%s: %v", m.place, first.Err)
				}
				require.Equal(t, m.paid.Load(), m.undone.Load()+m.done.Load(), "%s: what was done was undone, or the call completed", m.place)
				require.False(t, m.early.Load(), "%s: the undo waits for the effect", m.place)
				if stored {
					require.Equal(t, int32(1), m.done.Load(), "%s: the call went on", m.place)
				} else if m.place == "in the effect" {
					require.Equal(t, int32(1), m.paid.Load(), "the effect is not cut")
				}
			}
		}
	}
}

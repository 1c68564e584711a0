package durable_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/callerror"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/internal/report"
	"github.com/mrtr-go/sdk/mrtr/steps"
)

// hangUpPlaces are where the client leaves, in the round after its answer.
var hangUpPlaces = []string{"before the effect", "in the effect", "after the effect"}

// meeting tells a client that its handler has reached a place, and lets it go on when the client
// has left.
type meeting struct {
	place      string
	here, gone chan struct{}
	reached    atomic.Bool
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

// effectEnds are the ways in which a payment ends: all but the error have paid.
var effectEnds = map[string]func() error{
	"ok":      func() error { return nil },
	"error":   func() error { return errors.New("the card was refused") },
	"timeout": func() error { return context.DeadlineExceeded },
	"EOF":     func() error { return fmt.Errorf("bank: %w", io.EOF) },
	"panic":   func() error { panic("boom") },
}

// ledger counts payments outside of the engine, by their idempotency key.
type ledger struct {
	mu   sync.Mutex
	paid map[string]int
}

// bank is where an instance pays.
type bank struct {
	*ledger
	end    string
	meet   *meeting
	paying func() // runs when it has paid, nil for nothing
}

func newBank(end string, meet *meeting) *bank {
	return &bank{ledger: &ledger{paid: map[string]int{}}, end: end, meet: meet}
}

func (b *bank) charge(ctx context.Context, idem string) (string, error) {
	b.meet.reach("in the effect")
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if b.end != "error" {
		b.mu.Lock()
		b.paid[idem]++
		b.mu.Unlock()
	}
	if b.paying != nil {
		b.paying()
	}
	return "paid", effectEnds[b.end]()
}

func (b *ledger) payments() (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, count := range b.paid {
		n += count
	}
	return n
}

func (b *ledger) keys() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.paid)
}

// payers are styles that pay in the round after the question.
func payers(b *bank) map[string]kit.Style {
	styles := kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
		kit.Ask(s, kit.Text("pay"))
		b.meet.reach("before the effect")
		paid, err := mrtr.Once(s.Ctx, s.Call, "pay", b.charge)
		b.meet.reach("after the effect")
		return kit.Out{Plan: paid}, err
	})
	var list kit.Steps
	steps.Ask(&list, "pay", kit.Asks("pay", &kit.Deeds{}))
	steps.Ask(&list, "before", func(context.Context, *kit.At) (mrtr.Question[string], error) {
		b.meet.reach("before the effect")
		return mrtr.Known(""), nil
	})
	paid := steps.Do(&list, "charge", func(ctx context.Context, _ *kit.At, idem string) (string, error) { return b.charge(ctx, idem) })
	list.End(func(_ context.Context, at *kit.At) (kit.Out, error) {
		b.meet.reach("after the effect")
		return kit.Out{Plan: paid.Of(at)}, nil
	})
	styles["steps"] = list.MustBuild()
	return styles
}

// What becomes of a payment, by the style, how its function ended, what the client did,
// and the store. In each cell there is one payment at most (without a store, under one
// idempotency key), and the last answer is true of the bank's ledger.
func TestOutcomes(t *testing.T) {
	clients := append(slices.Clone(hangUpPlaces), "stays", "sends again at once")
	var table strings.Builder
	for _, stored := range []bool{true, false} {
		for _, style := range slices.Sorted(maps.Keys(payers(nil))) {
			for _, end := range slices.Sorted(maps.Keys(effectEnds)) {
				fmt.Fprintf(&table, "\nstore=%-5t %-9s %-7s", stored, style, end)
				for _, client := range clients {
					b, last := playOutcome(t, stored, style, end, client)
					answer := answerIn(last)
					fmt.Fprintf(&table, " | %s: %d %s", client, b.payments(), answer)
					where := fmt.Sprint(stored, style, end, client, last.Err)
					require.LessOrEqual(t, b.keys(), 1, where)
					if stored {
						require.LessOrEqual(t, b.payments(), 1, where)
					}
					switch answer {
					case "ok", "applied":
						require.NotZero(t, b.payments(), where)
					case "error":
						require.Zero(t, b.payments(), where)
					}
					if stored && end == "ok" {
						require.Equal(t, "ok", answer, where)
					}
				}
			}
		}
	}
	t.Log(table.String())
}

// answerIn is a reply in a word.
func answerIn(reply kit.Reply) string {
	switch {
	case reply.Err == nil:
		return "ok"
	case report.EffectOf(reply.Err) != "":
		return report.EffectOf(reply.Err)
	}
	return "error"
}

func playOutcome(t *testing.T, stored bool, style, end, client string) (*bank, kit.Reply) {
	opts := storeIf(stored)
	place := client
	if client == "sends again at once" {
		place = "in the effect"
	}
	b := newBank(end, newMeeting(place))
	tool := kit.NewTrip(kit.TripRuntime(t, opts), payers(b)[style], "")
	asked := tool.Begin()
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	first := make(chan kit.Reply, 1)
	go func() { first <- tool.Round(ctx, "", asked.State, kit.Accepting(asked, "yes")) }()
	if client == "stays" {
		<-first
		return b, tool.Answer(asked, "yes")
	}
	again := make(chan kit.Reply, 1)
	select {
	case <-b.meet.here:
		hangUp()
		if client == "sends again at once" {
			go func() { again <- tool.Answer(asked, "yes") }()
		}
		close(b.meet.gone)
	case reply := <-first: // it never came there
		first <- reply
	}
	<-first
	if client == "sends again at once" {
		<-again
	}
	return b, tool.Answer(asked, "yes")
}

// An effect in doubt is not run again, in the round or in a later one, whatever the style
// and the store; one that did not happen is.
func TestDoubtStays(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	const outOfTime = "an error of its own, when its time was up"
	tests := map[string]struct {
		err  error
		runs int // of two rounds that ask for it
	}{
		"EOF": {io.EOF, 1}, "unexpected EOF": {io.ErrUnexpectedEOF, 1}, "reset": {&net.OpError{Op: "read", Err: syscall.ECONNRESET}, 1},
		"pipe": {syscall.EPIPE, 1}, "closed": {net.ErrClosed, 1}, "late": {context.DeadlineExceeded, 1}, "cancelled": {context.Canceled, 1},
		"a server behind this one": {callerror.Unknown("lost", "instance_lost"), 1}, "which refused": {callerror.NotBegun("full", "full"), 2},
		"says so": {mrtr.ErrIndeterminate, 1}, outOfTime: {errors.New("no"), 1}, "refused": {refused, 2}, "plain": {errors.New("no"), 2}, "not done": {mrtr.NotDone(io.EOF), 2},
	}
	for name, test := range tests {
		for _, stored := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/store=%t", name, stored), func(t *testing.T) {
				opts := storeIf(stored)
				runs := 0
				tool := kit.NewTrip(kit.TripRuntime(t, opts), mrtr.Native(func(ctx context.Context, c *mrtr.Call, _ kit.In) (*mrtr.IncompleteResult, kit.Out, error) {
					if _, ok := mrtr.Answer(c, kit.Text("seat")); !ok {
						return mrtr.Need(kit.Text("seat")), kit.Out{}, nil
					}
					var o mrtr.EffectOptions[struct{}]
					if name == outOfTime {
						o.Within = time.Millisecond
					}
					_, err := mrtr.Once(ctx, c, "pay", func(ctx context.Context, _ string) (struct{}, error) {
						if runs++; name == outOfTime {
							<-ctx.Done()
						}
						return struct{}{}, test.err
					}, &o)
					if _, ok := mrtr.Answer(c, kit.Text("again")); !ok {
						return mrtr.Need(kit.Text("again")), kit.Out{}, nil
					}
					return nil, kit.Out{}, err
				}), "")
				last := tool.Answer(tool.Answer(tool.Begin(), "window"), "yes")
				require.Equal(t, test.runs, runs)
				if test.runs == 1 {
					require.Equal(t, []string{"pay"}, kit.Ended(t, last.Err, mrtr.OutcomeUnknown).Unknown)
				}
			})
		}
	}
}

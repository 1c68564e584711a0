package durable_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/store"
)

// siblings are instances with the same keys on one store, without a router.
type siblings struct {
	did      kit.Deeds
	memory   *store.Memory
	all      []*instance
	runtimes []*mrtr.Runtime
	tools    []*kit.Trip
}

func newSiblings(t *testing.T, n int, style func(*testing.T, *kit.Deeds) kit.Style) *siblings {
	s := &siblings{memory: store.NewMemory(nil)}
	for range n {
		i := newInstance(s.memory, "")
		rt := kit.TripRuntime(t, &mrtr.Options{Durable: durable.In(i, nil), Listener: observe.With(&i.events)})
		s.all = append(s.all, i)
		s.runtimes = append(s.runtimes, rt)
		s.tools = append(s.tools, kit.NewTrip(rt, style(t, &s.did), ""))
	}
	return s
}

// paidOnce is the end of a call of this file.
var paidOnce = kit.Reply{Plan: "window yes"}

// aLease is the default.
const aLease = 15 * time.Second

// With a store and nothing else, every retry may reach another instance than the one before.
// Each request gets the same answer when it comes again, wherever it does. A call completes in
// every style but a coroutine, which goes on where it is held and is gone everywhere else.
func TestCallsGoOnElsewhere(t *testing.T) {
	require.Len(t, duplicateStyles, 6)
	for _, c := range duplicateStyles {
		t.Run(c.name, func(t *testing.T) {
			s := newSiblings(t, 2, c.style)
			seat := s.tools[0].Begin()
			pay := s.tools[1].Answer(seat, "window")
			if c.name == "coroutine" {
				for _, at := range []int{1, 0, 1} {
					kit.Ended(t, pay.Err, mrtr.FrameGone)
					pay = s.tools[at].Answer(seat, "window")
				}
				require.Len(t, s.all[0].events.Of(observe.CallAbandoned), 1, "its frame ended with it")
				require.Zero(t, s.did.Count("held"))
			} else {
				require.Equal(t, []string{"pay"}, pay.Asks, "%v", pay.Err)
				for _, at := range []int{1, 0, 1, 0} {
					require.Equal(t, paidOnce, s.tools[at].Answer(pay, "yes"))
				}
				for at := range s.tools {
					require.Equal(t, pay, s.tools[at].Answer(seat, "window"), "the same bytes")
					refusedOtherwise(t, s.tools[at].Answer(pay, "no"))
				}
				require.Equal(t, []int{1, 1}, []int{s.did.Count("held"), s.did.Count("paid")})
			}
			for _, rt := range s.runtimes {
				kit.Soon(t, func() bool { return rt.Stats().Held == 0 }, "nothing is held")
			}
		})
	}
}

// Close has the same bound for a handler that ignores its end, with a store too.
func TestCloseIsBoundedWithAStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := newSiblings(t, 1, func(*testing.T, *kit.Deeds) kit.Style {
			return linear.Coroutine(kit.Linear(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
				kit.Ask(s, kit.Text("q"))
				<-release
				return kit.Out{}, nil
			}))
		})
		asked := s.tools[0].Begin()
		go s.tools[0].Answer(asked, "x")
		time.Sleep(time.Second)
		began := time.Now()
		require.Error(t, s.runtimes[0].Close())
		require.LessOrEqual(t, time.Since(began), 30*time.Second)
		close(release)
		time.Sleep(time.Minute)
	})
}

// A round that was declined does not answer a cancel, nor the other way round.
func TestADeclineIsNoCancel(t *testing.T) {
	responses := map[mrtr.Reason]string{mrtr.Declined: "decline", mrtr.Cancelled: "cancel"}
	for first, action := range responses {
		tool := kit.NewTrip(kit.TripRuntime(t, withStore(store.NewMemory(nil))), linear.Journal(holdAndPay(&kit.Deeds{})), "")
		seat := tool.Begin()
		say := func(action string) error {
			return tool.Round(t.Context(), "", seat.State, mcp.InputResponseMap{"seat": &mcp.ElicitResult{Action: action}}).Err
		}
		kit.Ended(t, say(action), first)
		for _, other := range responses {
			if other != action {
				kit.Code(t, say(other), jsonrpc.CodeInvalidParams)
			}
		}
		kit.Ended(t, say(action), first, "as before")
	}
}

// A round that is refused since too many run whose clients have left is free afterwards, with
// the effects that an earlier run of it has had.
func TestARefusedRoundLeavesItsTurnAsItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		goOn := make(chan struct{})
		opts := withStore(store.NewMemory(nil), &durable.Options{MaxOrphans: 1})
		rt := kit.TripRuntime(t, opts)
		waits := kit.NewTrip(rt, waitsFor(goOn), "")
		var did kit.Deeds
		failed := false
		pays := &kit.Trip{Handler: mrtr.Tool(rt, linear.Journal(kit.Linear(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
			kit.Ask(s, kit.Text("seat"))
			kit.Once(s, "pay", did.Do("paid"))
			if !failed {
				failed = true
				return kit.Out{}, soonBetter{errors.New("busy")}
			}
			return kit.Out{Plan: "paid"}, nil
		})), &mrtr.HandlerOptions{Audience: "pays"})}
		seat := pays.Begin()
		require.ErrorContains(t, pays.Answer(seat, "window").Err, "busy")

		asked := waits.Begin()
		ctx, hangUp := context.WithTimeout(t.Context(), time.Second)
		defer hangUp()
		require.ErrorIs(t, waits.Round(ctx, "", asked.State, kit.Accepting(asked, "window")).Err, context.DeadlineExceeded)
		kit.Code(t, pays.Answer(seat, "window").Err, -31001)
		close(goOn)
		synctest.Wait()
		require.Equal(t, kit.Reply{Plan: "paid"}, pays.Answer(seat, "window"))
		require.Equal(t, 1, did.Count("paid"))
	})
}

// soldOut is an error whose nil pointer has no text.
type soldOut struct{ what string }

func (e *soldOut) Error() string { return e.what + " is sold out" }

// moody is an error that panics when it is asked whether it is retryable.
type moody struct{}

func (moody) Error() string            { return "moody" }
func (moody) ToolErrorRetryable() bool { panic("moody") }

// sour is an output that panics when it is read.
type sour struct{}

func (sour) MarshalJSON() ([]byte, error) { panic("sour") }

// badlyEnded are handlers whose error or result panics when it is read.
func badlyEnded() map[string]linear.Func[kit.In, sour] {
	ending := func(end func() (sour, error)) linear.Func[kit.In, sour] {
		return kit.Linear(func(s *kit.Stage, _ kit.In) (sour, error) {
			kit.Ask(s, kit.Text("q"))
			return end()
		})
	}
	return map[string]linear.Func[kit.In, sour]{
		"an error that is a nil pointer": ending(func() (sour, error) { var none *soldOut; return sour{}, none }),
		"an error that panics":           ending(func() (sour, error) { return sour{}, moody{} }),
		"a result that panics":           ending(func() (sour, error) { return sour{}, nil }),
	}
}

// sendSour makes one request of such a handler, as go-sdk would.
func sendSour(handler mcp.ToolHandlerFor[kit.In, sour], state string) (*mcp.CallToolResult, error) {
	req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{
		Meta: kit.ModernMeta(),
		Name: "trip", Arguments: json.RawMessage(`{"who":""}`), RequestState: state,
	}}
	if state != "" {
		req.Params.InputResponses = mcp.InputResponseMap{"q": &mcp.ElicitResult{Action: "accept", Content: map[string]any{"q": "x"}}}
	}
	res, _, err := handler(context.Background(), req, kit.In{})
	return res, err
}

// An error or a result that panics when it is read ends its call, where its frame is held and
// where it is replayed. Its turn does not stay claimed.
func TestResultsThatPanicEndTheCallAndNothingElse(t *testing.T) {
	for explanation, handler := range badlyEnded() {
		t.Run(explanation, func(t *testing.T) {
			shared := kit.Shared{Memory: store.NewMemory(nil)}
			var tools [2]mcp.ToolHandlerFor[kit.In, sour]
			for i := range tools {
				rt := kit.TripRuntime(t, &mrtr.Options{Durable: durable.In(shared, nil)})
				tools[i] = mrtr.Tool(rt, linear.Resumable(handler), nil)
			}
			for _, at := range []int{0, 1} { // where the frame is, and elsewhere
				asked, err := sendSour(tools[0], "")
				require.NoError(t, err)
				_, first := sendSour(tools[at], asked.RequestState)
				require.Error(t, first)
				_, second := sendSour(tools[at], asked.RequestState)
				require.Error(t, second)
				require.NotContains(t, second.Error(), "running", "the turn is not claimed any more")
				require.Equal(t, "The tool failed unexpectedly.", first.Error())
				require.Equal(t, first.Error(), second.Error())
			}
		})
	}
}

// Without a store too, go-sdk gets an error that it can read.
func TestAnErrorThatIsANilPointerEndsItsCall(t *testing.T) {
	rt := kit.TripRuntime(t, nil)
	handler := mrtr.Tool(rt, linear.Journal(badlyEnded()["an error that is a nil pointer"]), nil)
	asked, err := sendSour(handler, "")
	require.NoError(t, err)
	_, err = sendSour(handler, asked.RequestState)
	var panicked *mrtr.PanicError
	require.ErrorAs(t, err, &panicked)
}

// The claim of a first round fails as its first effect begins, while another effect of the round waits
// to begin, or before the effect is tried again. Either nothing has begun, or the round goes on: nobody is told the one
// where the other is so, and no claim is left that nobody runs.
func TestAClaimThatFailsBesideAnotherEffect(t *testing.T) {
	for name := range kit.EveryStyle(kit.Around(nil)) {
		for _, atOnce := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, at once %t", name, atOnce), func(t *testing.T) { // in real time: one waits for a lock
				s := newHookedStore()
				s.scope = store.Machine
				var did kit.Deeds
				claiming, giveUp := make(chan struct{}), func() {}
				rt := kit.TripRuntime(t, &mrtr.Options{Durable: durable.In(s, &durable.Options{Wait: time.Second})})
				tool := kit.NewTrip(rt, kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
					effect := func(ctx context.Context, key string) error {
						_, err := mrtr.Once(ctx, s.Call, key, did.Do(key))
						return err
					}
					own, cancel := context.WithCancel(s.Ctx)
					defer cancel()
					var err error
					if giveUp = cancel; atOnce {
						var one, other error
						var both sync.WaitGroup
						both.Go(func() { one = effect(s.Ctx, "a") })
						<-claiming
						both.Go(func() { other = effect(s.Ctx, "b") })
						both.Wait()
						err = errors.Join(one, other)
					} else if effect(own, "a") != nil {
						err = effect(s.Ctx, "a")
					}
					if err != nil {
						return kit.Out{}, err
					}
					return kit.Out{Plan: kit.Ask(s, kit.Text("seat"))}, nil
				})[name], "")
				s.on(func(op operation) error {
					if op.name != "create" {
						return nil
					}
					s.fail(nil)
					close(claiming)
					if !atOnce {
						giveUp()
						<-op.Done()
						return op.Err()
					}
					for range 10_000 {
						runtime.Gosched() // the other one comes to wait
					}
					return errors.New("connection lost")
				})
				asked := tool.Begin()
				if atOnce {
					retryable(t, asked.Err, "store_unavailable")
					require.Empty(t, did.Done)
					asked = tool.Begin()
				}
				require.NoError(t, asked.Err)
				require.NoError(t, tool.Begin().Err, "an equal request joins it")
				require.Equal(t, kit.Reply{Plan: "window"}, tool.Answer(asked, "window"))
				want := map[string]int{"a": 1}
				if atOnce {
					want["b"] = 1
				}
				require.Equal(t, want, did.Done)
			})
		}
	}
}

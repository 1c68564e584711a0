package mrtr_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/mrtr/steps"
	"github.com/mrtr-go/sdk/sse"
)

// undos are the ways in which undoing a reservation ends.
var undos = map[string]struct {
	undo   func() error
	effect string // that the client and the boundary are told
	text   string // the sentence about it
	log    string
	level  string
}{
	"undone":                {func() error { return nil }, "undone", `"reserve" was undone.`, "effect undone", "INFO"},
	"could not be undone":   {func() error { return errors.New("the desk is closed") }, "applied", `"reserve" was done and could not be undone: do not call the tool again without checking.`, "on stop failed", "ERROR"},
	"in doubt":              {func() error { return context.DeadlineExceeded }, "unknown", `Whether "reserve" was done is unknown: do not call the tool again without checking.`, "on stop failed", "ERROR"},
	"in doubt by a panic":   {func() error { panic("boom") }, "unknown", `Whether "reserve" was done is unknown: do not call the tool again without checking.`, "on stop failed", "ERROR"},
	"in doubt by a Goexit":  {func() error { runtime.Goexit(); return nil }, "unknown", `Whether "reserve" was done is unknown: do not call the tool again without checking.`, "on stop failed", "ERROR"},
	"not known to be there": {func() error { return mrtr.ErrIndeterminate }, "unknown", `Whether "reserve" was done is unknown: do not call the tool again without checking.`, "on stop failed", "ERROR"},
}

// reserving is a handler that reserves, asks q, and undoes the reservation.
type reserving struct {
	undo  func() error
	end   error // of the handler, when q is answered
	did   deeds
	mu    sync.Mutex
	idems []string // of its undoing, guarded by mu
}

func (r *reserving) release(_ context.Context, idem string, _ error) error {
	r.did.note("released")
	r.mu.Lock()
	r.idems = append(r.idems, idem)
	r.mu.Unlock()
	if r.undo == nil {
		return nil
	}
	return r.undo()
}

func (r *reserving) styles() map[string]tripStyle {
	styles := everyStyle(func(s *stage, _ tripIn) (tripOut, error) {
		once(s, "reserve", r.did.do("reserved"))
		s.OnStop("reserve", r.release)
		ask(s, text("q"))
		return tripOut{}, r.end
	})
	var list tripSteps
	steps.Do(&list, "reserve", func(ctx context.Context, _ *tripAt, idem string) (string, error) {
		return r.did.do("reserved")(ctx, idem)
	})
	steps.Always(&list, text("q"))
	list.OnStop("reserve", func(ctx context.Context, _ *tripAt, idem string, err error) error { return r.release(ctx, idem, err) })
	list.End(func(context.Context, *tripAt) (tripOut, error) { return tripOut{}, r.end })
	styles["steps"] = list.MustBuild()
	return styles
}

// eachReserving runs a test once for each style.
func eachReserving(t *testing.T, test func(t *testing.T, style string)) {
	styles := (&reserving{}).styles()
	require.Len(t, styles, 5)
	for style := range styles {
		t.Run(style, func(t *testing.T) { test(t, style) })
	}
}

// call makes a call behind a boundary. It returns what the client is told, and the log.
func (r *reserving) call(t *testing.T, style string, opts *mrtr.Options, client *wire.Options, answer wire.Answer) (*wire.Outcome, string) {
	t.Helper()
	logger, log := newLog()
	opts.Observer = observe.Log(logger)
	rt, _ := newRuntime(t, opts)
	server := serveStyle(rt, r.styles()[style], nil)
	require.NoError(t, boundary.Install(server, &boundary.Options{Logger: logger}))
	out, err := connect(t, server, client).Call(t.Context(), "tool", map[string]any{"who": ""}, wire.Answers{"q": answer})
	require.NoError(t, err)
	require.True(t, out.IsError)
	require.Equal(t, 1, r.did.count("released"))
	return out, log.String()
}

// Undoing is an effect: how it ended is told to the client, the log, the observer and the
// boundary, in every style, with and without a store.
func TestCompensation(t *testing.T) {
	for name, test := range undos {
		eachStore(t, name, func(t *testing.T, stored bool) {
			eachReserving(t, func(t *testing.T, style string) {
				out, log := (&reserving{undo: test.undo}).call(t, style, storeIf(stored), nil, wire.Decline)
				require.Contains(t, out.Text, `Stopped: "q" was declined.`)
				require.Contains(t, out.Text, test.text)
				require.Contains(t, string(out.Result), fmt.Sprintf(`"effect":%q`, test.effect))
				found := false
				for line := range strings.Lines(log) {
					if strings.Contains(line, fmt.Sprintf("msg=%q", test.log)) {
						found = true
						require.Contains(t, line, "level="+test.level)
						require.Contains(t, line, "effect=reserve")
					}
				}
				require.True(t, found, log)
			})
		})
	}
}

// Five equal declines at once undo once with a store. Without one each undoes, under one
// idempotency key.
func TestCompensationInARace(t *testing.T) {
	eachStore(t, "five at once", func(t *testing.T, stored bool) {
		eachReserving(t, func(t *testing.T, style string) {
			var r reserving
			tool := newTrip(newTripRuntime(t, storeIf(stored)), r.styles()[style], "")
			asked := tool.begin()
			var all sync.WaitGroup
			replies := make([]tripReply, 5)
			for i := range replies {
				all.Go(func() { replies[i] = tool.round(t.Context(), "", asked.state, declining(asked)) })
			}
			all.Wait()
			for _, reply := range replies {
				if stored || style != "coroutine" { // whose frame is gone for the others
					require.Equal(t, []string{"reserve"}, ended(t, reply.err, mrtr.Declined).Undone)
				}
			}
			if stored {
				require.Equal(t, 1, r.did.count("released"))
			}
			require.NotEmpty(t, r.idems)
			for _, idem := range r.idems {
				require.Equal(t, r.idems[0], idem)
			}
		})
	})
}

// An author ends a call that is not wanted: its effects are undone, the client reads the
// author's words, and nothing in the log is a fault.
func TestAQuietNo(t *testing.T) {
	no := &mrtr.Error{Reason: mrtr.Declined, Detail: "the price was too high"}
	for era, client := range map[string]*wire.Options{"modern": nil, "legacy": legacyClient} {
		t.Run(era, func(t *testing.T) {
			eachReserving(t, func(t *testing.T, style string) {
				out, log := (&reserving{end: no}).call(t, style, &mrtr.Options{}, client, wire.Value("x"))
				require.Contains(t, out.Text, "Stopped: the price was too high.")
				require.Contains(t, out.Text, `"reserve" was undone.`)
				require.NotContains(t, log, "level=ERROR")
				require.NotContains(t, log, "level=WARN")
				require.NotEmpty(t, log)
			})
		})
	}
}

// A step of which nobody knows whether it happened is undone by a function that knows so,
// and that is told apart from a step that happened and from one that was never begun.
func TestAStepInDoubtIsUndone(t *testing.T) {
	for explanation, pay := range map[string]func() (any, error){
		"happened":                     func() (any, error) { return "paid", nil },
		"in doubt by its error":        func() (any, error) { return "", context.DeadlineExceeded },
		"in doubt by its value":        func() (any, error) { return func() {}, nil },
		"in doubt by its value, panic": func() (any, error) { return sour{}, nil },
		"in doubt by its panic":        func() (any, error) { panic(canary) },
		"in doubt by its Goexit":       func() (any, error) { runtime.Goexit(); return "", nil },
		"never begun":                  nil,
	} {
		t.Run(explanation, func(t *testing.T) {
			var list tripSteps
			var found []string
			steps.Do(&list, "reserve", does("reserve", &deeds{}, "seat"))
			paying := steps.Do(&list, "pay", func(context.Context, *tripAt, string) (any, error) {
				if pay == nil {
					return nil, mrtr.NotDone(errors.New("no money"))
				}
				return pay()
			})
			list.OnStop("pay", func(_ context.Context, at *tripAt, _ string, _ error) error {
				found = append(found, fmt.Sprint(paying.Happened(at), paying.InDoubt(at)))
				return nil
			})
			list.End(func(context.Context, *tripAt) (tripOut, error) { return tripOut{}, errors.New("no chairs") })
			reply := serveTrip(t, list.MustBuild()).begin()
			doubtful := strings.HasPrefix(explanation, "in doubt")
			require.Equal(t, []string{fmt.Sprint(explanation == "happened", doubtful)}, found)
			require.Error(t, reply.err)
			said := toldBy(reply.err)
			require.Equal(t, explanation != "never begun", strings.Contains(said, `"pay" was undone`), said)
		})
	}
}

// A legacy client that fails to be asked ends its call. What became of its effects is told to
// it, the log and the boundary as to a modern one.
func TestCompensationOfALegacyClientThatIsNotAsked(t *testing.T) {
	for name, test := range undos {
		for explanation, answer := range map[string]wire.Answer{
			"it answers with an error":  wire.Fail(-32000, "no user"),
			"it fails when asked again": wire.InTurn(wire.Raw(`{"action":"accept"}`), wire.Fail(-32000, "no user")),
			"its answer cannot be read": wire.Raw(`{"action":7}`),
			"it never answers":          wire.Missing,
		} {
			t.Run(name+"/"+explanation, func(t *testing.T) {
				eachReserving(t, func(t *testing.T, style string) {
					bridge := &mrtr.Options{Bridge: &sse.BridgeOptions{AnswerTimeout: 100 * time.Millisecond}}
					out, log := (&reserving{undo: test.undo}).call(t, style, bridge, legacyClient, answer)
					require.Contains(t, out.Text, test.text)
					require.Contains(t, string(out.Result), fmt.Sprintf(`"effect":%q`, test.effect))
					require.Contains(t, log, fmt.Sprintf("level=%s msg=%q", test.level, test.log))
				})
			})
		}
	}
}

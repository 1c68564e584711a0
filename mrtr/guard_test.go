package mrtr_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/listen"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/mrtr/steps"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// hazard lets the code of this file end as no code should, at one place.
type hazard struct {
	at    string
	end   func()
	armed atomic.Bool
	met   atomic.Int32
}

// hazardNow is that of the cell which runs: a method of a value has no other way to it.
var hazardNow atomic.Pointer[hazard]

func risk(at string) {
	if h := hazardNow.Load(); h != nil && h.at == at && h.armed.Load() {
		h.met.Add(1)
		h.end()
	}
}

func isAt(places ...string) bool { return slices.Contains(places, hazardNow.Load().at) }

// badEnds are the ways to end it.
var badEnds = map[string]func(){
	"panic":                       func() { panic(kit.Canary) },
	"panic with a nil pointer":    func() { var none *hazard; none.met.Add(1) },
	"panic that cannot be read":   func() { var none *soldOut; panic(none) },
	"panic with an error's panic": func() { panic(riskyError{"any", true}) },
	"Goexit":                      runtime.Goexit,
}

type riskyAnswer string

func (a *riskyAnswer) UnmarshalText(b []byte) error {
	risk("an answer is decoded")
	*a = riskyAnswer(b)
	return nil
}

func (a riskyAnswer) MarshalText() ([]byte, error) {
	risk("a default is encoded")
	return []byte(a), nil
}

// risky is a value that says at which place its methods are called.
type risky struct{ value, encoded, decoded string }

func (r risky) MarshalJSON() ([]byte, error) { risk(r.encoded); return json.Marshal(r.value) }

type riskyReceipt struct{ risky }

func (r *riskyReceipt) UnmarshalJSON(b []byte) error {
	risk("a value is decoded")
	return json.Unmarshal(b, &r.value)
}

type riskyOut struct{ risky }

func (o *riskyOut) UnmarshalJSON(b []byte) error {
	risk("a result is decoded")
	o.encoded = "a result is encoded"
	return json.Unmarshal(b, &o.value)
}

func (o riskyOut) Text() string           { risk("Text"); return o.value }
func (o riskyOut) Content() []mcp.Content { risk("Content"); return nil }
func (o riskyOut) Meta() mcp.Meta         { risk("Meta"); return nil }

// riskyError is an error of some code, each of whose methods is a place.
type riskyError struct {
	of  string
	bad bool // it panics anywhere
}

func (e riskyError) method(name string) {
	if e.bad {
		panic(kit.Canary)
	}
	risk(name + " of " + e.of)
}

func (e riskyError) Error() string            { e.method("text"); return "an error" }
func (e riskyError) ToolErrorRetryable() bool { e.method("retryable"); return false }
func (e riskyError) Is(error) bool            { e.method("Is"); return false }

func errorPlaces(of string) []string {
	return []string{"text of " + of, "retryable of " + of, "Is of " + of}
}

type riskyObserver struct{}

func (riskyObserver) Observe(context.Context, observe.Event) { risk("Observer") }
func (riskyObserver) RoundContext(ctx context.Context, _ observe.Event) context.Context {
	risk("RoundContext")
	return ctx
}

// payments are those of one cell, by their idempotency keys.
type payments struct {
	mu    sync.Mutex
	count int
	idems map[string]bool
}

func (p *payments) pay(_ context.Context, idem string) (riskyReceipt, error) {
	p.mu.Lock()
	p.count++
	p.idems[idem] = true
	p.mu.Unlock()
	risk("an effect")
	for _, place := range errorPlaces("an effect") {
		if isAt(place) {
			return riskyReceipt{}, riskyError{of: "an effect"}
		}
	}
	if isAt("Check") {
		return riskyReceipt{}, mrtr.ErrIndeterminate
	}
	return riskyReceipt{risky{"paid", "a value is encoded", ""}}, nil
}

func (p *payments) check(context.Context, string) (r riskyReceipt, happened bool, err error) {
	risk("Check")
	return r, false, mrtr.ErrIndeterminate
}

func (p *payments) options() *mrtr.EffectOptions[riskyReceipt] {
	return &mrtr.EffectOptions[riskyReceipt]{Check: p.check}
}

func riskyUndo(context.Context, *mrtr.Call, mrtr.Undo[riskyReceipt]) error {
	risk("OnStop")
	return riskyError{of: "OnStop"}
}

func stopsAt() bool { return isAt("OnStop", "Is of OnStop") }

// riskyEnd is how each handler ends.
func riskyEnd(c *mrtr.Call) (riskyOut, error) {
	c.OnComplete(func(context.Context) { risk("OnComplete") })
	risk("after the effect")
	switch {
	case isAt(errorPlaces("a handler")...):
		return riskyOut{}, riskyError{of: "a handler"}
	case stopsAt():
		return riskyOut{}, errors.New("no more chairs")
	}
	return riskyOut{risky{"paid", "a result is encoded", "a result is decoded"}}, nil
}

func riskyQuestion() mrtr.Question[riskyAnswer] {
	return mrtr.Elicit[riskyAnswer]("q", "q?").Default("x")
}

// riskyStyles is one handler in every style. The native one pays beside Once.
func riskyStyles(p *payments) map[string]mrtr.Style[kit.In, riskyOut] {
	body := func(once bool) kit.StageFunc[kit.In, riskyOut] {
		return func(s *kit.Stage, in kit.In) (riskyOut, error) {
			kit.Ask(s, riskyQuestion())
			risk("before the effect")
			if once {
				_, err := mrtr.Once(s.Ctx, s.Call, "pay", p.pay, p.options())
				kit.Unless(err, in)
			} else if _, err := p.pay(s.Ctx, s.ID()); err != nil {
				return riskyOut{}, err
			}
			return riskyEnd(s.Call)
		}
	}
	styles := kit.EveryStyle(body(true))
	styles["once"], styles["native"] = styles["native"], mrtr.Native(kit.Guarded(body(false)))
	var list steps.List[kit.In, riskyOut]
	steps.Ask(&list, "q", func(context.Context, *kit.At) (mrtr.Question[riskyAnswer], error) { return riskyQuestion(), nil })
	steps.Ask(&list, "known", func(context.Context, *kit.At) (mrtr.Question[string], error) {
		risk("before the effect")
		return mrtr.Known("x"), nil
	})
	steps.Do(&list, "pay", func(ctx context.Context, _ *kit.At, idem string) (riskyReceipt, error) { return p.pay(ctx, idem) }, p.options())
	list.End(func(_ context.Context, at *kit.At) (riskyOut, error) { return riskyEnd(at.Call) })
	styles["steps"] = list.MustBuild()
	for name, style := range styles {
		if stopsAt() {
			styles[name] = style.OnStop(mrtr.UndoOf("pay", riskyUndo))
		}
	}
	return styles
}

var allStyles = []string{"native", "once", "steps", "journal", "resumable", "coroutine"}

// riskyPlace is a place where the engine calls code that others wrote.
type riskyPlace struct {
	styles    []string // that come to it
	fromStart bool     // round one comes to it
	stored    bool     // without a store the engine does not
	inDoubt   bool     // the effect is
}

func riskyPlaces() map[string]riskyPlace {
	effects := allStyles[1:]
	places := map[string]riskyPlace{
		"a default is encoded": {styles: allStyles, fromStart: true},
		"a value is encoded":   {styles: effects, inDoubt: true},
		"a value is decoded":   {styles: effects},
		"OnStop":               {styles: effects},
		"Is of OnStop":         {styles: effects},
		"an effect":            {styles: effects, inDoubt: true},
		"Check":                {styles: effects, inDoubt: true},
		"a result is encoded":  {styles: allStyles, stored: true},
		"a result is decoded":  {styles: allStyles, stored: true},
	}
	for _, place := range errorPlaces("an effect") {
		places[place] = riskyPlace{styles: effects, inDoubt: true}
	}
	for _, place := range slices.Concat([]string{
		"an answer is decoded", "before the effect", "after the effect", "OnComplete",
		"Text", "Content", "Meta", "Observer", "RoundContext", "Principal",
	}, errorPlaces("a handler"), errorPlaces("Principal")) {
		places[place] = riskyPlace{styles: allStyles}
	}
	return places
}

// riskyCall is one request as go-sdk would make it. It has to end with an answer.
func riskyCall(t *testing.T, tool mcp.ToolHandlerFor[kit.In, riskyOut], state string) (reply kit.Reply) {
	t.Helper()
	request := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{
		Meta: kit.ModernMeta(), Name: "trip", Arguments: json.RawMessage(`{"who":""}`), RequestState: state,
	}}
	if state != "" {
		request.Params.InputResponses = mcp.InputResponseMap{"q": kit.Accept("q", "x")}
	}
	answers := make(chan kit.Reply, 2)
	go func() {
		defer close(answers)
		res, out, err := tool(context.Background(), request, kit.In{})
		switch {
		case err != nil:
			answers <- kit.Reply{Err: err}
		case res != nil && res.InputRequests != nil:
			answers <- kit.Reply{Asks: slices.Sorted(maps.Keys(res.InputRequests)), State: res.RequestState}
		default:
			answers <- kit.Reply{Plan: out.value}
		}
	}()
	select {
	case one, ok := <-answers:
		require.True(t, ok, "the request is answered")
		reply = one
	case <-time.After(30 * time.Second):
		require.Fail(t, "the request is not answered")
	}
	if reply.Err != nil {
		require.NotEmpty(t, reply.Err.Error())
		require.NotContains(t, reply.Err.Error(), kit.Canary)
		require.NotContains(t, reply.Err.Error(), "running", "the turn is not claimed any more")
		return reply
	}
	require.True(t, reply.Plan == "paid" || len(reply.Asks) > 0 && reply.State != "", "%+v", reply)
	return reply
}

// Wherever code that others wrote panics or ends its goroutine: each request gets one answer,
// which tells nothing of the panic, the effect happens once however often the request is sent
// again, and the runtime serves the next call and holds nothing.
func TestAuthorsCodeIsGuarded(t *testing.T) {
	stores := map[string]func() store.Store{
		"no store": func() store.Store { return nil },
		"memory":   func() store.Store { return store.NewMemory(nil) },
		"shared":   func() store.Store { return kit.Shared{Memory: store.NewMemory(nil)} },
	}
	cells := 0
	for at, place := range riskyPlaces() {
		for how, end := range badEnds {
			for _, style := range place.styles {
				for kept, newStore := range stores {
					stored := newStore() != nil
					if place.stored && !stored || !stored && kit.StoreForced() {
						continue
					}
					if cells++; !kit.Tried(cells) {
						continue
					}
					t.Run(fmt.Sprintf("%s/%s/%s/%s", at, how, style, kept), func(t *testing.T) {
						h := &hazard{at: at, end: end}
						hazardNow.Store(h)
						defer hazardNow.Store(&hazard{})
						opts := &mrtr.Options{
							Listener: observe.With(riskyObserver{}),
							Principal: func(context.Context, mcp.Request) (string, error) {
								risk("Principal")
								if isAt(errorPlaces("Principal")...) && h.armed.Load() {
									return "", riskyError{of: "Principal"}
								}
								return "ann", nil
							},
						}
						if kept != "no store" {
							opts.Durable = durable.In(newStore(), nil)
						}
						if kept == "memory" { // it goes with keys of its own
							opts.State = &statecodec.Options{}
						}
						rt := kit.TripRuntime(t, opts)
						paid := &payments{idems: map[string]bool{}}
						tool := mrtr.Tool(rt, riskyStyles(paid)[style], nil)
						h.armed.Store(place.fromStart)
						first := riskyCall(t, tool, "")
						h.armed.Store(true)
						for range 4 { // and again, three times
							last := riskyCall(t, tool, first.State)
							if effect := (interface{ ToolErrorEffect() string })(nil); place.inDoubt {
								require.ErrorAs(t, last.Err, &effect)
								require.Equal(t, "unknown", effect.ToolErrorEffect())
							}
						}
						require.NotZero(t, h.met.Load(), "the place was come to")
						h.armed.Store(false)
						if last := riskyCall(t, tool, first.State); last.Asks != nil {
							riskyCall(t, tool, last.State)
						}
						require.LessOrEqual(t, len(paid.idems), 1, "of one idempotency key")
						if stored {
							require.LessOrEqual(t, paid.count, 1)
						}

						hazardNow.Store(&hazard{})
						next := riskyCall(t, tool, "")
						require.Equal(t, []string{"q"}, next.Asks)
						require.Equal(t, kit.Reply{Plan: "paid"}, riskyCall(t, tool, next.State))
						kit.Soon(t, func() bool { return rt.Stats() == listen.Stats{} }, "nothing is held")
					})
				}
			}
		}
	}
	require.Greater(t, cells, 1500)
}

// soldOut is an error whose nil pointer has no text.
type soldOut struct{ what string }

func (e *soldOut) Error() string { return e.what + " is sold out" }

package mrtr

import (
	"cmp"
	"context"
	"encoding/json"
	"reflect"
	"runtime/debug"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/jsontext"
	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/mrtr/internal/audience"
	"github.com/mrtr-go/sdk/mrtr/internal/failure"
	"github.com/mrtr-go/sdk/mrtr/internal/registry"
	"github.com/mrtr-go/sdk/mrtr/internal/report"
	"github.com/mrtr-go/sdk/mrtr/internal/result"
	"github.com/mrtr-go/sdk/mrtr/keep"
)

// HandlerOptions configure one handler. Zero fields mean the settings of the runtime.
type HandlerOptions struct {
	Legacy    LegacyPolicy
	Unaskable UnaskablePolicy
	// Version is that of the handler; if empty, the build's.
	Version string
	// Needs are questions that every call asks: a client that can't answer one is refused at
	// once.
	Needs []AnyQuestion
	// Name is that of the tool. [Add] knows it.
	Name string
	// Audience distinguishes handlers that have one name and Runtime.
	Audience string
	// StateTTL is how long a user may take to answer.
	StateTTL time.Duration
	// Unstored: Options.Durable does not keep the rounds of this handler.
	Unstored bool
	Same     SamePolicy
	SameKey  func(ctx context.Context, req mcp.Request) string
	// RunAgain: a round whose instance died runs again, as those of Journal, Resumable and steps do.
	// No effect happens twice; code beside effects does. Other calls end with [OutcomeUnknown],
	// unless a Check settles every effect in doubt.
	RunAgain bool
	// Within bounds a kept round; 5 minutes if zero.
	Within time.Duration
	// Cancel passes the client's cancellation on to code outside effects.
	Cancel bool
	Task   TaskPolicy
}

// target is a registered handler without its types.
type target struct {
	registry.Handler
	rt        *Runtime
	policy    LegacyPolicy
	unaskable UnaskablePolicy
	version   string
	needs     needs
	unstored  bool
	same      SamePolicy
	sameKey   func(ctx context.Context, req mcp.Request) string
	again     bool // a round that was cut off runs again
	cancel    bool
	within    time.Duration // of a round that is kept
	task      rendezvous.TaskPolicy
	codec     sealer // nil for that of the runtime
	ttl       time.Duration

	print          string
	goes           func(print string) bool
	differs        func(p *Pass, print string) error
	replays, holds bool
	undos          []Undoing
	legacyUndos    []Undoing // of the style that legacy clients are served with
	wait           func(p *Pass) error
	leave          func(p *Pass, elsewhere bool)
	save           func(value any) (json.RawMessage, error)
	load           func(saved json.RawMessage) (any, error)
	stopped        func(out any) keep.Outcome
}

// newTarget checks the options of a registration. It panics on misuse, as go-sdk's functions for
// registering do.
func newTarget[In, Out any](rt *Runtime, s *Style[In, Out], opts *HandlerOptions, format result.Format[Out]) *target {
	var o HandlerOptions
	if opts != nil {
		o = *opts
	}
	legacy := s
	if s.legacy != nil {
		legacy = s.legacy
	}
	needs, err := needsOf(s.Asks, legacy.Asks, o.Needs)
	if err = cmp.Or(err,
		inherit(&o.Legacy, rt.opts.Legacy, LegacyPassThrough, "HandlerOptions.Legacy"),
		inherit(&o.Unaskable, rt.opts.Unaskable, UnaskableDefaults, "HandlerOptions.Unaskable"),
		inherit(&o.Same, rt.opts.Same, SameWaiting, "HandlerOptions.Same"),
		checkUndos(s.Undos), checkUndos(legacy.Undos), o.Task.check(),
	); err != nil {
		panic(err)
	}
	switch {
	case s.Enter == nil:
		panic(misuse("the zero Style handles nothing: its handler is nil, or Build failed"))
	case o.Within < 0:
		panic(misuse("HandlerOptions.Within is negative: %v", o.Within))
	case o.RunAgain && s.Holds && !s.Replays:
		panic(misuse("HandlerOptions.RunAgain is set, and a Coroutine cannot run again: use Resumable"))
	}
	t := &target{
		rt: rt, policy: o.Legacy, unaskable: o.Unaskable, version: cmp.Or(strings.ToValidUTF8(o.Version, "\ufffd"), buildVersion),
		needs: needs, unstored: o.Unstored, same: o.Same, sameKey: o.SameKey, again: s.Again || o.RunAgain, cancel: o.Cancel,
		within: cmp.Or(o.Within, defaultWithin), task: rendezvous.TaskPolicy(o.Task), ttl: cmp.Or(o.StateTTL, rt.StateTTL()),
		print: s.Print, goes: s.Continues, differs: s.Differs, replays: s.Replays, holds: s.Holds, undos: s.Undos, legacyUndos: legacy.Undos, wait: s.Wait, leave: s.Leave,
		save: result.Saver(format), load: result.Loader(format), stopped: stopper(format),
	}
	if t.sameKey == nil {
		t.sameKey = rt.opts.SameKey
	}
	if o.StateTTL != 0 {
		rt.sealFor(t)
	}
	t.Name, t.Audience, t.OwnAudience = o.Name, audience.Of(rt.opts.Audience, o.Audience), o.Audience != ""
	if t.Name != "" {
		rt.registrations.Add(t)
	}
	rt.audiences.Store(t.Audience, nil)
	if rt.keeper != nil && len(t.undos) > 0 {
		rt.looks.Do(func() {
			end := func(ctx context.Context, outcome []byte) bool {
				return rt.endAbandoned(ctx, outcome, "no answer came in time")
			}
			rt.watches.Store(rt.keeper.Overdue(end))
		})
	}
	return t
}

// buildVersion names this build in states, so that a call notices a deployment.
var buildVersion = func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return s.Value[:12]
		}
	}
	return info.Main.Version
}()

// continues reports whether a call whose state has this print goes on in the style.
func (t *target) continues(print string) bool {
	if t.goes != nil {
		return t.goes(print)
	}
	return print == t.print
}

// difference is the error of a call that began in another style.
func (t *target) difference(p *Pass) error {
	began := p.at.Load().st.style
	if t.differs != nil {
		if err := t.differs(p, began); err != nil {
			return err
		}
	}
	began, _, _ = strings.Cut(began, ":")
	own, _, _ := strings.Cut(t.print, ":")
	return p.Diverge("it was written as %s, and is written as %s now", began, own)
}

// noted reports whether the effects of a run are written down from the start, so that the run can be
// resumed, or its effects undone.
func (t *target) noted() bool { return t.again || len(t.undos) > 0 }

// goesOn reports whether an interrupted run that left these effects is resumed.
func (t *target) goesOn(left history) bool {
	return t.again || !(t.holds && !t.replays) && left.canBeChecked()
}

// Goes implements [keep.Recorder]: a turn that was cut off is run again, or its effects are undone.
func (t *target) Goes(left []byte) bool { return t.noted() || t.goesOn(readRemains(left).done) }

// recordFormat is the version of an outcome's encoding.
const recordFormat = 2

// Write implements [keep.Recorder].
func (t *target) Write(o keep.Outcome) ([]byte, keep.Outcome) {
	var failed json.RawMessage
	switch {
	case o.Err != nil:
		if panicked := guard(func() error { failed = failure.Of(o.Err).Encode(); return nil }); panicked != nil {
			return t.Write(keep.Outcome{Err: safeError(panicked)})
		}
	case o.Token == "" && o.Saved == nil && o.Request == nil:
		return nil, o
	}
	w := jsontext.Begin(make([]byte, 0, len(o.Token)+len(o.Saved)+len(failed)+64), "v", recordFormat)
	w.Text("token", o.Token)
	w.Raw("error", failed)
	w.Raw("result", o.Saved)
	w.Flag("stopped", o.Stopped)
	w.Raw("call", o.Request)
	return w.End(), o
}

// keep puts the value as every request is to get it in place of that of an outcome. One that
// cannot be read back goes out once, as it is. It is called in a guard: the author's methods may
// panic.
func (t *target) keep(o *keep.Outcome) {
	saved, err := t.save(o.Value)
	if err != nil {
		return
	}
	if back, err := t.load(saved); err == nil {
		o.Value, o.Saved = back, saved
	}
}

// stopper makes the outcome of a call that was stopped with an output.
func stopper[Out any](f result.Format[Out]) func(any) keep.Outcome {
	return func(out any) keep.Outcome {
		own, ok := out.(Out)
		if !ok {
			return keep.Outcome{Err: misuse("Stop has a %T, and the handler's output is a %s", out, reflect.TypeFor[Out]())}
		}
		r := &result.Result[Out]{Out: own}
		if err := guard(func() error { return f.Complete(r) }); err != nil {
			return keep.Outcome{Err: safeError(err)}
		}
		return keep.Outcome{Value: r, Stopped: true}
	}
}

// Short implements [keep.Recorder].
func (t *target) Short(o keep.Outcome) []byte {
	effect := report.Applied
	if o.Err != nil {
		effect = cmp.Or(report.EffectOf(o.Err), report.Unknown)
	}
	b, _ := t.Write(notKept(effect))
	return b
}

func notKept(effect string) keep.Outcome {
	return keep.Outcome{Err: report.With(&Error{Reason: ResultNotKept}, effect, "")}
}

// Read implements [keep.Recorder].
func (t *target) Read(b []byte) (o keep.Outcome) {
	r, format := jsontext.Open(b, "v")
	token, failed, value := r.Text("token"), r.Raw("error"), r.Raw("result")
	o.Token, o.Stopped, o.Request = token, r.Flag("stopped"), r.Raw("call")
	switch {
	case format != recordFormat || !r.End():
		return notKept(report.Unknown)
	case failed != nil:
		f, err := failure.Read(failed)
		if err != nil {
			return notKept(report.Unknown)
		}
		o.Err = f.Err()
	case value != nil:
		if guard(func() (err error) { o.Value, err = t.load(value); return err }) != nil {
			return notKept(report.Unknown)
		}
	}
	return o
}

// Cut implements [keep.Recorder].
func (t *target) Cut(left []byte) keep.Outcome {
	return keep.Outcome{Err: readRemains(left).done.report(&Error{Reason: OutcomeUnknown})}
}

// A Style is a handler and how it is run. To a client all styles are the same.
type Style[In, Out any] struct {
	// Enter runs the handler over the history of its call. It returns questions where it needs
	// answers.
	Enter func(ctx context.Context, p *Pass, in In) (*IncompleteResult, Out, error)
	// Print names the style and the shape of the handler. A call goes on if Continues takes the
	// print that it began with; nil takes the same. Differs is the error if it does not.
	Print     string
	Continues func(print string) bool
	Differs   func(p *Pass, print string) error
	// The handler Replays: it goes on from the history alone. It Holds: it may be held between
	// rounds. Again: an interrupted run can be resumed.
	Replays, Holds, Again bool
	Asks                  []AnyQuestion // in every call
	Undos                 []Undoing     // see OnStop
	// Wait has a held handler wait as long again, unless it is gone.
	Wait func(p *Pass) error
	// Leave lets go of the held handler.
	Leave func(p *Pass, elsewhere bool)

	legacy *Style[In, Out] // for legacy clients, see ByVersion
}

// GuardedFunc runs from its top in every round, and returns with [Need] where an answer is
// missing.
type GuardedFunc[In, Out any] func(ctx context.Context, c *Call, in In) (*IncompleteResult, Out, error)

// Native enters a guarded handler in every round. Effects above a guard belong in [Once].
func Native[In, Out any](h GuardedFunc[In, Out]) Style[In, Out] {
	if h == nil {
		return Style[In, Out]{}
	}
	return Style[In, Out]{Print: "guards", Replays: true, Enter: func(ctx context.Context, p *Pass, in In) (*IncompleteResult, Out, error) {
		p.Enter("")
		return h(ctx, p.Call(), in)
	}}
}

// ByVersion serves modern clients with one style, and legacy ones with another. A call stays in
// its era.
func ByVersion[In, Out any](modern, legacy Style[In, Out]) Style[In, Out] {
	if modern.Enter == nil || legacy.Enter == nil {
		return Style[In, Out]{}
	}
	if legacy.legacy != nil {
		legacy = *legacy.legacy
	}
	both := modern
	both.legacy = &legacy
	of := func(p *Pass) *Style[In, Out] {
		if p.Call().Modern() {
			return &modern
		}
		return &legacy
	}
	both.Enter = func(ctx context.Context, p *Pass, in In) (*IncompleteResult, Out, error) {
		return of(p).Enter(ctx, p, in)
	}
	both.Wait = func(p *Pass) error {
		if wait := of(p).Wait; wait != nil {
			return wait(p)
		}
		return nil
	}
	both.Leave = func(p *Pass, elsewhere bool) {
		if leave := of(p).Leave; leave != nil {
			leave(p, elsewhere)
		}
	}
	return both
}

// OnStop returns the style with undos, for a call that ends without completing: declined, failed,
// cancelled, abandoned, or by [Stop]. They run in reverse order of the effects, before the client
// is told.
func (s Style[In, Out]) OnStop(u ...Undoing) Style[In, Out] {
	s.Undos = append(s.Undos[:len(s.Undos):len(s.Undos)], u...)
	if s.legacy != nil {
		legacy := s.legacy.OnStop(u...)
		s.legacy = &legacy
	}
	return s
}

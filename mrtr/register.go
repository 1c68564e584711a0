package mrtr

import (
	"context"
	"runtime/debug"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/era"
)

// HandlerOptions configure one tool, prompt or resource. The zero value, and
// nil, mean the runtime's settings.
type HandlerOptions struct {
	// Legacy overrides the runtime's policy for legacy clients.
	Legacy LegacyPolicy
	// Unaskable overrides the runtime's policy for clients that cannot be asked.
	Unaskable UnaskablePolicy
	// Version names this version of the handler; if empty, it is that of the build. A
	// call that another version began is checked for questions that changed, as
	// docs/deploys.md tells, and an [Event] of a call that diverged names the version.
	// A build without a version control stamp looks like every other: set it there.
	Version string
	// Needs are questions that every call asks. A client that cannot be asked one of
	// them, and for whom no default stands in, is refused before the handler is
	// entered, with the error that it would get at the question, so that no effect above
	// the question has run. The words of a question do not matter here, only its key,
	// its kind and its default. Those of [AskQuestion] are known without being listed.
	Needs []AnyQuestion
	// Audience names the server, or servers, that this handler belongs to, where one
	// Runtime has several handlers under one name: a state sealed by one of them opens
	// for those of the same audience alone. Without it a handler that is not the first
	// under its name refuses its calls, because the Runtime cannot know which servers
	// share their states. One handler may be registered with many servers, and needs
	// no audience for that.
	Audience string
	// Forgets serves the calls of this handler as without [Options.Store]: a repeated
	// round runs again, and a store that is down refuses none.
	Forgets bool
	// Interrupted says what becomes of a round whose instance died while it ran, when
	// the same request comes again. It needs a store.
	Interrupted Interrupted
	// Forwarded sends the rounds of a [Resumable] handler to the instance that holds
	// their frame, where [Options.Forwarder] can. Otherwise it replays its journal, which
	// costs about half as much; a [Coroutine] cannot, and is always forwarded.
	Forwarded bool
}

// Interrupted is the policy for a round that was cut off, see [HandlerOptions].
type Interrupted int

const (
	// InterruptedInherit takes the best that the style can do: InterruptedAgain for [Journal],
	// [Resumable] and [Steps], and InterruptedUnknown for [Native] and [Coroutine].
	InterruptedInherit Interrupted = iota
	// InterruptedAgain runs the handler again. Each effect in [Once] and each step is
	// noted in the store before it begins and when it has ended, so that none happens
	// twice; code beside them does. A Coroutine cannot run again.
	InterruptedAgain
	// InterruptedUnknown ends the call with [OutcomeUnknown].
	InterruptedUnknown
)

// target is one registered tool, prompt or resource.
type target struct {
	policy    LegacyPolicy
	unaskable UnaskablePolicy
	version   string
	// audience is what states are bound to; ownAudience tells that HandlerOptions
	// name it.
	audience    string
	ownAudience bool
	needs       needs
	replays     bool // a call can go on without the frame that its state names
	forgets     bool // its calls are not remembered
	again       bool // a round that was cut off runs again
	forwards    bool // a round goes to its frame even if it replays
	// held runs a round of a handler whose frame is here, for another instance.
	held func() (kept, enterFunc)
}

// target checks the options of a registration. It panics on misuse, as go-sdk's
// functions for registering do.
func (rt *Runtime) target(opts *HandlerOptions, s styleFacts) *target {
	if !s.valid {
		panic(misuse("the zero Style handles nothing: its handler is nil, or Build failed"))
	}
	var o HandlerOptions
	if opts != nil {
		o = *opts
	}
	if !o.Legacy.valid() {
		panic(misuse("HandlerOptions.Legacy is not a policy: %d", o.Legacy))
	}
	if !o.Unaskable.valid() {
		panic(misuse("HandlerOptions.Unaskable is not a policy: %d", o.Unaskable))
	}
	t := &target{policy: o.Legacy, unaskable: o.Unaskable, version: o.Version, audience: rt.opts.Audience, needs: s.needs, replays: s.replays, forgets: o.Forgets, forwards: o.Forwarded}
	switch {
	case o.Interrupted < InterruptedInherit || o.Interrupted > InterruptedUnknown:
		panic(misuse("HandlerOptions.Interrupted is not a policy: %d", o.Interrupted))
	case o.Interrupted == InterruptedAgain && s.cutOff == cannotRunAgain:
		panic(misuse("HandlerOptions.Interrupted is InterruptedAgain, and a Coroutine cannot run again: use Resumable"))
	}
	t.again = o.Interrupted == InterruptedAgain || o.Interrupted == InterruptedInherit && s.cutOff == runsAgain
	if err := t.needs.add(o.Needs); err != nil {
		panic(err)
	}
	if o.Audience != "" {
		t.audience, t.ownAudience = strconv.Quote(rt.opts.Audience)+strconv.Quote(o.Audience), true
	}
	if t.policy == LegacyInherit {
		t.policy = rt.opts.Legacy
	}
	if t.unaskable == UnaskableInherit {
		t.unaskable = rt.opts.Unaskable
	}
	if t.unaskable.contradicts(t.policy) {
		panic(misuse("HandlerOptions: Unaskable %d and Legacy %d contradict each other about defaults", t.unaskable, t.policy))
	}
	if t.version == "" {
		t.version = buildVersion
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

// watched is a bridged handler whose calls end properly, see [watch]. errorOf finds
// the error of a result that carries one.
func watched[P mcp.RequestParams, R any](bridged func(context.Context, *mcp.ServerRequest[P]) (R, error), errorOf func(R) error) func(context.Context, *mcp.ServerRequest[P]) (R, error) {
	return func(ctx context.Context, req *mcp.ServerRequest[P]) (res R, err error) {
		watch(ctx, era.Of(req), func(ctx context.Context) error {
			if res, err = bridged(ctx, req); err == nil && errorOf != nil {
				return errorOf(res)
			}
			return err
		})
		return res, err
	}
}

// watch runs a call through its bridge. A bridge whose client does not answer ends
// the call by itself, without another round of the engine; then watch unwinds the
// frame that the call holds, and tells the observer.
func watch(ctx context.Context, e era.Era, call func(context.Context) error) {
	if e != era.Legacy {
		_ = call(ctx) // it has no bridge, and returns its error elsewhere
		return
	}
	last := &lastRound{}
	err := call(context.WithValue(ctx, lastRoundKey{}, last))
	if c := last.call; c != nil {
		c.runStops(ctx, c.unwind(ctx, nil), err)
		c.observe(ctx, Event{Kind: CallStopped, Err: err})
	}
}

// lastRound is the round of a bridged call that its bridge has to answer, nil
// where there is none.
type lastRound struct{ call *Call }

type lastRoundKey struct{}

// noteRound notes a round that asks, and forgets it when the next one has come.
func noteRound(ctx context.Context, c *Call, asks bool) {
	last, ok := ctx.Value(lastRoundKey{}).(*lastRound)
	switch {
	case !ok:
	case asks:
		if !c.ran && last.call != nil { // the registrations of the round before still hold
			c.onStop = last.call.takeStops()
		}
		last.call = c
	default:
		last.call = nil
	}
}

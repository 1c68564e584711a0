package mrtr

import (
	"cmp"
	"context"
	"hash/maphash"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mrtr-go/sdk/internal/rendezvous"
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
	// docs/what-can-happen-twice.md says, and an [Event] of a call that diverged names the version.
	// A build without a version control stamp looks like every other: set it there.
	Version string
	// Needs are questions that every call asks. A client that can't answer one of them is
	// refused before the handler runs, so no effect above the question happens; one with a
	// default that stands in is not. Only the key, kind and default of a question matter
	// here, so the message may be any. Those of [AskQuestion] need not be listed. A [Confirm],
	// an [Optional] and a [Reply] go on without an answer, and are a mistake here.
	Needs []AnyQuestion
	// Name is that of the tool, for [Runtime.HideUnaskable], which go-sdk does not tell which
	// handler a tool has. It does nothing else.
	Name string
	// Audience names the server, or servers, that this handler belongs to, where one
	// Runtime has several handlers under one name: a state sealed by one of them opens
	// for those of the same audience alone. Without it a handler that is not the first
	// under its name refuses its calls, because the Runtime cannot know which servers
	// share their states. One handler may be registered with many servers, and needs
	// no audience for that.
	Audience string
	// StateTTL is how long a state of this handler opens, and so how long its user has to
	// answer; statecodec.Options.TTL if zero. The state of a task, which no client holds,
	// opens as long as any other. [Limits].FrameTTL bounds a held handler.
	StateTTL time.Duration
	// Unstored serves the calls of this handler as without [Options.Store]: a repeated
	// round runs again, and a store that is down refuses none.
	Unstored bool
	// Interrupted says what becomes of a round whose instance died while it ran, when
	// the same request comes again. It needs a store.
	Interrupted Interrupted
	// Within bounds a round with a store, which runs to its end though its client has
	// left; 5 minutes if zero. Then its context is cancelled. A handler that can run again
	// (see [Interrupted]) leaves the round to the next request; any other ends with
	// [OutcomeUnknown]. Without a store a round ends with its request.
	Within time.Duration
	// Cancel passes the cancellation of the client's request on to the handler's code
	// outside effects, also with a store. It is for a handler that only reads: its round
	// is free for the next request then.
	Cancel bool
	// Task says when a call of a tool becomes a task; never if zero. It is for tools alone.
	Task TaskPolicy
}

// Interrupted is the policy for a round that was cut off, see [HandlerOptions].
type Interrupted int

const (
	// InterruptedInherit takes the best that the style can do: InterruptedAgain for [Journal],
	// [Resumable] and [Steps], and InterruptedUnknown for [Native] and [Coroutine].
	InterruptedInherit Interrupted = iota
	// InterruptedAgain runs the handler again. Each effect in [Once] and each step is
	// noted in the store before it begins, and soon after it has ended, so that none
	// happens twice; code beside them does. A Coroutine cannot run again.
	InterruptedAgain
	// InterruptedUnknown ends the call with [OutcomeUnknown].
	InterruptedUnknown
)

// target is one registered tool, prompt or resource.
type target struct {
	name      string // as HandlerOptions give it
	policy    LegacyPolicy
	unaskable UnaskablePolicy
	version   string
	// audience is what states are bound to; ownAudience says that HandlerOptions
	// name it.
	audience    string
	ownAudience bool
	needs       needs
	replays     bool          // a call can go on without the frame that its state names
	unstored    bool          // its calls are not remembered
	again       bool          // a round that was cut off runs again
	cancel      bool          // its client's cancellation reaches the handler
	within      time.Duration // of a round with a store
	task        rendezvous.TaskPolicy
	codec       sealer        // nil for that of the runtime
	ttl         time.Duration // of the states
	// served is the name that this was found to serve alone last, nil for a resource.
	served atomic.Pointer[string]
}

// target checks the options of a registration. It panics on misuse, as go-sdk's
// functions for registering do.
func (rt *Runtime) target(opts *HandlerOptions, s styleFacts) *target {
	var o HandlerOptions
	if opts != nil {
		o = *opts
	}
	ownInterrupted := InterruptedUnknown
	if s.cutOff == runsAgain {
		ownInterrupted = InterruptedAgain
	}
	if err := cmp.Or(
		inherit(&o.Legacy, rt.opts.Legacy, LegacyPassThrough, "HandlerOptions.Legacy"),
		inherit(&o.Unaskable, rt.opts.Unaskable, UnaskableDefaults, "HandlerOptions.Unaskable"),
		inherit(&o.Interrupted, ownInterrupted, InterruptedUnknown, "HandlerOptions.Interrupted"),
		s.needs.add(o.Needs),
		o.Task.check(),
	); err != nil {
		panic(err)
	}
	t := &target{policy: o.Legacy, unaskable: o.Unaskable, version: cmp.Or(strings.ToValidUTF8(o.Version, "\ufffd"), buildVersion), audience: rt.opts.Audience, needs: s.needs, replays: s.replays, unstored: o.Unstored, again: o.Interrupted == InterruptedAgain, cancel: o.Cancel, task: rendezvous.TaskPolicy(o.Task), within: cmp.Or(o.Within, defaultWithin), ttl: cmp.Or(o.StateTTL, rt.StateTTL())}
	switch {
	case o.Within < 0:
		panic(misuse("HandlerOptions.Within is negative: %v", o.Within))
	case o.Interrupted == InterruptedAgain && s.cutOff == cannotRunAgain:
		panic(misuse("HandlerOptions.Interrupted is InterruptedAgain, and a Coroutine cannot run again: use Resumable"))
	}
	if o.StateTTL != 0 {
		rt.sealFor(t)
	}
	if o.Audience != "" {
		t.audience, t.ownAudience = strconv.Quote(rt.opts.Audience)+strconv.Quote(o.Audience), true
	}
	if t.name = o.Name; t.name != "" {
		rt.registrations.name(t)
	}
	rt.audiences.Store(t.audience, nil)
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

// registrations remember which handler serves a name. A state is bound to the method
// and the name of its target, and a handler does not know the server that it is
// registered with. So two handlers under one name, as on two servers with one
// Runtime, would take each other's states: a yes given to one would be a yes to the
// other. The second is refused, unless its audience tells them apart.
type registrations struct {
	mu     sync.RWMutex
	served map[registration]*target
	read   int                  // addresses of resources among them
	named  map[string][]*target // the tools that say their name
}

type registration struct {
	method, name string
	address      uint64 // the hash of a resource's address, in place of the name
}

// maxAddresses bounds the addresses of resources that are remembered. A client can
// make up any number of them for one template; the names of tools and prompts are
// those that the program registered.
const maxAddresses = 4096

var addressSeed = maphash.MakeSeed()

// serve notes that t serves a name, and reports whether it is the only one to.
func (r *registrations) serve(method, name string, t *target) bool {
	if t.ownAudience { // the author says which handlers belong together
		return true
	}
	if last := t.served.Load(); last != nil && *last == name { // it has one method
		return true
	}
	key := registration{method: method, name: name}
	if method == resourcesRead {
		key.name, key.address = "", maphash.String(addressSeed, name)
	}
	r.mu.RLock()
	first := r.served[key]
	r.mu.RUnlock()
	if first == nil {
		first = r.add(key, t)
	}
	if first == t && method != resourcesRead { // the address of a resource is forgotten
		t.served.Store(&key.name)
	}
	return first == t
}

func (r *registrations) add(key registration, t *target) *target {
	r.mu.Lock()
	defer r.mu.Unlock()
	if first := r.served[key]; first != nil {
		return first
	}
	if key.method == resourcesRead {
		if r.read == maxAddresses {
			r.forgetAddresses()
		}
		r.read++
	}
	if r.served == nil {
		r.served = map[registration]*target{}
	}
	r.served[key] = t
	return t
}

func (r *registrations) forgetAddresses() {
	for key := range r.served {
		if key.method == resourcesRead {
			delete(r.served, key)
		}
	}
	r.read = 0
}

// misregistered refuses a request for a name that two handlers are registered under.
func (l *ledger) misregistered(ctx context.Context) error {
	cause := misuse("two handlers are registered as %s %s with one Runtime: give each server a Runtime and Options.Audience of its own, or its handlers a HandlerOptions.Audience, or register one handler with both",
		l.ex.method, strconv.Quote(nameInLog(l.ex.method, l.ex.name)))
	return l.refuse(ctx, RequestRefused, cause.Error(), cause, &refusal{
		text: "This request was refused: its server is not set up correctly.", kind: errorType(cause), cause: cause,
	})
}

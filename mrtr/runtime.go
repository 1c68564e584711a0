package mrtr

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/sse"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// Options configure a [Runtime]. The zero value, and nil, mean the defaults:
// states sealed with a key of this process, legacy clients asked over their
// session. A limit of zero is its default. A negative one is an error, and so is one
// that another limit keeps from being reached.
type Options struct {
	// State configures how states are sealed. Without keys a random one is used,
	// and a restart ends the calls under way. Instances that serve one another's
	// rounds need the same keys. State.Instance names this instance in its states, so
	// that mcphttp.Router can send a round to the handler that is held for it.
	State *statecodec.Options
	// Audience names this server where several share keys: a state sealed for
	// one does not open at another. Servers that differ, such as one for production
	// and one to try things out, need audiences that differ, since the same tool may
	// ask the same question at both.
	Audience string
	// Principal identifies the sender of a request, to bind states to it. If nil,
	// that is the UserID of go-sdk's token info, "" for a request without a token; a
	// token that names no user is an error, since all such users would be one. An
	// error refuses the request: the observer gets it, and the client a fixed text.
	Principal func(ctx context.Context, req mcp.Request) (string, error)
	// Legacy is the policy for legacy clients; LegacyBridge if zero.
	Legacy LegacyPolicy
	// Unaskable is the policy for clients of either era that cannot be asked. If zero,
	// modern ones are refused, and Legacy decides about the others.
	Unaskable UnaskablePolicy
	// Bridge bounds the asking of legacy clients, within the bounds that hold for
	// every call: MaxRounds that ask, and 2 that only carry state.
	Bridge *sse.BridgeOptions
	// Observer receives the events of all calls.
	Observer Observer
	// MaxRounds bounds the rounds of one call that ask; 9 if zero. The user has
	// answered all of them when a client gives up, and the answers are lost with the
	// call. go-sdk's client makes ten requests and takes no result of the tenth that
	// asks again. So nine rounds can ask, and a call that needs more ends here, with an
	// error that says so, before that client ends it without one.
	//
	// More than 9 hold for legacy calls, whose rounds this server makes itself, and for
	// modern clients of which FollowsRounds tells that they follow further.
	MaxRounds int
	// FollowsRounds tells how many rounds that ask a modern client follows, by
	// its request: capabilities, name, or the user agent. If nil, and for 0, that is
	// 9, since no revision has a way to declare it. A number below 9 ends the calls of
	// that client earlier.
	FollowsRounds func(req mcp.Request) int
	// Store remembers the rounds of calls, so that one that comes again gets the result
	// of the first time and has no effect twice. docs/with-a-store.md tells all that is
	// promised. A store of one process goes with states sealed by a key of that process
	// alone, and one that outlives the process with State.Keys. The rounds of legacy
	// clients need no store, and the first round of a call is not remembered.
	Store store.Store
	// Forwarder lets the instances of a server run one another's rounds, where the frame
	// is that they need. It goes with a Store. A forwarded round has no session.
	Forwarder Forwarder
	// Remember configures how the store is used.
	Remember *RememberOptions
	// MaxStateBytes bounds the state of a call, before sealing; 32 KiB if zero.
	MaxStateBytes int
	// MaxQuestions bounds the questions of one round; 16 if zero.
	MaxQuestions int
	// MaxFrames bounds the handlers held at once; 100,000 if zero. The callers without
	// a principal share three quarters of them: however many such callers there are, a
	// known one finds a place.
	MaxFrames int
	// MaxFramesPerPrincipal bounds those of one known principal; 1,000 if zero.
	MaxFramesPerPrincipal int
	// MaxFrameBytes bounds the memory of the held handlers, beside the few KiB of
	// each one's stack: the decoded input (of a resource, its address), answers and
	// effects; 256 MiB if zero. No principal holds more than three quarters of
	// it, nor do all callers without one. A call that is held, and whose next answer
	// does not fit, ends with [Busy], or goes on without its frame if it is [Resumable].
	MaxFrameBytes int
	// FrameTTL is how long a held handler waits for its answer before it is
	// unwound; 15 minutes if zero.
	FrameTTL time.Duration
}

// Runtime serves the rounds of many calls of one server, or of several that serve
// the same handlers. Two handlers under one name need a Runtime each, with keys or an
// Audience of its own, or a [HandlerOptions] Audience each. It seals their
// states, holds the handlers that wait, and recovers the panics of the author's
// functions on the goroutines that it runs them on.
//
// Only [Coroutine] and [Resumable] hold anything between two rounds. In the other
// styles any instance with the same keys can serve any round.
//
// A state proves that this server, or one that shares its keys, made it for this
// request and this principal, within its lifetime. It does not prove that it was
// not used before: a client that sends a state twice gets the round twice, with
// the effects that come after that state. Where that matters, hand the idempotency
// key that [Once] gives to the system that has the effect, or set [Options] Store:
// then the second request gets the result of the first.
//
// An answer that does not fit its question is asked for again without the handler,
// three times at most. A call ends after 9 rounds that ask and 2 that only carry state,
// since go-sdk's client follows no further. [Options] MaxRounds allows more to legacy
// clients, and with FollowsRounds to the modern ones that do.
type Runtime struct {
	codec      sealer
	opts       Options
	frames     *frameTable
	observer   Observer
	memory     *roundMemory // nil without a store
	forwarding *forwarding  // nil without a Forwarder

	registrations registrations
	rounds        atomic.Int64 // requests that are being served
}

// sealer is statecodec.Codec, except in the tests that show the need for a seal.
type sealer interface {
	Seal(b statecodec.Binding, payload []byte) (string, error)
	Open(b statecodec.Binding, token string) ([]byte, error)
	AppendOpen(dst []byte, b statecodec.Binding, token string) ([]byte, error)
}

// New makes a Runtime. Options that cannot be used are a [UsageError], and keys that
// cannot be used a [statecodec.UsageError].
func New(opts *Options) (*Runtime, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if !o.Legacy.valid() {
		return nil, misuse("Options.Legacy is not a policy: %d", o.Legacy)
	}
	if o.Legacy == LegacyInherit {
		o.Legacy = LegacyBridge
	}
	if !o.Unaskable.valid() {
		return nil, misuse("Options.Unaskable is not a policy: %d", o.Unaskable)
	}
	if o.Unaskable.contradicts(o.Legacy) {
		return nil, misuse("Options.Unaskable %d and Legacy %d contradict each other about defaults", o.Unaskable, o.Legacy)
	}
	if o.Principal == nil {
		o.Principal = tokenUser
	}
	if err := o.checkLimits(); err != nil {
		return nil, err
	}
	if err := o.resolveLimits(); err != nil {
		return nil, err
	}
	o.resolveState()
	codec, err := statecodec.New(o.State)
	if err != nil {
		return nil, err
	}
	memory, err := newRoundMemory(&o)
	if err != nil {
		return nil, err
	}
	rt := &Runtime{codec: codec.For("request_state"), opts: o, observer: o.Observer, memory: memory}
	rt.frames = newFrameTable(&o, rt.abandoned)
	if rt.forwarding, err = newForwarding(&o); err != nil {
		return nil, err
	}
	if rt.forwarding != nil {
		rt.frames.owner = rt.forwarding.Self() + "."
		if err := rt.forwarding.start(rt); err != nil {
			return nil, err
		}
	}
	return rt, nil
}

// Close unwinds every held handler, cancels the linear handlers that run, and waits
// until all have ended. From then on calls of linear handlers end with
// [ShuttingDown]. A handler that still runs ten seconds after its cancellation is
// left behind, and counted in the error.
//
// It does not close the store, and waits for no call of another style.
func (rt *Runtime) Close() error {
	if rt.forwarding != nil {
		rt.forwarding.close()
	}
	err := rt.frames.close(10 * time.Second)
	if rt.forwarding != nil {
		rt.forwarding.wait()
	}
	if rt.memory != nil {
		rt.memory.turns.Close()
	}
	return err
}

func (rt *Runtime) principal(ctx context.Context, req mcp.Request) (_ string, err error) {
	defer recovered(&err)
	return rt.opts.Principal(ctx, req)
}

var errNoUser = misuse("the request's token names no user")

// tokenUser is the user of the bearer token, over HTTP.
func tokenUser(ctx context.Context, req mcp.Request) (string, error) {
	info := auth.TokenInfoFromContext(ctx)
	if extra := req.GetExtra(); extra != nil && extra.TokenInfo != nil {
		info = extra.TokenInfo
	}
	switch {
	case info == nil:
		return "", nil
	case info.UserID == "":
		return "", errNoUser
	}
	return info.UserID, nil
}

// Stats are the numbers of one moment, for a gauge or a page of an operator's.
type Stats struct {
	// Rounds are the requests that are being served. A call of a legacy client counts
	// while its rounds run, and not while its user is asked.
	Rounds int
	// Held are the handlers that wait for an answer, and HeldBytes the memory that
	// [Options.MaxFrameBytes] bounds. Running are the linear handlers that run now.
	Held, HeldBytes, Running int
	// Draining tells that [Runtime.Drain] was called, and Closed that the runtime is
	// closed.
	Draining, Closed bool
}

// Stats counts the rounds and the handlers of this moment.
func (rt *Runtime) Stats() Stats {
	t := rt.frames
	t.mu.Lock()
	defer t.mu.Unlock()
	return Stats{
		Rounds: int(rt.rounds.Load()),
		Held:   t.parked.len, HeldBytes: t.all.bytes, Running: t.running.len,
		Draining: t.takesNoFrames, Closed: t.closed,
	}
}

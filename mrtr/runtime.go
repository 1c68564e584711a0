package mrtr

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/usage"
	"github.com/mrtr-go/sdk/sse"
	"github.com/mrtr-go/sdk/sse/era"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// Options configure a [Runtime]. The zero value, and nil, mean the defaults:
// states sealed with a key of this process, legacy clients asked over their
// session.
type Options struct {
	Limits

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
	// Unaskable is the policy for clients that cannot be asked; UnaskableRefuse if zero.
	Unaskable UnaskablePolicy
	// Narrow takes from a client what it declares and cannot do: some declare forms and show
	// none. It gets the name and version that the client gives itself, which prove nothing,
	// and returns the client with less. What it adds is ignored. To set TextsOnly takes
	// something away too: the forms of such a client are sent with texts alone, and the
	// answers read from those, so that a handler gets the value it would get from any other
	// client. Everything that depends on a client goes by the result: [Call.Client],
	// [HandlerOptions] Needs, the asking of legacy clients, [Question.AskOver] and tasks.
	// A handler that asks a session by itself does not. It is called for each request, must
	// be quick, and must say the same for all rounds of a call. A panic refuses the request.
	//
	//	Narrow: func(who mcp.Implementation, client era.Client) era.Client {
	//		switch who.Name {
	//		case "shows-no-forms":
	//			client.Form = false
	//		case "shows-texts":
	//			client.TextsOnly = true
	//		}
	//		return client
	//	},
	Narrow func(who mcp.Implementation, client era.Client) era.Client
	// Bridge bounds the asking of legacy clients, within the bounds that hold for
	// every call: MaxRounds that ask, and 2 that only carry state.
	Bridge *sse.BridgeOptions
	// Observer receives the events of all calls.
	Observer Observer
	// FollowsRounds reports how many rounds that ask a modern client follows, by
	// its request: capabilities, name, or the user agent. If nil, and for 0, that is
	// 9, since no revision has a way to declare it. A number below 9 ends the calls of
	// that client earlier.
	FollowsRounds func(req mcp.Request) int
	// Store remembers the rounds of calls, so that one that comes again gets the result
	// of the first time and has no effect twice. docs/what-can-happen-twice.md tells all that is
	// promised. A store of one process goes with states sealed by a key of that process
	// alone, and one that outlives the process with State.Keys. The rounds of legacy
	// clients need no store, and the first round of a call is not remembered.
	Store store.Store
	// Remember configures how the store is used.
	Remember *RememberOptions
}

// Limits bound the calls of a [Runtime]. Zero means the default. A negative limit is an
// error, and so is one that another limit keeps from being reached.
type Limits struct {
	// MaxRounds bounds the rounds of one call that ask; 9 if zero. The user has
	// answered all of them when a client gives up, and the answers are lost with the
	// call. go-sdk's client makes ten requests and takes no result of the tenth that
	// asks again. So nine rounds can ask, and a call that needs more ends here, with an
	// error that says so, before that client ends it without one.
	//
	// More than 9 hold for legacy calls, whose rounds this server makes itself, and for
	// modern clients that follow further by [Options] FollowsRounds.
	MaxRounds int
	// MaxStateBytes bounds the state of a call, before sealing; 32 KiB if zero.
	MaxStateBytes int
	// MaxQuestions bounds the questions of one round; 16 if zero.
	MaxQuestions int
	// MaxFrames bounds the handlers held at once; 100,000 if zero. The callers without
	// a principal share three quarters of them: however many such callers there are, a
	// known one finds a place.
	//
	// A call that finds no room takes it from [Resumable] calls, those that have waited
	// longest first. Their handlers are unwound, and their next rounds replay the journal.
	// So these bounds say how many of them are hot, and not how many may be open. A
	// [Coroutine], and any call of a legacy client, keeps its room.
	MaxFrames int
	// MaxFramesPerPrincipal bounds those of one known principal; 1,000 if zero. At this
	// bound a call takes room from calls of its own principal alone.
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
	// MaxOrphans bounds the rounds with a store that run though their clients have left;
	// 1,000 if zero. Beyond it no round is begun. The callers without a principal share
	// three quarters of them. MaxOrphansPerPrincipal bounds those of one known principal;
	// 100 if zero, or MaxOrphans where that is less.
	MaxOrphans, MaxOrphansPerPrincipal int
}

// resolve puts the default in place of a limit that is zero, and refuses a negative one.
func (l *Limits) resolve() error {
	u := usage.Of("mrtr", "Options.Limits")
	usage.Default(u, "MaxRounds", &l.MaxRounds, followedAsks)
	usage.Default(u, "MaxStateBytes", &l.MaxStateBytes, 32<<10)
	usage.Default(u, "MaxQuestions", &l.MaxQuestions, 16)
	usage.Default(u, "MaxFrames", &l.MaxFrames, 100_000)
	usage.Default(u, "MaxFramesPerPrincipal", &l.MaxFramesPerPrincipal, 1000)
	usage.Default(u, "MaxFrameBytes", &l.MaxFrameBytes, 256<<20)
	usage.Default(u, "MaxOrphans", &l.MaxOrphans, 1000)
	usage.Default(u, "MaxOrphansPerPrincipal", &l.MaxOrphansPerPrincipal, min(100, max(l.MaxOrphans, 1)))
	usage.Default(u, "FrameTTL", &l.FrameTTL, 15*time.Minute)
	return u.Err()
}

// The limits of a call that no option changes.
const (
	// followedAsks and maxCarries are the rounds that go-sdk's own client follows: those
	// that ask, and those that only carry state.
	followedAsks = 9
	maxCarries   = 2
	// maxTries is how often one question is asked again for a usable answer.
	maxTries = 3
	// maxAnswerOver bounds an answer that [Question.AskOver] gets, which no state has
	// to hold. It is the bound of other answers under the default MaxStateBytes.
	maxAnswerOver = 16 << 10
)

// bridgeOptions are those of the bridge around every handler: it goes as far as the
// engine does, unless it is told otherwise.
func (o *Options) bridgeOptions() *sse.BridgeOptions {
	var b sse.BridgeOptions
	if o.Bridge != nil {
		b = *o.Bridge
	}
	if b.MaxRounds == 0 {
		b.MaxRounds = o.MaxRounds
	}
	return &b
}

// checkLimits refuses a limit that can never be reached, because another one holds
// before it: whoever set it believes that it holds.
func (o *Options) checkLimits() error {
	if b := o.Bridge; b != nil {
		switch {
		case b.MaxRounds < 0 || b.MaxStateRounds < 0 || b.AnswerTimeout < 0 || b.ProgressInterval < 0:
			return misuse("Options.Bridge has a negative value")
		case b.MaxRounds > cmp.Or(o.MaxRounds, followedAsks):
			return misuse("Options.Bridge.MaxRounds is %d, and every call ends after %d rounds that ask", b.MaxRounds, cmp.Or(o.MaxRounds, followedAsks))
		case b.MaxStateRounds > maxCarries:
			return misuse("Options.Bridge.MaxStateRounds is %d, and every call ends after %d rounds that only carry state", b.MaxStateRounds, maxCarries)
		}
	}
	if o.MaxFrames > 0 && o.MaxFramesPerPrincipal > o.MaxFrames {
		return misuse("Options.Limits.MaxFramesPerPrincipal is %d, and MaxFrames %d", o.MaxFramesPerPrincipal, o.MaxFrames)
	}
	if o.MaxOrphans > 0 && o.MaxOrphansPerPrincipal > o.MaxOrphans {
		return misuse("Options.Limits.MaxOrphansPerPrincipal is %d, and MaxOrphans %d", o.MaxOrphansPerPrincipal, o.MaxOrphans)
	}
	maxToken := statecodec.MaxMaxToken
	if o.State != nil && o.State.MaxToken > 0 {
		maxToken = o.State.MaxToken
	}
	if needed := tokenFor(o.MaxStateBytes); o.MaxStateBytes > 0 && needed > maxToken {
		return misuse("Options.Limits.MaxStateBytes is %d, and a state of that size needs a State.MaxToken of %d, not %d", o.MaxStateBytes, needed, maxToken)
	}
	return nil
}

// tokenFor bounds the token of a state with size bytes from above.
func tokenFor(size int) int {
	const overhead = 1 << 10 // more than sealing adds, beside base64
	return (size+2)/3*4 + overhead
}

// resolveState puts a key of this process where none is given, and makes room for
// the largest state.
func (o *Options) resolveState() {
	var s statecodec.Options
	if o.State != nil {
		s = *o.State
	}
	s.Ephemeral = s.Ephemeral || len(s.Keys) == 0 && s.Keyring == nil
	if s.MaxToken == 0 {
		s.MaxToken = max(statecodec.DefaultMaxToken, tokenFor(o.MaxStateBytes))
	}
	o.State = &s
}

// codecFor makes a codec for another purpose than states, with their keys.
func (o *Options) codecFor(purpose string, ttl time.Duration, maxToken int) (*statecodec.Codec, error) {
	s := *o.State
	s.Readable, s.PerPrincipal, s.PerSession, s.Instance = false, false, false, ""
	s.TTL, s.MaxToken = ttl, maxToken
	codec, err := statecodec.New(&s)
	if err != nil {
		return nil, err
	}
	return codec.For(purpose), nil
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
// three times at most, and once where it has nothing in it, which is how clients answer
// that show no forms. A call ends after 9 rounds that ask and 2 that only carry state,
// since go-sdk's client follows no further. [Limits] MaxRounds allows more to legacy
// clients, and with FollowsRounds to the modern ones that do.
type Runtime struct {
	codec    sealer
	opts     Options
	frames   *frameTable
	observer Observer
	memory   *roundMemory // nil without a store

	effects     context.Context // of all effects; ends when Close gives up on them
	stopEffects context.CancelFunc

	closing sync.Once
	closeBy time.Time

	door          door
	registrations registrations
	audiences     sync.Map     // of its handlers
	rounds        atomic.Int64 // requests that are being served
	works         workTable
	doubts        doubts    // that the observer was told of
	asking        asking    // of legacy clients
	guards        sync.Pool // of *guardedRound
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
	if err := cmp.Or(
		inherit(&o.Legacy, LegacyBridge, LegacyPassThrough, "Options.Legacy"),
		inherit(&o.Unaskable, UnaskableRefuse, UnaskableDefaults, "Options.Unaskable"),
		o.checkLimits(),
		o.Limits.resolve(),
	); err != nil {
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
	rt.effects, rt.stopEffects = context.WithCancel(context.Background())
	rt.works.max, rt.works.maxPrincipal = o.MaxOrphans, o.MaxOrphansPerPrincipal
	rt.frames = newFrameTable(&o)
	return rt, nil
}

func (rt *Runtime) principal(ctx context.Context, req mcp.Request) (string, error) {
	if rt.opts.Principal == nil {
		return tokenUser(ctx, req)
	}
	return rt.principalOf(ctx, req)
}

func (rt *Runtime) principalOf(ctx context.Context, req mcp.Request) (who string, err error) {
	err = guard(func() (err error) {
		who, err = rt.opts.Principal(ctx, req)
		return err
	})
	return who, safeError(err)
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

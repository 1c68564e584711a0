package mrtr

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

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
	mailbox  *mailbox     // nil where no other instance could write to it

	effects     context.Context // of all effects; ends when Close gives up on them
	stopEffects context.CancelFunc

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
	rt.mailbox = newMailbox(rt)
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

package mrtr

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr/internal/audience"
	"github.com/mrtr-go/sdk/mrtr/internal/clientkey"
	"github.com/mrtr-go/sdk/mrtr/internal/lifecycle"
	"github.com/mrtr-go/sdk/mrtr/internal/registry"
	"github.com/mrtr-go/sdk/mrtr/keep"
	"github.com/mrtr-go/sdk/mrtr/listen"
	"github.com/mrtr-go/sdk/sse"
	"github.com/mrtr-go/sdk/sse/era"
	"github.com/mrtr-go/sdk/statecodec"
)

// Options configure a [Runtime]. The zero value, and nil, mean the defaults.
type Options struct {
	Limits

	// State has the keys of the states; if none, a random one.
	State *statecodec.Options
	// Audience names this server where several share keys.
	Audience string
	// Principal identifies the sender of a request, and states are bound to it: tell users apart
	// who share a token. If nil, it is the UserID of go-sdk's token info, "" without a token.
	Principal func(ctx context.Context, req mcp.Request) (string, error)
	Legacy    LegacyPolicy
	Unaskable UnaskablePolicy
	// Narrow takes from a client what it declares and can't do, alike in all rounds of a call.
	Narrow func(who mcp.Implementation, client era.Client) era.Client
	// Bridge bounds the asking of legacy clients.
	Bridge *sse.BridgeOptions
	// Durable has a store remember the rounds, so that a request that comes again gets the first
	// result: durable.In(store, nil). See docs/what-can-happen-twice.md.
	Durable keep.Durability
	// Same decides which first requests mean one call. It needs Durable.
	Same SamePolicy
	// SameKey is a client's key for a call, "" for none. If nil, it is the header
	// Idempotency-Key, or idempotencyKey, idempotency-key or
	// io.modelcontextprotocol/idempotencyKey of _meta. All requests of one principal with it are
	// one call, for a day. An unknown caller's needs 16 bytes.
	SameKey func(ctx context.Context, req mcp.Request) string
	// Listener hears of all calls, such as observe.With(observe.Log(nil)).
	Listener listen.Listener
}

// check refuses a limit that can never be reached, because another one holds before it.
func (o *Options) check() error {
	if b := o.Bridge; b != nil {
		switch most := cmp.Or(o.MaxRounds, followedAsks); {
		case b.MaxRounds < 0 || b.MaxStateRounds < 0 || b.AnswerTimeout < 0 || b.ProgressInterval < 0:
			return misuse("Options.Bridge has a negative value")
		case b.MaxRounds > most:
			return misuse("Options.Bridge.MaxRounds is %d, and every call ends after %d rounds that ask", b.MaxRounds, most)
		}
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

// tokenFor is more than the length of the token that size bytes are sealed into.
func tokenFor(size int) int {
	const overhead = 1 << 10 // more than sealing adds, beside base64
	return (size+2)/3*4 + overhead
}

// Runtime serves the calls of one server. A state proves that it was made for this request and
// principal, within its lifetime; not that it was never used before, which takes Options.Durable.
type Runtime struct {
	opts    Options
	state   statecodec.Options
	codec   sealer
	intents *statecodec.Codec
	keeper  keep.Keeper
	skew    time.Duration // between the clocks of those who read the states

	effects     context.Context // of all effects; ends when Close gives up on them
	stopEffects context.CancelFunc

	door          lifecycle.Door
	registrations registry.Registry[*target]
	audiences     sync.Map     // of its handlers
	longestTTL    atomic.Int64 // of the states of its handlers
	looks         sync.Once    // after calls that were abandoned
	watches       atomic.Bool  // it can; set by looks
	rounds        atomic.Int64 // requests that are being served
	services      lifecycle.Services
	eraseTask     atomic.Pointer[keep.Eraser]
	guards        sync.Pool // of *guardedRound
}

// sealer is statecodec.Codec, except in the tests that show the need for a seal.
type sealer interface {
	Seal(b statecodec.Binding, payload []byte) (string, error)
	Open(b statecodec.Binding, token string) ([]byte, error)
	AppendOpen(dst []byte, b statecodec.Binding, token string, at time.Time) ([]byte, error)
}

// New makes a Runtime. An error is a [UsageError], or a [statecodec.UsageError] for the keys.
func New(opts *Options) (*Runtime, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if err := cmp.Or(
		inherit(&o.Legacy, LegacyBridge, LegacyPassThrough, "Options.Legacy"),
		inherit(&o.Unaskable, UnaskableRefuse, UnaskableDefaults, "Options.Unaskable"),
		inherit(&o.Same, SameWaiting, SameWaiting, "Options.Same"),
		o.check(),
		o.Limits.resolve(),
	); err != nil {
		return nil, err
	}
	o.Bridge = o.bridge()
	rt := &Runtime{opts: o}
	if o.State != nil {
		rt.state = *o.State
	}
	rt.state.Ephemeral = rt.state.Ephemeral || len(rt.state.Keys) == 0 && rt.state.Keyring == nil
	rt.state.MaxToken = cmp.Or(rt.state.MaxToken, max(statecodec.DefaultMaxToken, tokenFor(o.MaxStateBytes)))
	if !rt.state.Ephemeral {
		rt.skew = cmp.Or(rt.state.Skew, statecodec.DefaultSkew)
	}
	codec, err := statecodec.New(&rt.state)
	if err != nil {
		return nil, err
	}
	rt.codec, rt.intents = codec.For("request_state"), codec.For("intent")
	if rt.opts.SameKey == nil {
		rt.opts.SameKey = clientkey.Of
	}
	rt.longestTTL.Store(int64(rt.StateTTL()))
	rt.effects, rt.stopEffects = context.WithCancel(context.Background())
	if o.Durable != nil {
		if rt.keeper, err = o.Durable.Keeper(rt); err != nil {
			return nil, err
		}
		rt.services.Last = []keep.Service{rt.keeper}
	}
	return rt, nil
}

// bridge are the options of the bridge around every handler: it goes as far as the engine does,
// unless it is told otherwise.
func (o *Options) bridge() *sse.BridgeOptions {
	var b sse.BridgeOptions
	if o.Bridge != nil {
		b = *o.Bridge
	}
	b.MaxRounds = cmp.Or(b.MaxRounds, o.MaxRounds)
	return &b
}

var errNoUser = misuse("the request's token names no user")

// Sender identifies the sender of a request, as Options.Principal does.
func (rt *Runtime) Sender(ctx context.Context, req mcp.Request) (string, error) {
	if rt.opts.Principal != nil {
		who := ""
		err := guard(func() (err error) {
			who, err = rt.opts.Principal(ctx, req)
			return err
		})
		return who, safeError(err)
	}
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

// Audience is that of [Options].
func (rt *Runtime) Audience() string { return rt.opts.Audience }

// Limits are those of [Options], with the defaults.
func (rt *Runtime) Limits() Limits { return rt.opts.Limits }

// IsEphemeral reports whether its states open in this process alone.
func (rt *Runtime) IsEphemeral() bool { return rt.state.Ephemeral }

// Listener is that of [Options], or nil.
func (rt *Runtime) Listener() listen.Listener { return rt.opts.Listener }

// Keeper is the one that Options.Durable made, or nil.
func (rt *Runtime) Keeper() keep.Keeper { return rt.keeper }

// StateTTL is how long a state opens.
func (rt *Runtime) StateTTL() time.Duration { return cmp.Or(rt.state.TTL, statecodec.DefaultTTL) }

// Skew is how far the clocks of those who read the states may differ.
func (rt *Runtime) Skew() time.Duration { return rt.skew }

// longest is how long an earlier release has to open a record.
const longest = 366 * 24 * time.Hour

// Sealer implements [keep.Runtime].
func (rt *Runtime) Sealer(purpose string, ttl time.Duration, maxBytes int) (keep.Sealer, error) {
	s := rt.state
	s.Readable, s.PerPrincipal, s.PerSession, s.Instance, s.TTL = false, false, false, "", cmp.Or(ttl, longest)
	if maxBytes > 0 {
		s.MaxToken = min(tokenFor(min(maxBytes, statecodec.MaxMaxToken)), statecodec.MaxMaxToken)
	}
	codec, err := statecodec.New(&s)
	if err != nil {
		return nil, err
	}
	return &audience.Sealer{Codec: codec.For(purpose), Server: rt.opts.Audience, Keeps: ttl == 0}, nil
}

// sealFor gives a handler a codec for its StateTTL.
func (rt *Runtime) sealFor(t *target) {
	codec, sealed := rt.codec.(*statecodec.Codec)
	if !sealed { // a test leaves states open
		return
	}
	own, err := codec.Lasting(t.ttl)
	if err != nil {
		panic(misuse("HandlerOptions.StateTTL is %v: %v", t.ttl, err))
	}
	t.codec = own
	for {
		longest := rt.longestTTL.Load()
		if int64(t.ttl) <= longest || rt.longestTTL.CompareAndSwap(longest, int64(t.ttl)) {
			return
		}
	}
}

// lastUse is when no instance takes a state any more that ends at until by the clock of the one
// that sealed it.
func (rt *Runtime) lastUse(until time.Time) time.Time {
	return until.Add(2*rt.skew + time.Minute)
}

// Drain ends the runtime without ending the calls that wait in it, as far as ctx allows: it
// refuses what another instance can serve, with -31001, gives held handlers the rest of their
// time, waits for the rounds that run, and closes. Drain before the transport shuts down.
func (rt *Runtime) Drain(ctx context.Context) error {
	var phases []func() <-chan struct{}
	for _, empty := range rt.services.Drain() {
		phases = append(phases, func() <-chan struct{} { return empty })
	}
	phases = append(phases, rt.door.Close)
	for _, last := range rt.services.Last {
		phases = append(phases, last.Drain)
	}
	for _, phase := range phases {
		select {
		case <-phase():
			continue
		case <-ctx.Done():
		}
		cut := fmt.Errorf("mrtr: Drain: %d handlers held and %d requests under way: %w", rt.Stats().Held, rt.door.Inside(), context.Cause(ctx))
		return errors.Join(cut, rt.Close())
	}
	return rt.Close()
}

// closingTime is how long Close waits.
const closingTime = 10 * time.Second

// Close unwinds held handlers, cancels kept rounds, and waits for ten seconds at most: its error
// counts the handlers that still run. It does not close the store.
func (rt *Runtime) Close() error {
	rt.services.Drain() // lets go of what another instance can go on with
	lost := 0
	rt.services.Count(new(listen.Stats), func(listen.Waiting, time.Time) { lost++ })
	if lost > 0 {
		slog.Warn("mrtr: the runtime closes while calls wait for their users here, and no other instance can go on with them", "calls", lost)
	}
	effects := time.AfterFunc(closingTime/2, rt.stopEffects)
	defer effects.Stop()
	return rt.services.Close(time.Now().Add(closingTime))
}

// Stats counts the rounds and handlers of this moment.
func (rt *Runtime) Stats() listen.Stats {
	s := listen.Stats{Rounds: int(rt.rounds.Load())}
	rt.services.Count(&s, func(listen.Waiting, time.Time) {})
	return s
}

// Waiting counts the calls that wait for their users here, except tasks. It walks all of them.
func (rt *Runtime) Waiting() []listen.Waiting {
	return rt.services.Waiting()
}

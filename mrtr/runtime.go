package mrtr

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/sse"
	"github.com/mrtr-go/sdk/statecodec"
)

// Options configure a [Runtime]. The zero value, and nil, mean the defaults:
// states sealed with a key of this process, old clients asked over their
// session.
type Options struct {
	// State configures how states are sealed. Without keys the key is made up
	// and dies with the process; instances that serve one another's rounds
	// share theirs.
	State *statecodec.Options
	// Audience names this server where several share keys: a state sealed for
	// one does not open at another.
	Audience string
	// Principal tells who sends a request, to bind states to them. If nil, it
	// is the UserID of go-sdk's token info, "" for a request without a token;
	// a token that names no user is an error, since all of them would be one.
	// An error refuses the request.
	Principal func(ctx context.Context, req mcp.Request) (string, error)
	// Legacy is the policy for old clients; LegacyBridge if zero.
	Legacy LegacyPolicy
	// Bridge bounds the asking of legacy clients, within the bounds that hold for
	// every call: 9 rounds that ask, and 2 that only carry state.
	Bridge *sse.BridgeOptions
	// Observer is told what happens.
	Observer Observer
	// MaxStateBytes bounds what a call may carry, before sealing; 32 KiB if zero.
	MaxStateBytes int
	// MaxQuestions bounds the questions of one round; 16 if zero.
	MaxQuestions int
	// MaxFrames bounds the suspended handlers held at once; 100,000 if zero.
	MaxFrames int
	// MaxFramesPerPrincipal bounds those of one known principal; 1,000 if zero.
	MaxFramesPerPrincipal int
	// MaxFrameBytes bounds the arguments of the calls whose handlers are held;
	// 256 MiB if zero.
	MaxFrameBytes int
	// FrameTTL is how long a suspended handler waits for its answer before it
	// is unwound; 15 minutes if zero.
	FrameTTL time.Duration
}

// Runtime holds what the rounds of many calls share: the codec that seals
// their states, the limits, and the suspended handlers. It belongs to a
// server, or to several.
type Runtime struct {
	codec    sealer
	opts     Options
	frames   *frameTable
	observer Observer
}

// sealer is statecodec.Codec, but for the tests that show what goes wrong
// without a seal.
type sealer interface {
	Seal(b statecodec.Binding, payload []byte) (string, error)
	Open(b statecodec.Binding, token string) ([]byte, error)
}

// New makes a Runtime. What is wrong with the options is a [UsageError], or a
// [statecodec.UsageError] where State is.
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
	if o.Principal == nil {
		o.Principal = tokenUser
	}
	if err := o.resolveLimits(); err != nil {
		return nil, err
	}
	o.resolveState()
	codec, err := statecodec.New(o.State)
	if err != nil {
		return nil, err
	}
	rt := &Runtime{codec: codec.For("request_state"), opts: o, observer: o.Observer}
	rt.frames = newFrameTable(&o, rt.abandoned)
	return rt, nil
}

// Close unwinds every suspended handler and waits until they are gone, and
// those still running with them. From then on calls that would have to be held
// are refused. A handler that still runs ten seconds after its cancellation is
// left behind, and counted in the error.
func (rt *Runtime) Close() error { return rt.frames.close(10 * time.Second) }

func (rt *Runtime) principal(ctx context.Context, req mcp.Request) (_ string, err error) {
	defer recovered(&err)
	return rt.opts.Principal(ctx, req)
}

// tokenUser is who the bearer token speaks for, over HTTP.
func tokenUser(ctx context.Context, req mcp.Request) (string, error) {
	info := auth.TokenInfoFromContext(ctx)
	if extra := req.GetExtra(); extra != nil && extra.TokenInfo != nil {
		info = extra.TokenInfo
	}
	switch {
	case info == nil:
		return "", nil
	case info.UserID == "":
		return "", misuse("the request's token names no user: have its verifier set UserID, or set Options.Principal")
	}
	return info.UserID, nil
}

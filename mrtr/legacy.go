package mrtr

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/era"
)

// LegacyPolicy decides how a call goes on that has a question for a legacy client,
// one of a revision before 2026-07-28.
//
// Some of those clients cannot be asked at all: a stateless HTTP server has no
// stream to ask over, and go-sdk refuses to ask a client that requested a newer
// revision and was negotiated down. Under every policy tools/list is complete, and
// a tool that asks nothing works.
type LegacyPolicy int

const (
	// LegacyInherit takes the runtime's policy, which is LegacyBridge unless set.
	LegacyInherit LegacyPolicy = iota
	// LegacyBridge asks over the session, in as many rounds as [Options] allow. A client
	// that cannot be asked ends the call with [CannotBeAsked].
	LegacyBridge
	// LegacyBridgeOrDefaults asks over the session. For a client that cannot be
	// asked the questions' defaults are used; without one the call ends with
	// CannotBeAsked.
	LegacyBridgeOrDefaults
	// LegacyDefaults never asks. It uses the defaults; without one the call ends with
	// CannotBeAsked.
	LegacyDefaults
	// LegacyRefuse never asks and uses no default: the call ends with CannotBeAsked.
	LegacyRefuse
	// LegacyPassThrough answers as if the client were modern, for a handler inside
	// another bridge, such as an sse.Bridge of your own. Without one, a legacy client
	// reads the questions as an empty success.
	LegacyPassThrough
)

// UnaskablePolicy decides how a call goes on that has a question for a client, modern
// or legacy, that cannot be asked it: one that did not declare the capability, or one
// without a session that could carry the question. It takes precedence over
// the LegacyPolicy in the matter of defaults.
type UnaskablePolicy int

const (
	// UnaskableInherit takes the runtime's policy. Unless that is set, a modern client
	// is refused, and a legacy one treated as its [LegacyPolicy] says.
	UnaskableInherit UnaskablePolicy = iota
	// UnaskableDefaults uses the question's default. Without one the call ends.
	UnaskableDefaults
	// UnaskableRefuse ends the call, whatever default the question has.
	UnaskableRefuse
)

func (u UnaskablePolicy) valid() bool { return u >= UnaskableInherit && u <= UnaskableRefuse }

// contradicts reports whether the one policy uses defaults and the other forbids it.
func (u UnaskablePolicy) contradicts(l LegacyPolicy) bool {
	return u == UnaskableRefuse && l.usesDefaults() || u == UnaskableDefaults && l == LegacyRefuse
}

// usesDefaults reports whether a default stands in for an answer of this client, which
// cannot be asked.
func (t *target) usesDefaults(client era.Era) bool {
	switch t.unaskable {
	case UnaskableDefaults:
		return true
	case UnaskableRefuse:
		return false
	}
	return client != era.Modern && t.policy.usesDefaults()
}

func (l LegacyPolicy) valid() bool { return l >= LegacyInherit && l <= LegacyPassThrough }

// loops reports whether the engine itself goes through the rounds of a legacy
// client's call. It does so even under policies that never ask: a round that only
// carries state means nothing to such a client.
func (l LegacyPolicy) loops() bool { return l != LegacyPassThrough }

// bridges reports whether the engine asks legacy clients over their session.
func (l LegacyPolicy) bridges() bool { return l == LegacyBridge || l == LegacyBridgeOrDefaults }

// asksLegacy reports whether a question may go to a legacy client that can be
// asked, one way or the other.
func (l LegacyPolicy) asksLegacy() bool { return l.bridges() || l == LegacyPassThrough }

// usesDefaults reports whether a default stands in for an answer of a client that
// cannot be asked.
func (l LegacyPolicy) usesDefaults() bool { return l == LegacyBridgeOrDefaults || l == LegacyDefaults }

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
			c.hooks = &hooks{c.hooks.onComplete(), last.call.takeStops()}
		}
		last.call = c
	default:
		last.call = nil
	}
}

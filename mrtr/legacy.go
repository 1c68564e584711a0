package mrtr

// LegacyPolicy says what becomes of a call that has a question when its client is
// from before revision 2026-07-28.
//
// Some of those clients cannot be asked at all: a stateless HTTP server has no
// stream to ask over, and go-sdk refuses to ask a client that requested a
// newer revision and was negotiated down. For them the policy says what
// remains. In all cases tools/list is whole, and a tool that asks nothing
// works.
type LegacyPolicy int

const (
	// LegacyInherit takes the runtime's policy, which is LegacyBridge unless set.
	LegacyInherit LegacyPolicy = iota
	// LegacyBridge asks over the session, up to nine rounds of questions. Where that
	// cannot be, the call is [Refused].
	LegacyBridge
	// LegacyBridgeOrDefaults asks over the session. Where that cannot be, the
	// questions' defaults are used, and without one the call is Refused.
	LegacyBridgeOrDefaults
	// LegacyDefaults never asks: defaults, and without one Refused.
	LegacyDefaults
	// LegacyRefuse never asks and never assumes: Refused, naming what is missing.
	LegacyRefuse
	// LegacyPassThrough answers as if the client were modern, for a handler that
	// something outside bridges, such as sse.Bridge put around it by hand.
	// Without that, an old client gets what it takes for an empty success.
	LegacyPassThrough
)

func (l LegacyPolicy) valid() bool { return l >= LegacyInherit && l <= LegacyPassThrough }

// loops reports whether the engine itself goes through the rounds of a call
// from an old client. That is so even where it never asks one: a round that
// only carries state means nothing to such a client.
func (l LegacyPolicy) loops() bool { return l != LegacyPassThrough }

// bridges reports whether the engine asks old clients over their session.
func (l LegacyPolicy) bridges() bool { return l == LegacyBridge || l == LegacyBridgeOrDefaults }

// asksLegacy reports whether a question may go to a legacy client that can be
// asked, one way or the other.
func (l LegacyPolicy) asksLegacy() bool { return l.bridges() || l == LegacyPassThrough }

// usesDefaults reports whether a default stands in for an answer nobody can
// be asked for.
func (l LegacyPolicy) usesDefaults() bool { return l == LegacyBridgeOrDefaults || l == LegacyDefaults }

package mrtr

// Legacy says what becomes of a call that has a question when its client is
// from before revision 2026-07-28.
//
// Some of those clients cannot be asked at all: a stateless HTTP server has no
// stream to ask over, and go-sdk refuses to ask a client that requested a
// newer revision and was negotiated down. For them the policy says what
// remains. In all cases tools/list is whole, and a tool that asks nothing
// works.
type Legacy int

const (
	// LegacyInherit takes the runtime's policy, which is LegacyBridge unless set.
	LegacyInherit Legacy = iota
	// LegacyBridge asks over the session, as many rounds as it takes. Where that
	// cannot be, the call is [Refused].
	LegacyBridge
	// LegacyBridgeOrDefaults asks over the session. Where that cannot be, the
	// questions' defaults are used, and without one the call is Refused.
	LegacyBridgeOrDefaults
	// LegacyDefaults never asks: defaults, and without one Refused.
	LegacyDefaults
	// LegacyRefuse never asks and never assumes: Refused, naming what is missing.
	LegacyRefuse
	// LegacyRounds answers as if the client were modern, for a handler that
	// something outside bridges, such as sse.Bridge put around it by hand.
	// Without that, an old client gets what it takes for an empty success.
	LegacyRounds
)

func (l Legacy) valid() bool { return l >= LegacyInherit && l <= LegacyRounds }

// loops reports whether the engine itself goes through the rounds of a call
// from an old client. That is so even where it never asks one: a round that
// only carries state means nothing to such a client.
func (l Legacy) loops() bool { return l != LegacyRounds }

// bridges reports whether the engine asks old clients over their session.
func (l Legacy) bridges() bool { return l == LegacyBridge || l == LegacyBridgeOrDefaults }

// asksLegacy reports whether a question may go to a legacy client that can be
// asked, one way or the other.
func (l Legacy) asksLegacy() bool { return l.bridges() || l == LegacyRounds }

// usesDefaults reports whether a default stands in for an answer nobody can
// be asked for.
func (l Legacy) usesDefaults() bool { return l == LegacyBridgeOrDefaults || l == LegacyDefaults }

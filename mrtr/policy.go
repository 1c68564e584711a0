package mrtr

import (
	"cmp"

	"github.com/mrtr-go/sdk/sse/era"
)

// LegacyPolicy decides how a call goes on that has a question for a legacy client,
// one of a revision before 2026-07-28.
//
// Some of those clients cannot be asked at all: a stateless HTTP server has no
// stream to ask over, and go-sdk refuses to ask a client that requested a newer
// revision and was negotiated down. Under every policy a tool that asks nothing works,
// and tools/list is complete, unless [Runtime.HideUnaskable] says otherwise.
type LegacyPolicy int

const (
	// LegacyInherit takes the runtime's policy, which is LegacyBridge unless set.
	LegacyInherit LegacyPolicy = iota
	// LegacyBridge asks over the session, in as many rounds as [Options] allow.
	LegacyBridge
	// LegacyNever asks no legacy client, as if none could be asked.
	LegacyNever
	// LegacyPassThrough answers as if the client were modern, for a handler inside
	// another bridge, such as an sse.Bridge of your own. Without one, a legacy client
	// reads the questions as an empty success.
	LegacyPassThrough
)

// UnaskablePolicy decides how a call goes on that has a question for a client, modern
// or legacy, that cannot be asked it: the client did not declare the capability, has
// no session that could carry the question, or its [LegacyPolicy] is LegacyNever.
// Where no default stands in, a modern client that lacks a capability gets the JSON-RPC
// error -32021, and any other call ends with [CannotBeAsked].
type UnaskablePolicy int

const (
	// UnaskableInherit takes the runtime's policy, which is UnaskableRefuse unless set.
	UnaskableInherit UnaskablePolicy = iota
	// UnaskableRefuse ends the call, whatever default the question has.
	UnaskableRefuse
	// UnaskableLegacyDefaults uses the question's default for legacy clients, and
	// refuses modern ones, which could have declared the capability.
	UnaskableLegacyDefaults
	// UnaskableDefaults uses the question's default for every client.
	UnaskableDefaults
)

// inherit puts another policy in place of one that is zero, and refuses one that there is not.
func inherit[P ~int](policy *P, other, last P, option string) error {
	if *policy < 0 || *policy > last {
		return misuse("%s is not a policy: %d", option, *policy)
	}
	*policy = cmp.Or(*policy, other)
	return nil
}

// usesDefaults reports whether a default stands in for an answer of this client, which
// cannot be asked.
func (t *target) usesDefaults(client era.Era) bool {
	return t.unaskable == UnaskableDefaults || t.unaskable == UnaskableLegacyDefaults && client != era.Modern
}

// loops reports whether the engine itself goes through the rounds of a legacy
// client's call. It does so even if it never asks: a round that only carries state
// means nothing to such a client.
func (l LegacyPolicy) loops() bool { return l != LegacyPassThrough }

// asksLegacy reports whether a question may go to a legacy client that can be
// asked, one way or the other.
func (l LegacyPolicy) asksLegacy() bool { return l != LegacyNever }

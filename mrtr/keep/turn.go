package keep

import (
	"time"

	"github.com/mrtr-go/sdk/mrtr/listen"
)

// A Turn is a round that enters the handler or ends the call. All equal requests name the same
// one.
type Turn struct {
	Round       listen.Round
	Mark        string
	Name        string // of this turn of this call, of this sender
	Fingerprint string // of the answers as they came
	Expires     time.Time
	Within      time.Duration // that the round has
	Cancel      bool          // the end of the request reaches the round also when it is kept
	Noted       bool          // the round writes its effects down from the start
	Since       time.Time     // when the answers came, if one of its questions has a deadline
	Handler     Recorder
	Branch      string // the states that came from one first request have the same
	Shared      bool   // its questions had gone out when the branch began
	Late        bool   // no state opens any more that asks for it, so that it ends its call
	First       *First // of a turn with which its call begins; nil for any other
	// Due is when somebody has to look after the turn, if it has effects and came to no end; zero
	// for never. Overdue gets Asked then, in place of an outcome.
	Due   Due
	Asked []byte
}

// First is what a Keeper has to know of a turn with which a call begins. All first requests that
// mean the same name the same turn, and one of them begins the call: with its first effect, or with
// its questions. The others join it, and get the questions.
type First struct {
	Call string // the id that its effects are under
	// Keyed: the client has a key for the call, so all requests with that key are one call, to
	// its end and after. Its turn is claimed before it runs.
	Keyed bool
	// Next is the turn that goes on from an outcome of the call. It is false of an outcome with
	// which the call is over. Held reports whether that turn, if nobody has claimed it, finds
	// what it goes on with.
	Next func(outcome []byte) (Next, bool)
	Held func(outcome []byte) bool
	// Aside names the record of a call that was left, when another takes its place.
	Aside func(call string) string
	// Alone: nobody else means the same, so that questions alone need not be kept.
	Alone bool
}

// Next is a turn that goes on from an outcome.
type Next struct {
	Turn  string
	Until time.Time // of the states that ask for it
	Waits bool      // such a state still opens
}

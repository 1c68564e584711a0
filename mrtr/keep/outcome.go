package keep

import (
	"encoding/json"
	"time"
)

// An Outcome is what a round came to.
type Outcome struct {
	Token   string          // of the questions that it asks
	Value   any             // the result of a call that is complete, or was stopped
	Saved   json.RawMessage // Value as a [Recorder] writes it, nil where it cannot
	Stopped bool            // with Value, by mrtr.Stop
	Err     error
	// Repeated: the outcome is that of an earlier request. A Keeper says so.
	Repeated bool
	// Orphaned: the client has left, and the round goes on without it. A Keeper says so too.
	Orphaned bool
	// Joins is where the call stands whose questions these are, if another branch of it ran the
	// round.
	Joins *Joins
	// Extend names records of the call that have to live longer from now on.
	Extend *Extend
	// Due is when somebody has to look after the call; zero for never. Request is what they need
	// to know of it.
	Due     Due
	Request json.RawMessage
	// Free: this is no outcome. Whoever sends the request again runs the round, and finds Left.
	Free bool
	Left []byte
}

// Due is when nobody can go on with a call any more, and until when an instance looks after what
// it left.
type Due struct{ At, Until time.Time }

// Joins is where a call stands that a first request joins: Seen turns had their questions, and its
// states open Until then, or nobody answered and it is too Late. For a later request it says
// nothing.
type Joins struct {
	Seen  int
	Until time.Time
	Late  bool
}

// Extend names records that have to live until a time.
type Extend struct {
	Names []string
	Until time.Time
}

package mrtr

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mrtr-go/sdk/sse/era"
)

// A Keeper decides whether a round runs, and keeps what it came to: a request that arrives
// again gets the outcome of the first. Without one, every request runs its round.
type Keeper interface {
	// Begin is the mark that the states of a call have to carry for the Keeper, so that it knows
	// what it has forgotten since; "" for a call that is not kept.
	Begin(ctx context.Context) (mark string, _ error)
	// Keep runs a turn, or returns the outcome of an earlier run. A cause that [EndsCall]
	// reaches a round that runs, however far the Keeper has cut it loose from its request.
	Keep(ctx context.Context, t Turn, run func(ctx context.Context, n Notes) Outcome) (Outcome, error)
	// Overdue has the Keeper look, from time to time and at any instance, for outcomes that are
	// [Due]. What looks after one reports whether that is done. It is false where it cannot look.
	Overdue(look func(ctx context.Context, outcome []byte) (done bool)) (looks bool)
	Service
}

// A Turn is a round that enters the handler or ends the call. All equal requests name the same
// one.
type Turn struct {
	Round       Round
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

// The errors with which a Keeper has a round go another way.
var (
	// ErrSplit: another branch of the call has answered its questions, so this branch is a call
	// of its own.
	ErrSplit = errors.New("mrtr: another branch has the turn")
	// ErrElsewhere, of Notes.Begun: an equal request has begun the call, so this run of its first
	// round is over.
	ErrElsewhere = errors.New("mrtr: an equal request has begun this call")
	// ErrBeginAgain: the call has not begun, and the Keeper has another mark for it now.
	ErrBeginAgain = errors.New("mrtr: the mark of the call has changed")
)

// Recorder reads and writes the records of a handler whose rounds are kept.
type Recorder interface {
	// Goes reports whether a run that was cut off, and left these effects, can be gone on with.
	Goes(left []byte) bool
	// Write is the record of an outcome, nil for one that cannot be kept, with the outcome as
	// every request is to get it. Read reads the record.
	Write(Outcome) ([]byte, Outcome)
	Read([]byte) Outcome
	// Cut is the outcome of a run that was cut off and is not gone on with.
	Cut(left []byte) Outcome
}

// Notes are how a round that runs writes down its effects.
type Notes interface {
	// Left are the effects of an earlier run that was cut off, or let go of the turn. CutOff
	// reports whether it was cut off. Call is the id that the effects of a first turn are under.
	Left() []byte
	CutOff() bool
	Call() string
	// Doubts reports whether a run of the turn may have been forgotten: then every effect of this
	// one may have happened before.
	Doubts() bool
	// Mark is that of the states which come of the round.
	Mark() string
	// Since is that of the Turn which was claimed first.
	Since() time.Time
	// Begun writes down the effects of the round, one of which is about to begin. With an
	// error it must not.
	Begun(ctx context.Context) error
	// Ended writes down soon that one of them has ended.
	Ended()
	// Watch is given the effects of the round. It is called first.
	Watch(effects Effects)
}

// Effects are those of a round, as they are when they are asked for.
type Effects interface {
	// Left encodes them for whoever goes on with the round.
	Left() []byte
	// Busy is until when the last of those that run may run, the zero time if none does.
	Busy() time.Time
	// GiveUp ends a round whose handler did not end with its context. No effect begins any more.
	GiveUp(why string) Outcome
}

// An Outcome is what a round came to.
type Outcome struct {
	Token   string // of the questions that it asks
	Value   any    // the result of a call that is complete, or was stopped
	Stopped bool   // with Value, by [Stop]
	Err     error
	// Refused says which part of a request was refused, and Why and Cause the reason, which its
	// client is not told. Nothing was run.
	Refused RefusedPart
	Why     string
	Cause   error
	// Repeated: the outcome is that of an earlier request. A Keeper says so.
	Repeated bool
	// Orphaned: the client has left, and the round goes on without it. A Keeper says so too.
	Orphaned bool
	// Joins is where the call stands whose questions these are, if another branch of it ran the
	// round.
	Joins *Joins
	// Extend names records of the call that have to live longer from now on.
	Extend *Extend
	// Due is when somebody has to look after the call; zero for never.
	Due Due
	// Free: this is no outcome. Whoever sends the request again runs the round, and finds Left.
	Free bool
	Left []byte

	asks  []pending       // those of Token, where they are known
	saved json.RawMessage // Value as it is kept; nil where it cannot be
	call  json.RawMessage // the request of Token, for whoever looks after an outcome that is due
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

// RefusedPart is the part of a request for which it was refused.
type RefusedPart string

const (
	RefusedState     RefusedPart = "state"
	RefusedPrincipal RefusedPart = "principal"
	RefusedRequest   RefusedPart = "request"
	RefusedRound     RefusedPart = "round" // by the Keeper, or because the server shuts down
)

// Asks are the keys of the questions that an outcome asks, where they are known.
func (o *Outcome) Asks() (keys []string) {
	for i := range o.asks {
		if p := &o.asks[i]; !p.settled() {
			keys = append(keys, p.key)
		}
	}
	return keys
}

// noNotes is for a round that nobody keeps.
type noNotes struct{}

func (noNotes) Left() []byte                { return nil }
func (noNotes) CutOff() bool                { return false }
func (noNotes) Call() string                { return "" }
func (noNotes) Doubts() bool                { return false }
func (noNotes) Mark() string                { return "" }
func (noNotes) Since() time.Time            { return time.Time{} }
func (noNotes) Begun(context.Context) error { return nil }
func (noNotes) Ended()                      {}
func (noNotes) Watch(Effects)               {}

// A CutOff is the cause by which a Keeper ends the context of a round before the round has
// come to its end: its time was up, or the server shuts down.
type CutOff struct{ Why string }

func (c *CutOff) Error() string { return c.Why }

// EndsCall reports whether a context's cause is the end of the call, rather than that of
// somebody's waiting. Such a cause has a method EndsCall, which returns the error of the call: a
// task that was cancelled has one, and the session of a user who never answered. A request
// that arrives with such a cause ends its call without its handler.
func EndsCall(cause error) bool { return endOfCause(cause) != nil }

// endOf is the error of the call that a context ends, or nil.
func endOf(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return endOfCause(context.Cause(ctx))
}

func endOfCause(cause error) error {
	var end interface{ EndsCall() error }
	if cause != nil && errors.As(cause, &end) {
		return end.EndsCall()
	}
	return nil
}

// A Service is what a layer keeps for all calls of a runtime, such as the handlers that it
// holds. It is closed with the runtime.
type Service interface {
	// Drain takes in nothing new. The channel is closed when nothing is left that only this
	// process can go on with.
	Drain() (empty <-chan struct{})
	// Close ends what is left, until a time at most.
	Close(until time.Time) error
	// Count adds to the numbers of the runtime.
	Count(s *Stats, waiting func(w Waiting, since time.Time))
}

type services struct {
	mu       sync.Mutex
	byKey    map[any]Service
	draining bool
	closeBy  time.Time // zero until the runtime is closed
}

// of is the service under a key. One that is made while the runtime drains, or after it was
// closed, is drained or closed at once.
func (s *services) of(key any, make func() Service) Service {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byKey == nil {
		s.byKey = map[any]Service{}
	}
	if s.byKey[key] == nil {
		made := make()
		if s.byKey[key] = made; s.draining {
			made.Drain()
		}
		if !s.closeBy.IsZero() {
			_ = made.Close(s.closeBy) // it has nothing to close
		}
	}
	return s.byKey[key]
}

// drain drains every service before anybody can see that the runtime drains.
func (s *services) drain() (empty []<-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draining = true
	for _, service := range s.byKey {
		empty = append(empty, service.Drain())
	}
	return empty
}

// close notes until when the runtime closes, unless that is known.
func (s *services) close(until time.Time) (all []Service, by time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closeBy.IsZero() {
		s.closeBy = until
	}
	return slices.Collect(maps.Values(s.byKey)), s.closeBy
}

func (s *services) state() (all []Service, draining, closed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.byKey)), s.draining, !s.closeBy.IsZero()
}

// Emptiness tells those who wait that nothing is left. Its owner's lock guards it.
type Emptiness struct{ reached chan struct{} } // nil where nobody waits

// Wait returns a channel that is closed when nothing is left.
func (e *Emptiness) Wait(empty bool) <-chan struct{} {
	if e.reached == nil {
		e.reached = make(chan struct{})
	}
	reached := e.reached
	e.Note(empty)
	return reached
}

// Note says whether anything is left.
func (e *Emptiness) Note(empty bool) {
	if empty && e.reached != nil {
		close(e.reached)
		e.reached = nil
	}
}

// Stats are a snapshot, for metrics and status pages.
type Stats struct {
	// Rounds are the requests that are being served. A call of a legacy client counts while its
	// rounds run, and not while its user is asked.
	Rounds int
	// Held are the handlers that wait for an answer, and HeldBytes the memory that
	// [Limits.MaxFrameBytes] bounds. Running are the linear handlers that run now.
	Held, HeldBytes, Running int
	// Orphans are the rounds that run though their clients have left.
	Orphans int
	// Draining says that [Runtime.Drain] was called, and Closed that the runtime is closed.
	Draining, Closed bool
}

// Waiting counts the calls of one kind that wait for their users at this instance. A call that
// is neither held nor legacy nor a task waits at its client, and no server knows of it.
type Waiting struct {
	Method, Name string // as in a log
	Era          era.Era
	Way          string
	Calls        int
	Longest      time.Duration // since its questions went out
}

// The ways in which a server waits for a user, in [Waiting].
const (
	WayHeld   = "held"   // the handler is held, and the client has its questions
	WayLegacy = "legacy" // the client is asked while its request is open
	WayTask   = "task"   // the call is a task: see the Waiting of tasks.Manager
)

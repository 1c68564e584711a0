package mrtr

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/mrtr-go/sdk/internal/callerror"
	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/internal/usage"
	"github.com/mrtr-go/sdk/mrtr/internal/question"
	"github.com/mrtr-go/sdk/mrtr/listen"
	"github.com/mrtr-go/sdk/sse/era"
)

// LegacyPolicy decides how a legacy client, one of a revision before 2026-07-28, is asked.
type LegacyPolicy int

const (
	// LegacyInherit takes the runtime's policy, by default LegacyBridge.
	LegacyInherit LegacyPolicy = iota
	// LegacyBridge asks over the session.
	LegacyBridge
	// LegacyNever asks no legacy client, as if none could be asked.
	LegacyNever
	// LegacyPassThrough answers as if the client were modern, for a handler inside an sse.Bridge
	// of your own.
	LegacyPassThrough
)

// UnaskablePolicy decides about a question that the client can't be asked. Ending the call means
// JSON-RPC error -32021 where a modern client lacks a capability, else [CannotBeAsked].
type UnaskablePolicy int

const (
	// UnaskableInherit takes the runtime's policy, by default UnaskableRefuse.
	UnaskableInherit UnaskablePolicy = iota
	// UnaskableRefuse ends the call.
	UnaskableRefuse
	// UnaskableLegacyDefaults takes the question's default for legacy clients, and ends the call of
	// modern ones.
	UnaskableLegacyDefaults
	// UnaskableDefaults takes the question's default.
	UnaskableDefaults
)

// inherit puts another policy in place of a zero one, and refuses an unknown one.
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

// gate decides, before anything is asked, whether this client can be asked the
// question. If not, it returns the answer that stands in, or the error.
func (l *ledger) gate(s *question.Spec) (standIn json.RawMessage, _ error) {
	client, policy := l.ex.client, l.target.policy
	asks := client.Era == era.Modern || client.Era == era.Legacy && policy != LegacyNever
	capability := s.Kind.Capability()
	switch {
	case asks && client.Declared(capability):
		return nil, nil
	case s.Fallback() != nil && l.target.usesDefaults(client.Era):
		return s.Fallback(), nil
	case s.Lenient:
		return s.Unasked(), nil
	case client.Era == era.Modern:
		return nil, callerror.Lacks(capability.Wire(), fmt.Sprintf(": %q asks %q", l.ex.name, s.Key))
	case asks:
		return nil, cannotBeAsked(s.Key, capability.String())
	case client.Era == era.Legacy:
		return nil, cannotBeAsked(s.Key, needsModern)
	}
	return nil, cannotBeAsked(s.Key, question.NeedsSession)
}

// A client that cannot be asked, whatever it declared, lacks one of these.
const needsModern = "protocol revision 2026-07-28"

func cannotBeAsked(key, lacks string) error {
	return &Error{Reason: CannotBeAsked, Key: key, Detail: lacks}
}

// needs are the questions that every call of a handler asks, known before it is
// entered: one list for modern clients, and one for all others, who may get another
// style ([ByVersion]).
type needs struct{ modern, others []*question.Spec }

// needsOf are the questions of [HandlerOptions.Needs] and those of a style. One of the former
// that no client can fail to answer is a mistake, since it would do nothing there.
func needsOf(modern, legacy, own []AnyQuestion) (n needs, _ error) {
	specs, err := specsOf(nil, own)
	if err != nil {
		return n, err
	}
	if len(specs) < len(own) {
		return n, misuse("HandlerOptions.Needs has a question that is Known: nobody is asked it")
	}
	for _, q := range specs {
		if q.Lenient {
			return n, misuse("HandlerOptions.Needs has question %q, which goes on without an answer: it refuses nobody", q.Key)
		}
	}
	for _, style := range []struct {
		asks []AnyQuestion
		all  *[]*question.Spec
	}{{modern, &n.modern}, {legacy, &n.others}} {
		asks, err := specsOf(nil, style.asks)
		if err != nil {
			return n, err
		}
		*style.all = slices.Concat(specs, asks) // which may name the same question
	}
	return n, nil
}

// refuseUnaskable ends a call, before its handler is entered, whose client cannot be
// asked what every call asks. Later, an effect above the question would have run.
func (l *ledger) refuseUnaskable() error {
	s, err := l.unaskable()
	if err != nil {
		l.report(s, listen.HowNotAsked)
	}
	return err
}

// unaskable is the first question that every call asks and that this client cannot be asked,
// with the error of such a call.
func (l *ledger) unaskable() (*question.Spec, error) {
	specs := l.target.needs.others
	if l.ex.client.Era == era.Modern {
		specs = l.target.needs.modern
	}
	for _, s := range specs {
		if _, err := l.gate(s); err != nil {
			return s, err
		}
	}
	return nil, nil
}

// Limits bound the calls of a [Runtime]. Zero means the default.
type Limits struct {
	// MaxRounds bounds the rounds that ask; 9 if zero.
	MaxRounds int
	// MaxStateBytes bounds a state before sealing; 32 KiB if zero.
	MaxStateBytes int
	// MaxFrames bounds the handlers held at once; 100,000 if zero. One principal has a
	// hundredth.
	MaxFrames int
	// MaxFrameBytes bounds the memory of their histories; 256 MiB if zero.
	MaxFrameBytes int
	// FrameTTL is how long a handler is held; 15 minutes if zero.
	FrameTTL time.Duration
}

// resolve puts the default in place of a limit that is zero, and refuses a negative one.
func (l *Limits) resolve() error {
	u := usage.Of("mrtr", "Options.Limits")
	usage.Default(u, "MaxRounds", &l.MaxRounds, followedAsks)
	usage.Default(u, "MaxStateBytes", &l.MaxStateBytes, 32<<10)
	usage.Default(u, "MaxFrames", &l.MaxFrames, 100_000)
	usage.Default(u, "MaxFrameBytes", &l.MaxFrameBytes, 256<<20)
	usage.Default(u, "FrameTTL", &l.FrameTTL, 15*time.Minute)
	return u.Err()
}

// followedAsks are the rounds that ask which go-sdk's own client follows. The user has answered
// all of them when a client gives up, and the answers are lost with the call.
const followedAsks = 9

// TaskPolicy says in which way a tool's calls become tasks, for clients that take them and a
// server with tasks.Install. Zero: never.
type TaskPolicy struct {
	AtOnce   bool          // before the handler is entered
	After    time.Duration // that one of its rounds has run
	Detached bool          // where the handler calls [Call.Detach]
	// Required refuses other clients, with error -32021.
	Required bool
}

// check refuses a policy that contradicts itself.
func (p TaskPolicy) check() error {
	ways := 0
	for _, named := range []bool{p.AtOnce, p.After > 0, p.Detached} {
		if named {
			ways++
		}
	}
	switch {
	case p.After < 0:
		return misuse("HandlerOptions.Task.After is negative: %v", p.After)
	case ways > 1:
		return misuse("HandlerOptions.Task names more than one of AtOnce, After and Detached")
	case p.Required && ways == 0:
		return misuse("HandlerOptions.Task is Required, and says not when a call becomes a task: set AtOnce, After or Detached")
	}
	return nil
}

// forToolsAlone panics where a prompt or resource has an option for tools.
func (t *target) forToolsAlone() {
	if t.Name != "" {
		panic(misuse("HandlerOptions.Name is set, and only a tool has one: a prompt or resource is not hidden"))
	}
	if t.task != (rendezvous.TaskPolicy{}) {
		panic(misuse("HandlerOptions.Task is set, and only a call of a tool can become a task"))
	}
}

// SamePolicy decides which first requests mean one call. It needs a [keep.Keeper].
type SamePolicy int

const (
	// SameInherit takes the runtime's policy, by default SameWaiting.
	SameInherit SamePolicy = iota
	// SameNone makes each first request a separate call, whatever key it has.
	SameNone
	// SameWaiting makes equal first requests of one known caller one call, while that waits for
	// its first answer. One that comes later catches up with the call by the same answers. A
	// caller is known by the principal; without one, all over stdio and in memory are one caller.
	SameWaiting
)

package mrtr

import (
	"cmp"
	"time"

	"github.com/mrtr-go/sdk/internal/usage"
	"github.com/mrtr-go/sdk/sse"
	"github.com/mrtr-go/sdk/sse/era"
	"github.com/mrtr-go/sdk/statecodec"
)

// Limits bound the calls of a [Runtime]. Zero means the default. A negative limit is an
// error, and so is one that another limit keeps from being reached.
type Limits struct {
	// MaxRounds bounds the rounds of one call that ask; 9 if zero. The user has
	// answered all of them when a client gives up, and the answers are lost with the
	// call. go-sdk's client makes ten requests and takes no result of the tenth that
	// asks again. So nine rounds can ask, and a call that needs more ends here, with an
	// error that says so, before that client ends it without one.
	//
	// More than 9 hold for legacy calls, whose rounds this server makes itself, and for
	// modern clients that follow further by [Options] FollowsRounds.
	MaxRounds int
	// MaxStateBytes bounds the state of a call, before sealing; 32 KiB if zero.
	MaxStateBytes int
	// MaxQuestions bounds the questions of one round; 16 if zero.
	MaxQuestions int
	// MaxFrames bounds the handlers held at once; 100,000 if zero. The callers without
	// a principal share three quarters of them: however many such callers there are, a
	// known one finds a place.
	//
	// A call that finds no room takes it from [Resumable] calls, those that have waited
	// longest first. Their handlers are unwound, and their next rounds replay the journal.
	// So these bounds say how many of them are hot, and not how many may be open. A
	// [Coroutine], and any call of a legacy client, keeps its room.
	MaxFrames int
	// MaxFramesPerPrincipal bounds those of one known principal; 1,000 if zero. At this
	// bound a call takes room from calls of its own principal alone.
	MaxFramesPerPrincipal int
	// MaxFrameBytes bounds the memory of the held handlers, beside the few KiB of
	// each one's stack: the decoded input (of a resource, its address), answers and
	// effects; 256 MiB if zero. No principal holds more than three quarters of
	// it, nor do all callers without one. A call that is held, and whose next answer
	// does not fit, ends with [Busy], or goes on without its frame if it is [Resumable].
	MaxFrameBytes int
	// FrameTTL is how long a held handler waits for its answer before it is
	// unwound; 15 minutes if zero.
	FrameTTL time.Duration
	// MaxOrphans bounds the rounds with a store that run though their clients have left;
	// 1,000 if zero. Beyond it no round is begun. The callers without a principal share
	// three quarters of them. MaxOrphansPerPrincipal bounds those of one known principal;
	// 100 if zero, or MaxOrphans where that is less. A round that comes to its held handler
	// from another instance is none of them: there are no more of those than frames.
	MaxOrphans, MaxOrphansPerPrincipal int
}

// resolve puts the default in place of a limit that is zero, and refuses a negative one.
func (l *Limits) resolve() error {
	u := usage.Of("mrtr", "Options.Limits")
	usage.Default(u, "MaxRounds", &l.MaxRounds, followedAsks)
	usage.Default(u, "MaxStateBytes", &l.MaxStateBytes, 32<<10)
	usage.Default(u, "MaxQuestions", &l.MaxQuestions, 16)
	usage.Default(u, "MaxFrames", &l.MaxFrames, 100_000)
	usage.Default(u, "MaxFramesPerPrincipal", &l.MaxFramesPerPrincipal, 1000)
	usage.Default(u, "MaxFrameBytes", &l.MaxFrameBytes, 256<<20)
	usage.Default(u, "MaxOrphans", &l.MaxOrphans, 1000)
	usage.Default(u, "MaxOrphansPerPrincipal", &l.MaxOrphansPerPrincipal, min(100, max(l.MaxOrphans, 1)))
	usage.Default(u, "FrameTTL", &l.FrameTTL, 15*time.Minute)
	return u.Err()
}

// The limits of a call that no option changes.
const (
	// followedAsks and maxCarries are the rounds that go-sdk's own client follows: those
	// that ask, and those that only carry state.
	followedAsks = 9
	maxCarries   = 2
	// maxTries is how often one question is asked again for a usable answer.
	maxTries = 3
	// maxAnswerOver bounds an answer that [Question.AskOver] gets, which no state has
	// to hold. It is the bound of other answers under the default MaxStateBytes.
	maxAnswerOver = 16 << 10
)

// maxAsks bounds the rounds of this call that ask.
func (c *Call) maxAsks() int {
	limit := c.rt.opts.MaxRounds
	if c.ex.client.Era != era.Modern || c.task() != nil { // nobody follows its rounds but this server
		return limit
	}
	follows := followedAsks
	if f := c.rt.opts.FollowsRounds; f != nil {
		if n := f(c.ex.request); n > 0 {
			follows = n
		}
	}
	return min(limit, follows)
}

// countRound counts a round that goes out, and ends a call of more rounds than its
// client follows.
func (c *Call) countRound(asks bool) error {
	n := c.st.countRound(asks)
	if !asks && n > maxCarries {
		return limitExceeded(maxCarries, "rounds that only carry state in one call")
	}
	if limit := c.maxAsks(); asks && n > limit {
		return tooManyRounds(limit)
	}
	return nil
}

func tooManyRounds(limit int) error {
	return limitExceeded(limit, "rounds of questions in one call")
}

// bridgeOptions are those of the bridge around every handler: it goes as far as the
// engine does, unless it is told otherwise.
func (o *Options) bridgeOptions() *sse.BridgeOptions {
	var b sse.BridgeOptions
	if o.Bridge != nil {
		b = *o.Bridge
	}
	if b.MaxRounds == 0 {
		b.MaxRounds = o.MaxRounds
	}
	return &b
}

// checkLimits refuses a limit that can never be reached, because another one holds
// before it: whoever set it believes that it holds.
func (o *Options) checkLimits() error {
	if b := o.Bridge; b != nil {
		switch {
		case b.MaxRounds < 0 || b.MaxStateRounds < 0 || b.AnswerTimeout < 0 || b.ProgressInterval < 0:
			return misuse("Options.Bridge has a negative value")
		case b.MaxRounds > cmp.Or(o.MaxRounds, followedAsks):
			return misuse("Options.Bridge.MaxRounds is %d, and every call ends after %d rounds that ask", b.MaxRounds, cmp.Or(o.MaxRounds, followedAsks))
		case b.MaxStateRounds > maxCarries:
			return misuse("Options.Bridge.MaxStateRounds is %d, and every call ends after %d rounds that only carry state", b.MaxStateRounds, maxCarries)
		}
	}
	if o.MaxFrames > 0 && o.MaxFramesPerPrincipal > o.MaxFrames {
		return misuse("Options.Limits.MaxFramesPerPrincipal is %d, and MaxFrames %d", o.MaxFramesPerPrincipal, o.MaxFrames)
	}
	if o.MaxOrphans > 0 && o.MaxOrphansPerPrincipal > o.MaxOrphans {
		return misuse("Options.Limits.MaxOrphansPerPrincipal is %d, and MaxOrphans %d", o.MaxOrphansPerPrincipal, o.MaxOrphans)
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

// tokenFor bounds the token of a state with size bytes from above.
func tokenFor(size int) int {
	const overhead = 1 << 10 // more than sealing adds, beside base64
	return (size+2)/3*4 + overhead
}

// resolveState puts a key of this process where none is given, and makes room for
// the largest state.
func (o *Options) resolveState() {
	var s statecodec.Options
	if o.State != nil {
		s = *o.State
	}
	s.Ephemeral = s.Ephemeral || len(s.Keys) == 0 && s.Keyring == nil
	if s.MaxToken == 0 {
		s.MaxToken = max(statecodec.DefaultMaxToken, tokenFor(o.MaxStateBytes))
	}
	o.State = &s
}

// codecFor makes a codec for another purpose than states, with their keys.
func (o *Options) codecFor(purpose string, ttl time.Duration, maxToken int) (*statecodec.Codec, error) {
	s := *o.State
	s.Readable, s.PerPrincipal, s.PerSession, s.Instance = false, false, false, ""
	s.TTL, s.MaxToken = ttl, maxToken
	codec, err := statecodec.New(&s)
	if err != nil {
		return nil, err
	}
	return codec.For(purpose), nil
}

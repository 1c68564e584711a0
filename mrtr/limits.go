package mrtr

import (
	"cmp"
	"time"

	"github.com/mrtr-go/sdk/era"
	"github.com/mrtr-go/sdk/sse"
	"github.com/mrtr-go/sdk/statecodec"
)

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
	if c.ex.client.Era != era.Modern {
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

// resolveLimits puts the default where a limit is zero, and refuses a negative one.
func (o *Options) resolveLimits() error {
	for _, limit := range []struct {
		name     string
		value    *int
		fallback int
	}{
		{"MaxRounds", &o.MaxRounds, followedAsks},
		{"MaxStateBytes", &o.MaxStateBytes, 32 << 10},
		{"MaxQuestions", &o.MaxQuestions, 16},
		{"MaxFrames", &o.MaxFrames, 100_000},
		{"MaxFramesPerPrincipal", &o.MaxFramesPerPrincipal, 1000},
		{"MaxFrameBytes", &o.MaxFrameBytes, 256 << 20},
	} {
		if *limit.value < 0 {
			return misuse("Options.%s is negative", limit.name)
		}
		if *limit.value == 0 {
			*limit.value = limit.fallback
		}
	}
	if o.FrameTTL < 0 {
		return misuse("Options.FrameTTL is negative")
	}
	if o.FrameTTL == 0 {
		o.FrameTTL = 15 * time.Minute
	}
	if b := o.Bridge; b != nil && (b.MaxRounds < 0 || b.MaxStateRounds < 0 || b.AnswerTimeout < 0 || b.ProgressInterval < 0) {
		return misuse("Options.Bridge has a negative value")
	}
	return nil
}

// checkLimits refuses a limit that can never be reached, because another one holds
// before it: whoever set it believes that it holds.
func (o *Options) checkLimits() error {
	if b := o.Bridge; b != nil {
		switch {
		case b.MaxRounds > cmp.Or(o.MaxRounds, followedAsks):
			return misuse("Options.Bridge.MaxRounds is %d, and every call ends after %d rounds that ask", b.MaxRounds, cmp.Or(o.MaxRounds, followedAsks))
		case b.MaxStateRounds > maxCarries:
			return misuse("Options.Bridge.MaxStateRounds is %d, and every call ends after %d rounds that only carry state", b.MaxStateRounds, maxCarries)
		}
	}
	if o.MaxFrames > 0 && o.MaxFramesPerPrincipal > o.MaxFrames {
		return misuse("Options.MaxFramesPerPrincipal is %d, and MaxFrames %d", o.MaxFramesPerPrincipal, o.MaxFrames)
	}
	maxToken := statecodec.MaxMaxToken
	if o.State != nil && o.State.MaxToken > 0 {
		maxToken = o.State.MaxToken
	}
	if needed := tokenFor(o.MaxStateBytes); o.MaxStateBytes > 0 && needed > maxToken {
		return misuse("Options.MaxStateBytes is %d, and a state of that size needs a State.MaxToken of %d, not %d", o.MaxStateBytes, needed, maxToken)
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
	s.Ephemeral = s.Ephemeral || len(s.Keys) == 0
	if s.MaxToken == 0 {
		s.MaxToken = max(statecodec.DefaultMaxToken, tokenFor(o.MaxStateBytes))
	}
	o.State = &s
}

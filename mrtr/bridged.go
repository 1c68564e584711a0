package mrtr

import "context"

// lastRound is the round of a bridged call that its bridge has to answer. A
// bridge whose client does not answer ends the call by itself, where no round
// of the engine's comes any more to unwind what is held and tell the observer.
type lastRound struct{ call *Call }

type lastRoundKey struct{}

func withLastRound(ctx context.Context) (context.Context, *lastRound) {
	last := &lastRound{}
	return context.WithValue(ctx, lastRoundKey{}, last), last
}

// noteRound notes a round that asks, and forgets it when the next one has come.
func noteRound(ctx context.Context, c *Call, asks bool) {
	last, ok := ctx.Value(lastRoundKey{}).(*lastRound)
	switch {
	case !ok:
	case asks:
		last.call = c
	default:
		last.call = nil
	}
}

// ended ends a call whose last round asked in vain.
func (l *lastRound) ended(ctx context.Context, err error) {
	if l.call == nil {
		return
	}
	l.call.abandonStrand()
	l.call.observe(ctx, Event{Kind: CallStopped, Err: err})
}

package sse

import "time"

// BridgeOptions configure a bridge. The zero value, and nil, mean the defaults.
// A negative value is a [*UsageError].
type BridgeOptions struct {
	// MaxRounds bounds the rounds that ask something; 9 if zero, because that is
	// as far as go-sdk's own modern client follows.
	MaxRounds int
	// MaxStateRounds bounds the rounds that ask nothing and only hand a state
	// back to be called again; 2 if zero, for the same reason.
	MaxStateRounds int
	// AnswerTimeout bounds the wait for the answer to one question; 10 minutes if
	// zero. The questions of a round wait side by side.
	AnswerTimeout time.Duration
	// ProgressInterval is how often, while questions wait, a client that gave a
	// progress token hears that its call is alive; 15 seconds if zero.
	ProgressInterval time.Duration
}

func (o *BridgeOptions) resolve() (BridgeOptions, error) {
	var r BridgeOptions
	if o != nil {
		r = *o
	}
	if r.MaxRounds < 0 || r.MaxStateRounds < 0 || r.AnswerTimeout < 0 || r.ProgressInterval < 0 {
		return r, usage("negative value in BridgeOptions %+v", r)
	}
	if r.MaxRounds == 0 {
		r.MaxRounds = 9
	}
	if r.MaxStateRounds == 0 {
		r.MaxStateRounds = 2
	}
	if r.AnswerTimeout == 0 {
		r.AnswerTimeout = 10 * time.Minute
	}
	if r.ProgressInterval == 0 {
		r.ProgressInterval = 15 * time.Second
	}
	return r, nil
}

// mustResolve panics where resolve returns an error.
func (o *BridgeOptions) mustResolve() BridgeOptions {
	r, err := o.resolve()
	if err != nil {
		panic(err)
	}
	return r
}

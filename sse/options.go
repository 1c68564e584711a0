package sse

import (
	"fmt"
	"time"
)

// BridgeOptions configure a bridge. The zero value, and nil, mean the defaults.
// A negative value is a mistake in the program, and the Bridge functions and
// [Ask] panic on it, as [mcp.AddTool] does on a bad tool.
type BridgeOptions struct {
	// MaxRounds bounds the rounds that ask something; 9 if zero, because that is
	// as far as go-sdk's own modern client follows.
	MaxRounds int
	// MaxStateRounds bounds the rounds that ask nothing and only hand a state
	// back to be called again; 2 if zero, for the same reason.
	MaxStateRounds int
	// LegTimeout bounds the wait for the answer to one question; 10 minutes if
	// zero. The questions of a round wait side by side.
	LegTimeout time.Duration
	// ProgressInterval is how often, while questions wait, a client that gave a
	// progress token hears that its call is alive; 15 seconds if zero.
	ProgressInterval time.Duration
}

func (o *BridgeOptions) resolve() BridgeOptions {
	var r BridgeOptions
	if o != nil {
		r = *o
	}
	if r.MaxRounds < 0 || r.MaxStateRounds < 0 || r.LegTimeout < 0 || r.ProgressInterval < 0 {
		panic(fmt.Sprintf("sse: negative value in BridgeOptions %+v", r))
	}
	if r.MaxRounds == 0 {
		r.MaxRounds = 9
	}
	if r.MaxStateRounds == 0 {
		r.MaxStateRounds = 2
	}
	if r.LegTimeout == 0 {
		r.LegTimeout = 10 * time.Minute
	}
	if r.ProgressInterval == 0 {
		r.ProgressInterval = 15 * time.Second
	}
	return r
}

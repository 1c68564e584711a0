// Package faultlog lets two layers that would log the same fault agree that one does:
// the boundary, which knows the call's end, and the observer inside it. Neither imports
// the other.
package faultlog

import (
	"context"
	"time"
)

// Milliseconds is the unit of every duration in a log, with its thousandths.
func Milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// Key is the context key of the boundary's call.
type Key struct{}

// A Recorder is the value of [Key].
type Recorder interface {
	// RecordsFaults reports whether the fault that ends the call will be an ERROR record.
	RecordsFaults(ctx context.Context) bool
}

// Recorded reports whether the fault that ends the call of ctx will be recorded.
func Recorded(ctx context.Context) bool {
	r, ok := ctx.Value(Key{}).(Recorder)
	return ok && r.RecordsFaults(ctx)
}

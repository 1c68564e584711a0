// Package faultlog lets two layers that would log the same fault agree that one does:
// the boundary, which knows the call's end, and the observer inside it. Neither imports
// the other.
package faultlog

import "context"

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

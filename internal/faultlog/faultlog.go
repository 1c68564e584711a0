// Package faultlog lets two layers that would log the same call agree that one does: the
// boundary, which knows the call's end, and the observer inside it, which knows its round.
// Neither imports the other.
package faultlog

import (
	"context"
	"log/slog"
	"time"
)

// Milliseconds is the unit of every duration in a log, with its thousandths.
func Milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// Key is the context key of the boundary's call.
type Key struct{}

// A Recorder is the value of [Key].
type Recorder interface {
	// AddToRecord gives attributes to the record that will tell of the call's end. It reports
	// false where no such record will come, or it is written already.
	AddToRecord(ctx context.Context, level slog.Level, attrs func() []slog.Attr) bool
}

// Add adds attributes to the record of the call of ctx, if one at this level will come.
func Add(ctx context.Context, level slog.Level, attrs func() []slog.Attr) bool {
	r, ok := ctx.Value(Key{}).(Recorder)
	return ok && r.AddToRecord(ctx, level, attrs)
}

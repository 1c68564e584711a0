// Package rendezvous is where packages meet that do not import each other: in the context of a
// call, or by the server that both hold.
package rendezvous

import (
	"context"
	"log/slog"
	"time"
)

// Milliseconds is the unit of every duration in a log, with its thousandths.
func Milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// RecorderKey is the context key of the boundary's call.
type RecorderKey struct{}

// A Recorder is the value of [RecorderKey]. Two layers would log the same call: the boundary,
// which knows the call's end, and the observer inside it, which knows its round.
type Recorder interface {
	// AddToRecord gives attributes to the record that will tell of the call's end. It reports
	// false where no such record will come, or it is written already.
	AddToRecord(ctx context.Context, level slog.Level, attrs func() []slog.Attr) bool
}

// AddToRecord adds attributes to the record of the call of ctx, if one at this level will come.
func AddToRecord(ctx context.Context, level slog.Level, attrs func() []slog.Attr) bool {
	r, ok := ctx.Value(RecorderKey{}).(Recorder)
	return ok && r.AddToRecord(ctx, level, attrs)
}

package mrtr

import (
	"context"
	"time"

	"github.com/mrtr-go/sdk/mrtr/keep"
)

// noNotes is for a round that nobody keeps.
type noNotes struct{}

func (noNotes) Left() []byte                { return nil }
func (noNotes) CutOff() bool                { return false }
func (noNotes) Call() string                { return "" }
func (noNotes) Doubts() bool                { return false }
func (noNotes) Mark() string                { return "" }
func (noNotes) Since() time.Time            { return time.Time{} }
func (noNotes) Begun(context.Context) error { return nil }
func (noNotes) Ended()                      {}
func (noNotes) Watch(keep.Effects)          {}

// endOf is the error of the call that a context ends, or nil.
func endOf(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return keep.EndOf(context.Cause(ctx))
}

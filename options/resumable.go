package options

import (
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/linear"
)

// Resumable is style H with the journal behind it: the function is held while
// its user thinks, and if its frame is gone it runs again as in style J. Choose it
// for linear code whose rounds mostly come back to the same process. It is not
// one of [All], because to a reader of the source it is one word beside
// [Coroutine].
func Resumable(rt *mrtr.Runtime, audit *Audit) Handler {
	return mrtr.Tool(rt, linear.Resumable(reading(audit)), &mrtr.HandlerOptions{Needs: Always})
}

package options

import (
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/sse"
)

// SSEShim is style A: the handler of style E inside sse.Bridge. Choose it to ask
// legacy clients with a bridge of your own, such as one with other limits; the
// engine does the same by itself where its policy is to bridge. It costs an open
// stream for as long as the user thinks. One request of a legacy client enters the
// handler several times, which is safe because of its guards.
func SSEShim(rt *mrtr.Runtime, audit *Audit) Handler {
	return sse.Bridge(mrtr.Tool(rt, mrtr.Native(guarded(audit)), &mrtr.HandlerOptions{Needs: Always, Legacy: mrtr.LegacyPassThrough}), nil)
}

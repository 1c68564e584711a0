package options

import (
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/sse"
)

// SSEShim is style A: the very handler of style E, handed to the bridge. Choose
// it to serve clients from before in full without touching the handler; the
// engine does the same by itself wherever its policy is to bridge. It costs an
// open stream for as long as the user thinks. The handler is entered more than
// once in one request of such a client, which its guards make safe.
func SSEShim(rt *mrtr.Runtime, audit *Audit) Handler {
	rounds := mrtr.Tool(rt, mrtr.Native(guarded(audit)), &mrtr.HandlerOptions{Legacy: mrtr.LegacyPassThrough})
	return sse.Bridge(rounds, nil)
}

package sse

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/progress"
)

// OrderProgress keeps the progress increasing that the server tells of a request, as
// the protocol demands: a notification that tells no more than the one before it with
// the same token is dropped, as when a handler starts to count again in its next round,
// and the heartbeat of a bridge tells a little more. [mcphttp.Handler],
// [wstransport.Handler] and [boundary.Install] have it; over any other transport, and
// without a boundary, call it once for a server whose handlers report progress.
//
// [mcphttp.Handler]: https://pkg.go.dev/github.com/mrtr-go/sdk/mcphttp#Handler
// [wstransport.Handler]: https://pkg.go.dev/github.com/mrtr-go/sdk/wstransport#Handler
// [boundary.Install]: https://pkg.go.dev/github.com/mrtr-go/sdk/boundary#Install
func OrderProgress(server *mcp.Server) { progress.Order(server) }

// keepAlive tells a client that gave a progress token, for as long as questions
// wait, that its call is not dead. The returned function ends that and waits
// until it has ended.
//
// Progress must grow with every notification, and the handler may report its
// own under the same token before or after. So ours are thousandths that go on
// from round to round: whatever work the handler counts will be more. Where
// [OrderProgress] knows the handler's last progress they go on from that.
func (a *asker) keepAlive(ctx context.Context) (stop func()) {
	if a.token == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(a.options.ProgressInterval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				a.ticks++
				// A client that cannot be told will not answer either: its question
				// is what fails.
				_ = a.session.NotifyProgress(progress.Heartbeat(ctx), &mcp.ProgressNotificationParams{
					ProgressToken: a.token,
					Progress:      float64(a.ticks) / 1000,
					Message:       "Waiting for an answer.",
				})
			}
		}
	}()
	return func() { cancel(); <-done }
}

package sse

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// keepAlive tells a client that gave a progress token, for as long as questions
// wait, that its call is not dead. The returned function ends that and waits
// until it has ended.
//
// Progress must grow with every notification, and the handler may report its
// own under the same token before or after. So ours are thousandths that go on
// from round to round: whatever work the handler counts will be more.
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
				_ = a.session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
					ProgressToken: a.token,
					Progress:      float64(a.ticks) / 1000,
					Message:       "Waiting for an answer.",
				})
			}
		}
	}()
	return func() { cancel(); <-done }
}

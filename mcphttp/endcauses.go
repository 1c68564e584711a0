package mcphttp

import (
	"context"
	"errors"
)

// The causes with which a [Handler] ends the context of a call, see [context.Cause].
var (
	// ErrHungUp: the client of the call closed its connection.
	ErrHungUp = errors.New("mcphttp: the client hung up")
	// ErrShuttingDown: the call took longer than [Handler.Shutdown] had time.
	ErrShuttingDown = errors.New("mcphttp: the server is shutting down")
)

// endingWith returns a context with the values of a request that ends with it or with
// over, whichever is first, and knows why.
func endingWith(request, over context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithoutCancel(request), func() {}
	if deadline, ok := request.Deadline(); ok {
		ctx, stop = context.WithDeadline(ctx, deadline)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stopRequest := context.AfterFunc(request, func() {
		cause := context.Cause(request)
		if errors.Is(cause, context.Canceled) { // which is all that net/http says
			cause = ErrHungUp
		}
		cancel(cause)
	})
	stopOver := context.AfterFunc(over, func() { cancel(ErrShuttingDown) })
	return ctx, func() {
		stopRequest()
		stopOver()
		cancel(nil)
		stop()
	}
}

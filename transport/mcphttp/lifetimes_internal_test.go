package mcphttp

import (
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// A call that returns as soon as its request or the server ends has the cause of that
// end, though nobody has had the time to tell its context.
func TestACallThatEndsAtOnceHasItsCause(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // no goroutine runs until this one waits
	for cause, end := range map[error]func(hangUp, shutDown context.CancelFunc){
		ErrHungUp:        func(hangUp, _ context.CancelFunc) { hangUp() },
		ErrShuttingDown:  func(_, shutDown context.CancelFunc) { shutDown() },
		context.Canceled: func(_, _ context.CancelFunc) {},
	} {
		request, hangUp := context.WithCancel(t.Context())
		over, shutDown := context.WithCancel(t.Context())
		ctx, returned := endingWith(request, func() error { return whyOver(request, over) }, request, over)
		end(hangUp, shutDown)
		returned()
		require.Equal(t, cause, context.Cause(ctx))
		hangUp()
		shutDown()
	}
}

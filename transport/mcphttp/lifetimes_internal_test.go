package mcphttp

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
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

// A handler that begins when its request is over sees so before it does anything.
func TestAContextThatBeginsLateIsOver(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // no goroutine runs until this one waits
	ended, end := context.WithCancel(t.Context())
	end()
	for _, ends := range [][]context.Context{{ended, t.Context()}, {t.Context(), ended}} {
		ctx, returned := endingWith(t.Context(), func() error { return ErrHungUp }, ends...)
		require.ErrorIs(t, ctx.Err(), context.Canceled)
		require.Equal(t, ErrHungUp, context.Cause(ctx))
		returned()
	}
}

// A request may come in as the time of a shutdown is up. Its call does not begin, and its
// client is told that it may send the call again.
func TestACallForWhichNoTimeIsLeftDoesNotBegin(t *testing.T) {
	h, err := NewHandler(func(*http.Request) *mcp.Server { return nil }, nil)
	require.NoError(t, err)
	over, end := context.WithCancel(t.Context())
	end()
	w := httptest.NewRecorder()
	call := []byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{}}`)
	h.admit(w, httptest.NewRequest(http.MethodPost, "/", nil), call, 1, over, func(*reply, *http.Request) {
		require.Fail(t, "it was served")
	})
	require.Contains(t, w.Body.String(), `"id":7,"error":{"code":-31001`)
}

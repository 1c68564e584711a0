package wstransport_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mcphttp"
	"github.com/mrtr-go/sdk/wstransport"
)

// A load balancer asks every transport in one way, and gets one answer. A server that
// retires is not ready and still serves. One that has shut down is neither.
func TestReadiness(t *testing.T) {
	type front interface {
		Retire()
		Ready() bool
		ServeReady(http.ResponseWriter, *http.Request)
	}
	server := mcp.NewServer(impl, nil)
	getServer := func(*http.Request) *mcp.Server { return server }
	for name, end := range map[string]func(retire, shutdown func()){
		"retired":   func(retire, _ func()) { retire() },
		"shut down": func(_, shutdown func()) { shutdown() },
	} {
		t.Run(name, func(t *testing.T) {
			ws, err := wstransport.NewHandler(getServer, nil)
			require.NoError(t, err)
			plain, err := mcphttp.NewHandler(getServer, nil)
			require.NoError(t, err)
			for _, h := range []struct {
				front
				shutdown func()
			}{
				{ws, func() { require.NoError(t, ws.Shutdown(t.Context())) }},
				{plain, func() { require.NoError(t, plain.Shutdown(t.Context())) }},
			} {
				ready := func(code int, text string) {
					t.Helper()
					w := httptest.NewRecorder()
					h.ServeReady(w, httptest.NewRequest(http.MethodGet, "/ready", nil))
					require.Equal(t, code, w.Code)
					require.Equal(t, text, w.Body.String())
					require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
					require.Equal(t, code == http.StatusOK, h.Ready())
				}
				ready(http.StatusOK, "ready\n")
				end(h.Retire, h.shutdown)
				ready(http.StatusServiceUnavailable, "not ready\n")
			}

			web := httptest.NewServer(ws)
			defer web.Close()
			transport, err := wstransport.Dial(t.Context(), "ws"+strings.TrimPrefix(web.URL, "http"), nil)
			if name == "shut down" {
				require.Error(t, err)
				return
			}
			require.NoError(t, err)
			session, err := mcp.NewClient(impl, nil).Connect(t.Context(), transport, nil)
			require.NoError(t, err)
			require.NoError(t, session.Close())
		})
	}
}

package mcphttp_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mcphttp"
)

// A server that retires is not ready, and still serves. One that has shut down is
// neither.
func TestReadiness(t *testing.T) {
	for name, end := range map[string]func(*mcphttp.Handler){
		"retired":   (*mcphttp.Handler).Retire,
		"shut down": func(h *mcphttp.Handler) { require.NoError(t, h.Shutdown(t.Context())) },
	} {
		t.Run(name, func(t *testing.T) {
			server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
			h, err := mcphttp.NewHandler(func(*http.Request) *mcp.Server { return server }, nil)
			require.NoError(t, err)
			defer h.Shutdown(t.Context())
			ready := func() (int, string) {
				w := httptest.NewRecorder()
				h.ServeReady(w, httptest.NewRequest(http.MethodGet, "/ready", nil))
				require.Equal(t, "no-store", w.Header().Get("Cache-Control"), "an answer is for one moment")
				require.Equal(t, "text/plain; charset=utf-8", w.Header().Get("Content-Type"))
				return w.Code, w.Body.String()
			}
			code, text := ready()
			require.Equal(t, http.StatusOK, code)
			require.Equal(t, "ready\n", text)
			end(h)
			code, text = ready()
			require.Equal(t, http.StatusServiceUnavailable, code)
			require.Equal(t, "not ready\n", text)

			web := httptest.NewServer(h)
			defer web.Close()
			session, err := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil).
				Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: web.URL}, nil)
			if name == "shut down" {
				require.Error(t, err)
				return
			}
			require.NoError(t, err)
			require.NoError(t, session.Close())
		})
	}
}

package mcphttp_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/trip"
	"github.com/mrtr-go/sdk/mcphttp"
)

// A page of a listed origin may send the headers that a client sends and read those that
// it needs; any other learns nothing.
func TestListedOriginsMayUseIt(t *testing.T) {
	h := newHandler(t, trip.NewServer(trip.Handler), &mcphttp.HandlerOptions{AllowedOrigins: []string{"https://app.example"}})
	refusesAll := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "who are you?", http.StatusUnauthorized)
	})
	ask := func(h http.Handler, method, origin string, header ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "/", nil)
		r.Header.Set("Origin", origin)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	const wanted = "authorization,content-type,mcp-param-city,mcp-protocol-version,mcp-session-id"
	for _, front := range []http.Handler{h, h.WithCORS(refusesAll)} {
		w := ask(front, http.MethodOptions, "https://App.example", "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", wanted)
		require.Equal(t, http.StatusNoContent, w.Code)
		require.Equal(t, "https://App.example", w.Header().Get("Access-Control-Allow-Origin"))
		require.Equal(t, "GET, POST, DELETE", w.Header().Get("Access-Control-Allow-Methods"))
		require.Equal(t, wanted, w.Header().Get("Access-Control-Allow-Headers"))
		require.Empty(t, w.Header().Get("Access-Control-Allow-Credentials"))

		w = ask(front, http.MethodGet, "https://app.example")
		require.GreaterOrEqual(t, w.Code, 400)
		require.Equal(t, "https://app.example", w.Header().Get("Access-Control-Allow-Origin"), "refusals can be read")
		require.Contains(t, w.Header().Get("Access-Control-Expose-Headers"), "Mcp-Session-Id")
		require.Equal(t, "Origin", w.Header().Get("Vary"))

		w = ask(front, http.MethodOptions, "https://evil.example", "Access-Control-Request-Method", "POST")
		require.GreaterOrEqual(t, w.Code, 400)
		require.Empty(t, w.Header().Get("Access-Control-Allow-Origin"))
	}

	closed := newHandler(t, trip.NewServer(trip.Handler), nil)
	w := ask(closed, http.MethodOptions, "http://example.com", "Access-Control-Request-Method", "POST")
	require.Empty(t, w.Header().Get("Access-Control-Allow-Origin"), "nobody is listed")

	o := newOpener(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Origin", "https://app.example")
		h.ServeHTTP(w, r)
	}))
	opened := o.post("", "", initializeBody)
	require.Equal(t, http.StatusOK, opened.Code)
	require.NotEmpty(t, opened.Header().Get("Mcp-Session-Id"))
	require.Equal(t, "https://app.example", opened.Header().Get("Access-Control-Allow-Origin"))
}

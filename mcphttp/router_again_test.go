package mcphttp_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mcphttp"
)

func routerTo(t *testing.T, addresses map[string]string, opts *mcphttp.RouterOptions) *mcphttp.Router {
	t.Helper()
	instances := map[string]*url.URL{}
	for name, address := range addresses {
		to, err := url.Parse(address)
		require.NoError(t, err)
		instances[name] = to
	}
	router, err := mcphttp.NewRouter(instances, opts)
	require.NoError(t, err)
	return router
}

// net/http sends a request again whose connection broke if a header of the client's says
// that this does no harm. An instance knows no such header, and would run the call twice.
func TestNoHeaderHasACallSentAgain(t *testing.T) {
	for _, header := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		var ran atomic.Int32
		instance := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			if r.Header.Get(header) == "k" {
				ran.Add(1)
				panic(http.ErrAbortHandler)
			}
		}))
		defer instance.Close()
		router := routerTo(t, map[string]string{"a": instance.URL}, nil)
		for _, c := range []struct {
			key  string
			want int
		}{{"", http.StatusOK}, {"k", http.StatusBadGateway}} { // net/http judges so of a connection that was used before
			w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", strings.NewReader("{}"))
			r.Header.Set(header, c.key)
			router.ServeHTTP(w, r)
			require.Equal(t, c.want, w.Code)
		}
		require.EqualValues(t, 1, ran.Load(), header)
	}
}

// A body is sent on whole to the second instance, whatever the method.
func TestABodyOfAnyMethodIsSentAgain(t *testing.T) {
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, nobody.Close())
	instance := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %v", r.Method, body, err)
	}))
	defer instance.Close()
	router := routerTo(t, map[string]string{"a": "http://" + nobody.Addr().String(), "b": instance.URL},
		&mcphttp.RouterOptions{Ready: func(instance string) bool { return instance == "a" }, MaxMessageBytes: 10})
	for _, method := range []string{http.MethodGet, http.MethodDelete, http.MethodPut, http.MethodPost} {
		w := httptest.NewRecorder()
		router.ServeHTTP(w, httptest.NewRequest(method, "/", strings.NewReader("{}")))
		require.Equal(t, method+" {} <nil>", w.Body.String())
		w = httptest.NewRecorder()
		router.ServeHTTP(w, httptest.NewRequest(method, "/", strings.NewReader(strings.Repeat(" ", 11))))
		require.Equal(t, http.StatusRequestEntityTooLarge, w.Code, method)
	}
}

type otherTransport struct{ http.RoundTripper }

// Programs replace http.DefaultTransport, for traces.
func TestARouterNeedsNoDefaultTransport(t *testing.T) {
	usual := http.DefaultTransport
	http.DefaultTransport = otherTransport{usual}
	defer func() { http.DefaultTransport = usual }()
	instance := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer instance.Close()
	w := httptest.NewRecorder()
	routerTo(t, map[string]string{"a": instance.URL}, nil).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", nil))
	require.Equal(t, http.StatusOK, w.Code)
}

package page

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestForeignRequestsAreRefused(t *testing.T) {
	s := serve(t)
	bench := s.bench()
	cases := []struct {
		method, path string
		headers      []string
		want         int
		explanation  string
	}{
		{"POST", "/demo", []string{"Content-Type", "application/json", "Origin", "https://evil.example"}, 403, "a page of another origin"},
		{"POST", "/demo", []string{"Content-Type", "application/json", "Sec-Fetch-Site", "cross-site"}, 403, "as the browser says itself"},
		{"POST", "/demo", []string{"Content-Type", "application/json", "Sec-Fetch-Site", "same-site"}, 403, "another port is another origin"},
		{"POST", "/demo", []string{"Content-Type", "text/plain"}, 415, "what a form can send without being asked first"},
		{"POST", "/demo", []string{"Content-Type", "application/json", "Origin", "null"}, 403, "a sandboxed frame"},
		{"GET", "/demo/source", []string{"Origin", "https://evil.example"}, 403, "reading is refused as well"},
		{"GET", bench + "/events?after=0", []string{"Sec-Fetch-Site", "cross-site"}, 403, "events are the visitor's own"},
		{"GET", bench + "/a/ws", []string{"Origin", "https://evil.example"}, 403, "a socket is not bound by the browser's rules"},
		{"GET", "/", []string{"Host", "rebound.example"}, 403, "a name that was pointed at this machine"},
		{"GET", "/demo/source", []string{"Host", "rebound.example"}, 403, "the same for the endpoints"},
		{"GET", "/demo/source", []string{"Host", "localhost:1", "Origin", "http://localhost:1"}, 200, "this machine, by another name"},
		{"GET", "/demo/unknown/events?after=0", nil, 404, "no such bench"},
		{"GET", bench + "/c/ws", nil, 404, "no such instance"},
		{"GET", bench + "/a/ws?store=off", nil, 400, "no store is the default"},
		{"GET", bench + "/a/ws?key=mine", nil, 400, "a key of the visitor's"},
		{"GET", bench + "/a/ws?life=9h", nil, 400, "a life that nobody offers"},
	}
	require.NotEmpty(t, cases)
	for _, c := range cases {
		status, answer, _ := s.do(c.method, c.path, "{}", c.headers...)
		require.Equal(t, c.want, status, "%s: %s", c.explanation, answer)
	}
}

func TestThePageServesNoOtherMachine(t *testing.T) {
	s := serve(t)
	for address, want := range map[string]int{"192.0.2.1": http.StatusForbidden, "127.0.0.1": http.StatusOK} {
		req := httptest.NewRequest("GET", "http://localhost/", nil)
		req = req.WithContext(withLocalAddr(req.Context(), &net.TCPAddr{IP: net.ParseIP(address), Port: 80}))
		res := httptest.NewRecorder()
		s.h.ServeHTTP(res, req)
		require.Equal(t, want, res.Code, address)
	}
}

// The page names everything relative to itself, so it can be mounted below any path.
func TestThePageIsMountedBelowAPath(t *testing.T) {
	s := serve(t)
	web := httptest.NewServer(http.StripPrefix("/deep/in", s.h))
	t.Cleanup(web.Close)
	s.url = web.URL + "/deep/in"
	status, body, _ := s.do("GET", "/", "")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, "page/app.js")
	reply, err := s.dial(s.bench(), "/a/ws").Send(t.Context(), lisbon("weather_native"))
	require.NoError(t, err)
	require.True(t, reply.Incomplete())
}

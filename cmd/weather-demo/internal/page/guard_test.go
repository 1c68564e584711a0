package page

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"regexp"
	"strings"
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

// maxPage bounds the page's files, in bytes. A tenth of it is types and the formatter's lines.
const maxPage = 174_000

func TestThePageIsSmallAndPutsNoTextInAsHTML(t *testing.T) {
	forbidden := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|srcdoc|\beval\(|new Function|https?://[^w]`)
	files, err := web.ReadDir("web")
	require.NoError(t, err)
	total := 0
	for _, f := range files {
		content, err := web.ReadFile("web/" + f.Name())
		require.NoError(t, err)
		total += len(content)
		require.Empty(t, forbidden.FindAllString(string(content), -1), f.Name())
		if path.Ext(f.Name()) == ".html" {
			require.NotRegexp(t, `(?i)<style|\sstyle=|\son\w+=|<script[^>]*>[^<]`, string(content), "the policy forbids it")
			names := regexp.MustCompile(`(?:href|src)="([^"]+)"`).FindAllStringSubmatch(string(content), -1)
			require.NotEmpty(t, names)
			for _, name := range names {
				require.NotRegexp(t, `^/|^https?:`, name[1], "it would not be found below another path")
			}
		}
	}
	require.Greater(t, total, 60_000, "the page was not found")
	require.LessOrEqual(t, total, maxPage)
}

func TestTheClientModuleStandsAlone(t *testing.T) {
	content, err := web.ReadFile("web/client.js")
	require.NoError(t, err)
	require.NotContains(t, string(content), "import ", "it is there to be copied")
	require.LessOrEqual(t, strings.Count(string(content), "\n"), 200)
}

// The files come out of the binary, each with its type and the policy.
func TestFilesComeWithAPolicy(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries)
	s := serve(t)
	for file, mime := range map[string]string{"/": "text/html", "/page/app.js": "text/javascript", "/page/style.css": "text/css"} {
		status, body, header := s.do("GET", file, "")
		require.Equal(t, http.StatusOK, status, file)
		require.NotEmpty(t, body)
		require.Contains(t, header.Get("Content-Type"), mime)
		require.Contains(t, header.Get("Content-Security-Policy"), "default-src 'none'; script-src 'self'; style-src 'self';")
		require.NotContains(t, header.Get("Content-Security-Policy"), "unsafe")
	}
	status, _, _ := s.do("GET", "/page/nothing.js", "")
	require.Equal(t, http.StatusNotFound, status)
}

package page

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/wstransport"
)

// served is a page on a test server.
type served struct {
	t   *testing.T
	url string
	h   *Handler
}

func serve(t *testing.T, opts *Options) served {
	t.Helper()
	h, err := New(opts)
	require.NoError(t, err)
	web := httptest.NewServer(h)
	t.Cleanup(func() {
		h.Close()
		web.Close()
	})
	return served{t, web.URL, h}
}

// do sends a request with these headers, in pairs.
func (s served) do(method, path, body string, headers ...string) (status int, answer string, header http.Header) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	require.NoError(s.t, err)
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(s.t, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	require.NoError(s.t, err)
	return res.StatusCode, string(raw), res.Header
}

func (s served) post(path, body string) (status int, answer string) {
	s.t.Helper()
	status, answer, _ = s.do("POST", path, body, "Content-Type", "application/json")
	return status, answer
}

// bench opens a bench and returns its path.
func (s served) bench() string {
	s.t.Helper()
	status, answer := s.post("/demo", "{}")
	require.Equal(s.t, http.StatusOK, status, answer)
	var opened struct{ ID string }
	require.NoError(s.t, json.Unmarshal([]byte(answer), &opened))
	return "/demo/" + opened.ID
}

func (s served) dial(bench, socket string) *wire.Client {
	s.t.Helper()
	transport, err := wstransport.Dial(s.t.Context(), "ws"+strings.TrimPrefix(s.url, "http")+bench+socket, nil)
	require.NoError(s.t, err)
	client, err := wire.Dial(s.t.Context(), transport, nil)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = client.Close() })
	return client
}

func (s served) events(bench string) []event {
	s.t.Helper()
	_, answer, _ := s.do("GET", bench+"/events?after=0", "")
	var all []event
	require.NoError(s.t, json.Unmarshal([]byte(answer), &all))
	return all
}

// maxPage bounds the page as a browser gets it: all of it, and
// uncompressed.
const maxPage = 120_000

func TestThePageIsSmallAndPutsNoTextInAsHTML(t *testing.T) {
	forbidden := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|srcdoc|\beval\(|new Function|https?://[^w]`)
	files, err := embedded()
	require.NoError(t, err)
	total := 0
	for _, f := range files {
		total += len(f.content)
		content, err := web.ReadFile(f.name)
		require.NoError(t, err)
		require.Contains(t, contentTypes, path.Ext(f.name))
		require.Empty(t, forbidden.FindAllString(string(content), -1), f.name)
		require.Equal(t, strings.Count(string(content), "\n"), strings.Count(string(f.content), "\n"), "lines of %s", f.name)
		for i, line := range strings.Split(string(content), "\n") {
			require.Zero(t, strings.Count(line, "`")%2, "%s:%d: a text over several lines would lose its indentation", f.name, i+1)
		}
		if path.Ext(f.name) == ".html" {
			require.NotRegexp(t, `(?i)<style|\sstyle=|\son\w+=|<script[^>]*>[^<]`, string(content), "the policy forbids it")
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

func TestFilesComeWithAPolicyAndAnETag(t *testing.T) {
	s := serve(t, nil)
	for file, mime := range map[string]string{"/": "text/html", "/page/app.js": "text/javascript", "/page/style.css": "text/css", "/page/envelope.svg": "image/svg+xml"} {
		status, body, header := s.do("GET", file, "")
		require.Equal(t, http.StatusOK, status, file)
		require.NotEmpty(t, body)
		require.Contains(t, header.Get("Content-Type"), mime)
		require.Contains(t, header.Get("Content-Security-Policy"), "default-src 'none'; script-src 'self'; style-src 'self';")
		require.NotContains(t, header.Get("Content-Security-Policy"), "unsafe")
		status, _, _ = s.do("GET", file, "", "If-None-Match", header.Get("ETag"))
		require.Equal(t, http.StatusNotModified, status, file)
	}
	status, _, _ := s.do("GET", "/page/nothing.js", "")
	require.Equal(t, http.StatusNotFound, status)
}

func TestTheHTMLNamesNothingByAnAbsolutePath(t *testing.T) {
	html, err := web.ReadFile("web/index.html")
	require.NoError(t, err)
	names := regexp.MustCompile(`(?:href|src)="([^"]+)"`).FindAllStringSubmatch(string(html), -1)
	require.NotEmpty(t, names)
	for _, name := range names {
		require.NotRegexp(t, `^/|^https?:`, name[1], "it would not be found behind another path")
	}
}

func TestForeignRequestsAreRefused(t *testing.T) {
	s := serve(t, nil)
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
		{"GET", bench + "/a/ws?life=9h", nil, 400, "a life that nobody offers"},
	}
	require.NotEmpty(t, cases)
	for _, c := range cases {
		status, answer, _ := s.do(c.method, c.path, "{}", c.headers...)
		require.Equal(t, c.want, status, "%s: %s", c.explanation, answer)
	}
}

func TestOnlyAPublicPageServesOtherMachines(t *testing.T) {
	elsewhere := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80}
	for _, public := range []bool{false, true} {
		h, err := New(&Options{Public: public})
		require.NoError(t, err)
		defer h.Close()
		req := httptest.NewRequest("GET", "http://demo.example/", nil)
		req = req.WithContext(withLocalAddr(req.Context(), elsewhere))
		res := httptest.NewRecorder()
		h.ServeHTTP(res, req)
		require.Equal(t, map[bool]int{false: 403, true: 200}[public], res.Code)
	}
}

func TestAPublicPageSpeaksBehindAProxyAndAPath(t *testing.T) {
	h, err := New(&Options{Public: true})
	require.NoError(t, err)
	web := httptest.NewServer(http.StripPrefix("/deep/in", h))
	t.Cleanup(func() {
		h.Close()
		web.Close()
	})
	s := served{t, web.URL + "/deep/in", h}
	status, body, _ := s.do("GET", "/", "", "Host", "demo.example")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, "page/app.js")
	reply, err := s.dial(s.bench(), "/a/ws").Send(t.Context(), lisbon("weather_native"))
	require.NoError(t, err)
	require.True(t, reply.Incomplete())
}

func lisbon(tool string) wire.Request {
	return wire.Request{Name: tool, Arguments: map[string]any{"location": "Lisbon"}}
}

var metric = wire.Answers{"units": wire.Value("metric")}

func TestEveryStyleIsServedAndItsAuditLineIsFound(t *testing.T) {
	s := serve(t, nil)
	bench := s.bench()
	client := s.dial(bench, "/a/ws")
	require.Len(t, s.h.styles, len(options.All)+3, "the styles, the journaled coroutine, and two exhibits")
	for _, st := range s.h.styles {
		before := len(s.events(bench))
		out, err := client.Call(t.Context(), st.Tool, map[string]any{"location": "Lisbon"}, metric)
		require.NoError(t, err)
		require.Equal(t, "Weather in Lisbon: 22°C, partly cloudy.", out.Text, st.Name)
		audits := 0
		for _, e := range s.events(bench)[before:] {
			if e.Kind != "audit" {
				continue
			}
			audits++
			h := st.Handlers[0]
			require.Equal(t, path.Base(h.Path), e.File, st.Name)
			require.Contains(t, h.Lines[e.Line-h.From], "audit.Record(place", "line %d of %s", e.Line, h.Path)
			require.Contains(t, kindsOf(h)[e.Line], "effect", "the page knows line %d of %s as the effect", e.Line, h.Path)
		}
		require.NotZero(t, audits, st.Name)
	}
}

// kindsOf is the kind of each line that begins a statement, as the page gets it.
func kindsOf(h handler) map[int][]string {
	kinds := map[int][]string{}
	var add func([]statement)
	add = func(body []statement) {
		for _, s := range body {
			kinds[s.From] = append(kinds[s.From], s.Kind)
			add(s.body)
		}
	}
	for _, p := range h.parts {
		add(p.body)
	}
	return kinds
}

func TestTheQuestionsAreTheOnesThatAreAsked(t *testing.T) {
	// The page goes by these names and defaults; the tool could be changed
	// without them.
	s := serve(t, nil)
	status, answer, _ := s.do("GET", "/demo/quadrant", "")
	require.Equal(t, http.StatusOK, status)
	var calls []answered
	require.NoError(t, json.Unmarshal([]byte(answer), &calls))
	require.Len(t, calls, 4*8*2)
	withDefault := map[string]bool{}
	for _, c := range calls {
		if c.Era == "modern" {
			require.Equal(t, "asked", c.Got, "%+v", c)
		}
		withDefault[c.Question] = withDefault[c.Question] || c.Got == "default"
	}
	for _, q := range questions {
		require.Equal(t, q.hasDefault, withDefault[q.key], q.key)
	}
	require.Len(t, withDefault, len(questions))
}

func TestAKilledInstanceIsGoneAndTheOtherGoesOn(t *testing.T) {
	s := serve(t, nil)
	for _, tool := range []string{"weather_native", "weather_journal", "weather_resumable", "weather_coroutine"} {
		bench := s.bench()
		a := s.dial(bench, "/a/ws")
		request := lisbon(tool)
		first, err := a.Send(t.Context(), request)
		require.NoError(t, err)
		status, answer := s.post(bench+"/a/kill", "{}")
		require.Equal(t, http.StatusNoContent, status, answer)
		_, err = a.Send(t.Context(), request)
		require.Error(t, err, "its socket is cut")
		status, _, _ = s.do("GET", bench+"/a/ws", "")
		require.Equal(t, http.StatusServiceUnavailable, status)

		request.State = first.State
		request.Responses = map[string]any{"units": wire.Value("metric")(first.Asks[0])}
		last, err := s.dial(bench, "/b/ws").Send(t.Context(), request)
		require.NoError(t, err)
		if tool == "weather_coroutine" {
			require.True(t, last.IsError)
			require.Contains(t, last.Text, "This call's frame is gone")
		} else {
			require.Equal(t, "Weather in Lisbon: 22°C, partly cloudy.", last.Text, tool)
		}
		for _, e := range s.events(bench) {
			require.NotEqual(t, "call abandoned", e.Kind, "a killed process says nothing")
		}
		status, _ = s.post(bench+"/a/start", "{}")
		require.Equal(t, http.StatusNoContent, status)
		_, err = s.dial(bench, "/a/ws").Send(t.Context(), lisbon(tool))
		require.NoError(t, err)
	}
}

func TestAKilledInstanceSaysNoGoodbye(t *testing.T) {
	s := serve(t, nil)
	bench := s.bench()
	dialer := websocket.Dialer{Subprotocols: []string{wstransport.Subprotocol}}
	conn, _, err := dialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(s.url, "http")+bench+"/a/ws", nil)
	require.NoError(t, err)
	defer conn.Close()
	status, _ := s.post(bench+"/a/kill", "{}")
	require.Equal(t, http.StatusNoContent, status)
	_, _, err = conn.ReadMessage()
	var closed *websocket.CloseError
	if errors.As(err, &closed) { // else the connection was reset, which says nothing either
		require.Equal(t, websocket.CloseAbnormalClosure, closed.Code)
	}
	require.Error(t, err)
}

func TestAStateIsOpenedForItsVisitorAlone(t *testing.T) {
	s := serve(t, nil)
	bench := s.bench()
	reply, err := s.dial(bench, "/a/ws").Send(t.Context(), lisbon("weather_native"))
	require.NoError(t, err)
	body := func(tool, location string) string {
		raw, err := json.Marshal(map[string]any{"state": reply.State, "tool": tool, "arguments": map[string]string{"location": location}})
		require.NoError(t, err)
		return string(raw)
	}
	_, answer := s.post(bench+"/open", body("weather_native", "Lisbon"))
	require.Contains(t, answer, `"pending":[{"kind":"form","key":"units"`)
	for _, c := range []struct{ bench, body, reason string }{
		{bench, body("weather_once", "Lisbon"), "forged_or_transplanted"},
		{bench, body("weather_native", "Tokyo"), "forged_or_transplanted"},
		{s.bench(), body("weather_native", "Lisbon"), "unknown_key"},
	} {
		_, answer = s.post(c.bench+"/open", c.body)
		require.JSONEq(t, `{"refused":"`+c.reason+`"}`, answer)
	}
	status, _ := s.post(bench+"/open", `{"state":"`+strings.Repeat("A", maxBody)+`"}`)
	require.Equal(t, http.StatusBadRequest, status, "a body over the limit")
}

func TestStatesOfAShortLifeExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var closing sync.WaitGroup
		b, err := newBench("bench", &closing)
		require.NoError(t, err)
		st, err := b.instances["a"].stand(settings{short: true})
		require.NoError(t, err)
		client, err := wire.Connect(t.Context(), st.server, nil)
		require.NoError(t, err)
		request := lisbon("weather_native")
		first, err := client.Send(t.Context(), request)
		require.NoError(t, err)
		time.Sleep(shortLife + time.Second)
		request.State, request.Responses = first.State, map[string]any{"units": wire.Value("metric")(first.Asks[0])}
		late, err := client.Send(t.Context(), request)
		require.NoError(t, err)
		require.EqualValues(t, -32602, late.Error.Code)
		all := b.events.after(0)
		require.Equal(t, "expired", all[len(all)-1].Reason)
		require.NoError(t, client.Close())
		b.close()
		closing.Wait()
	})
}

func TestBenchesAreBounded(t *testing.T) {
	s := serve(t, nil)
	inUse := s.bench()
	client := s.dial(inUse, "/a/ws")
	for range maxBenches + 3 {
		s.bench()
	}
	require.Len(t, s.h.benches.byID, maxBenches)
	_, err := client.Send(t.Context(), lisbon("weather_native"))
	require.NoError(t, err, "who is there keeps the bench")
}

// One visitor does not fill the memory with the handlers that wait for answers.
func TestWhatAVisitorHoldsIsBounded(t *testing.T) {
	s := serve(t, nil)
	bench := s.bench()
	held := func(count int, location string) (refused bool) {
		client := s.dial(bench, "/a/ws?user="+rand.Text())
		for range count {
			reply, err := client.Send(t.Context(), wire.Request{Name: "weather_coroutine", Arguments: map[string]any{"location": location}})
			require.NoError(t, err)
			refused = reply.IsError
		}
		return refused
	}
	require.False(t, held(maxHeld/2, "Lisbon"))
	require.True(t, held(maxHeld, "Lisbon"), "whatever users they name")
	bench = s.bench()
	require.True(t, held(40, "Lisbon"+strings.Repeat(" ", maxMessage/2)), "they are bounded in bytes too")
	_, err := s.dial(bench, "/a/ws").Send(t.Context(), wire.Request{Name: "weather_native", Arguments: map[string]any{"location": strings.Repeat(" ", maxMessage)}})
	require.Error(t, err)
}

func TestAFileLessBinaryServesThePage(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries)
	status, body, _ := serve(t, nil).do("GET", "/page/client.js", "")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, "export class Client")
}

package prove_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/prove"
)

// faulty is a server that is as it should be until a request begins its fault, which stays.
type faulty struct {
	begins func(method string, call int) bool
	alone  bool // tools/list keeps working
	sound  hostile

	mu     sync.Mutex
	calls  int
	faulty bool
}

// at reports whether the fault has begun with this request.
func (f *faulty) at(method string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if method == "tools/call" {
		f.calls++
	}
	f.faulty = f.faulty || f.begins(method, f.calls)
	return f.faulty && (!f.alone || method == "tools/call")
}

// moments are when a fault begins. The honest calls are over with the tenth.
var moments = map[string]struct {
	begins  func(method string, call int) bool
	alone   bool
	reports bool // there is a report by then
}{
	"at once":                          {func(string, int) bool { return true }, false, false},
	"in the first call":                {func(_ string, call int) bool { return call == 1 }, false, false},
	"in a later round":                 {func(_ string, call int) bool { return call == 2 }, false, false},
	"in the proof":                     {func(_ string, call int) bool { return call == 12 }, false, true},
	"in the proof, and lists tools on": {func(_ string, call int) bool { return call == 12 }, true, true},
}

// provedFaulty proves a faulty server, with a caller whose token another server must not see.
func provedFaulty(t *testing.T, dial prove.Dial, reports bool) {
	t.Helper()
	begin := time.Now()
	report, err := prove.Run(t.Context(), prove.Subject{Dial: dial, First: &prove.Caller{Token: "secret"}}, prove.Scenario{Tool: "t"}, &prove.Options{Patience: 5 * time.Second})
	require.Less(t, time.Since(begin), time.Minute)
	if !reports {
		require.ErrorContains(t, err, "nothing could be proved: ")
		require.Less(t, len(err.Error()), 1<<10)
		return
	}
	require.NoError(t, err)
	require.Equal(t, 1, report.Count(prove.Fail), report.String())
	require.Contains(t, report.Failures(prove.Ours)[0].Detail, "the server is gone after this: ")
	require.Less(t, len(report.String()), 1<<16)
}

// Whatever goes wrong with a server, and whenever, it is one finding, in bounded time.
func TestAFaultIsOneFinding(t *testing.T) {
	keepsLittle(t)
	for fault, answer := range map[string]badAnswer{
		"dies":  hangUp,
		"hangs": silence,
		"redirects": func(w http.ResponseWriter, r *http.Request, _ json.RawMessage) {
			http.Redirect(w, r, "http://thief/", http.StatusTemporaryRedirect)
		},
		"floods": endlessly("text/event-stream", "", notification(1<<14)),
	} {
		for when, moment := range moments {
			t.Run("HTTP/"+fault+"/"+when, inBubble(func(t *testing.T) {
				server := &faulty{begins: moment.begins, alone: moment.alone}
				provedFaulty(t, dialPipes(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Host == "thief" {
						t.Error("another server was asked")
					}
					if server.at(r.Header.Get("Mcp-Method")) {
						_, _ = io.Copy(io.Discard, r.Body) // a server sees a client hang up behind the body
						answer(w, r, nil)
						return
					}
					server.sound.ServeHTTP(w, r)
				})), moment.reports)
			}))
		}
	}
	for fault, answer := range map[string]func(context.Context, net.Conn){
		"dies":          func(context.Context, net.Conn) {},
		"hangs":         func(_ context.Context, c net.Conn) { _, _ = io.Copy(io.Discard, c) },
		"reads nothing": func(over context.Context, _ net.Conn) { <-over.Done() },
		"floods": func(_ context.Context, c net.Conn) {
			text := []byte(`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"` + strings.Repeat("x", 1<<16) + "\"}}\n")
			for err := error(nil); err == nil; {
				_, err = c.Write(text)
			}
		},
	} {
		for when, moment := range moments {
			if fault == "floods" && !nightly { // it takes ten seconds to be flooded
				continue
			}
			t.Run("stdio/"+fault+"/"+when, inBubble(func(t *testing.T) {
				server := &faulty{begins: moment.begins, alone: moment.alone}
				over, end := context.WithCancel(t.Context())
				defer end()
				provedFaulty(t, server.dial(over, answer), moment.reports)
			}))
		}
	}
}

// dial starts a process for each connection.
func (f *faulty) dial(over context.Context, fault func(context.Context, net.Conn)) prove.Dial {
	return func(context.Context, *prove.Caller) (*prove.Endpoint, error) {
		here, there := net.Pipe()
		go f.serve(over, there, fault)
		return &prove.Endpoint{Transport: &mcp.IOTransport{Reader: here, Writer: here}}, nil
	}
}

// serve is one process: it answers line by line until the fault begins.
func (f *faulty) serve(over context.Context, c net.Conn, fault func(context.Context, net.Conn)) {
	defer c.Close()
	lines := bufio.NewReader(c)
	for {
		line, err := lines.ReadString('\n')
		var request struct{ Method string }
		if err != nil || json.Unmarshal([]byte(line), &request) != nil {
			return
		}
		if f.at(request.Method) {
			fault(over, c)
			return
		}
		answer := httptest.NewRecorder()
		f.sound.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(line)))
		if _, err := c.Write(append(answer.Body.Bytes(), '\n')); err != nil {
			return
		}
	}
}

package wstransport

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A server that retires is not ready and still serves. Shutdown lets a running call answer,
// refuses new connections and calls, completes subscriptions, and says 1001.
func TestShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, HandlerOptions{})
		ready := func(status int) {
			w := httptest.NewRecorder()
			s.ServeReady(w, httptest.NewRequest(http.MethodGet, "/ready", nil))
			require.Equal(t, []any{status, status == http.StatusOK}, []any{w.Code, s.Ready()})
		}
		ready(http.StatusOK)
		s.Retire()
		ready(http.StatusServiceUnavailable)
		idle, busy, listening := s.dial(""), s.dial(""), s.dial("")
		s.wait(busy, "1")
		listening.send(request("9", "subscriptions/listen", `"notifications":{"toolsListChanged":true},`))
		require.Empty(t, listening.next().ID, "acknowledged")
		down := make(chan error, 1)
		go func() { down <- s.Shutdown(t.Context()) }()
		require.Equal(t, 1001, idle.code())
		end := listening.next()
		require.Equal(t, "9", string(end.ID))
		require.JSONEq(t, `{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":9}}`, string(end.Result))
		require.Equal(t, 1001, listening.code())
		_, status := s.connect("")
		require.Equal(t, http.StatusServiceUnavailable, status)
		require.Equal(t, "shutdown", <-s.refusals)
		busy.send(call("2", "echo", "{}"))
		require.Equal(t, -31001, busy.next().Error.Code)
		require.Equal(t, "shutdown", <-s.refusals)
		time.Sleep(time.Hour)
		require.Empty(t, down, "a call is still running")
		close(s.release)
		require.Contains(t, string(busy.next().Result), "over")
		require.Equal(t, 1001, busy.code())
		require.NoError(t, <-down)
		require.NoError(t, s.Shutdown(t.Context()), "again is harmless")
		require.Empty(t, s.causes)
	})
}

// When there is no time left, results that exist go out, also one that waits behind another
// to be written, and calls that run are answered and cancelled. The same holds when the
// context of the connection's request ends.
func TestCutOff(t *testing.T) {
	for _, by := range []string{"shutdown", "request"} {
		synctest.Test(t, func(t *testing.T) {
			s := newSite(t, HandlerOptions{})
			base, cancel := context.WithCancel(t.Context())
			s.base = base
			p, _ := s.connect("")
			p.send(call("1", "echo", `"`+strings.Repeat("x", 1<<17)+`"`))
			p.send(call("2", "echo", "{}"))
			s.wait(p, "3")
			p.send(call("3", "wait", "3")) // again
			synctest.Wait()
			cancel()
			if by == "shutdown" {
				require.ErrorIs(t, s.Shutdown(base), context.Canceled, "nobody reads")
				return
			}
			go p.pump()
			answers := map[string]int{}
			for range 4 {
				m := p.next()
				if m.Error != nil {
					require.Equal(t, 1001, m.Error.Code)
					answers[string(m.ID)]++
					continue
				}
				answers["results"]++
			}
			require.Equal(t, map[string]int{"results": 2, "3": 2}, answers)
			require.Equal(t, 1001, p.code(), "nothing comes twice")
			require.ErrorContains(t, <-s.causes, "1001")
			_ = p.Close()
			<-s.served
		})
	}
}

// A server that closes one session says 1000.
func TestTheServerClosesASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, HandlerOptions{})
		p := s.dial("")
		synctest.Wait()
		for session := range s.server.Sessions() {
			require.NoError(t, session.Close())
		}
		require.Equal(t, 1000, p.code())
		<-s.served
	})
}

// Package alerts_test feeds the rules and the dashboard of docs/alerts what a server exports.
package alerts_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/lab/fleet"
	"github.com/mrtr-go/sdk/transport/mcphttp"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// night is what operators find after one: what Prometheus has read, and the log.
type night struct {
	samples []sample
	log     []string
}

// nightOf lets three instances live through a night: calls that wait in each way, an approval, a
// doubt, an answer that does not fit, a slow store and one that is down, a deploy, and callers
// that are turned away.
func nightOf(t *testing.T) night {
	t.Helper()
	f := newSite(t)
	a, b, c := f.start("a"), f.start("b"), f.start("c")

	// Calls that wait: held, over a legacy session, as a task.
	require.NotEmpty(t, a.send("book", "", "", nil).State)
	legacy, hangUp := context.WithCancel(t.Context())
	left := make(chan struct{})
	go func() {
		defer close(left)
		_, _ = a.client(&wire.Options{Version: wire.Legacy}).Call(legacy, "refund", none{}, wire.Answers{"sure": wire.Silent})
	}()
	defer func() {
		hangUp()
		<-left
	}()
	task, err := a.client(&wire.Options{TakesTasks: true}).Send(t.Context(), wire.Request{Name: "export", Arguments: none{}})
	require.NoError(t, err)
	require.NotEmpty(t, task.Task)
	require.Eventually(t, func() bool { return len(a.rt.Waiting()) == 2 && len(a.tasks.Waiting()) == 1 }, time.Minute, time.Millisecond)

	// An approval, after an answer that was missing; and a charge of which nobody knows.
	state := a.send("refund", "", "", nil).State
	state = b.send("refund", state, "sure", "perhaps").State
	require.JSONEq(t, `{"text":"true"}`, string(b.send("refund", state, "sure", true).Structured))
	require.True(t, b.send("charge", b.send("charge", "", "", nil).State, "sure", true).IsError)

	// The store is slow once, and fails once.
	state = b.send("refund", "", "", nil).State
	f.weather.Set(func(_ context.Context, op fleet.Operation, run, _ func() error) error {
		if op == fleet.Create {
			time.Sleep(600 * time.Millisecond)
		}
		return run()
	})
	b.send("refund", state, "sure", true)
	f.weather.Set(nil)
	state = b.send("refund", "", "", nil).State
	var failed atomic.Bool
	f.weather.Set(func(_ context.Context, op fleet.Operation, run, _ func() error) error {
		if op != fleet.Create || failed.Swap(true) { // others ask the store too, whenever their timers say
			return run()
		}
		return errors.New("connection refused by db.internal:5432")
	})
	reply := b.send("refund", state, "sure", true)
	require.NotNil(t, reply.Error)
	require.NotContains(t, reply.Error.Message+string(reply.Error.Data), "5432")
	f.weather.Set(nil)

	// Callers that are turned away: by the engine, and at the door.
	require.NotNil(t, b.send("refund", "forged", "sure", true).Error)
	b.turnAway(t)

	// A deploy takes c away without draining it.
	require.NotEmpty(t, c.send("book", "", "", nil).State)
	require.NotEmpty(t, c.send("survey", "", "", nil).State)
	require.NoError(t, c.rt.Close())
	return night{f.scrape(), f.log.lines()}
}

// turnAway makes requests that the transport refuses.
func (i *instance) turnAway(t *testing.T) {
	door := fleet.Must(mcphttp.NewHandler(func(*http.Request) *mcp.Server { return i.server }, &mcphttp.HandlerOptions{
		AllowedHosts: []string{"example.com"}, MaxMessageBytes: 1 << 10, MaxCallsPerPrincipal: 1, Refused: i.observer.Refused,
	}))(t)
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"refund","_meta":{}}}`
	post := func(body string, headers ...string) int {
		r := httptest.NewRequest(http.MethodPost, "http://example.com/mcp", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		for i := 0; i < len(headers); i += 2 {
			if headers[i] == "Host" {
				r.Host = headers[i+1]
				continue
			}
			r.Header.Add(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		door.ServeHTTP(w, r)
		return w.Code
	}
	require.Equal(t, 403, post(call, "Origin", "https://evil.example"))
	require.Equal(t, 403, post(call, "Host", "rebound.example"))
	require.Equal(t, 413, post(strings.Repeat(" ", 1<<11)+call))
	require.Equal(t, 400, post("{"))
	require.Equal(t, 400, post(`{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}`))
	require.Equal(t, 400, post(call, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Protocol-Version", "2027-01-01"))
	later := strings.Replace(call, `"_meta":{}`, `"_meta":{"io.modelcontextprotocol/protocolVersion":"2027-01-01","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"}}`, 1)
	require.Equal(t, 400, post(later, "Mcp-Protocol-Version", "2027-01-01", "Mcp-Method", "tools/call", "Mcp-Name", "refund"))
	require.Equal(t, 400, post(call, "Mcp-Protocol-Version", "1999-01-01"))
	require.Equal(t, 429, post("["+call+","+strings.Replace(call, `"id":1`, `"id":2`, 1)+"]"))
	require.NoError(t, door.Shutdown(t.Context()))
	require.Equal(t, 503, post(call))
}

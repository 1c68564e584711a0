package mcphttp_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/trip"
	"github.com/mrtr-go/sdk/internal/wire"
)

// A legacy client that hangs up in the middle of a question cancels the call, as
// a modern one does.
func TestHangingUpCancelsTheCall(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		began, ended := make(chan struct{}), make(chan error, 1)
		waits := func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			close(began)
			if version == "2026-07-28" {
				<-ctx.Done()
			} else if _, err := req.Session.Elicit(ctx, trip.Form("q?", "q")); err == nil {
				return say("answered")
			}
			ended <- ctx.Err()
			return say("over")
		}
		_, url := front(t, rawServer(waits), nil)
		client := dial(t, url, &wire.Options{Version: version, Answers: wire.Answers{"*": wire.Silent}})
		_, err := client.Start(t.Context(), wire.Request{Name: "tool"})
		require.NoError(t, err)
		<-began
		if version < "2026-07-28" {
			require.Eventually(t, func() bool { return len(client.Asked()) == 1 }, 30*time.Second, time.Millisecond)
		}
		at := time.Now()
		require.NoError(t, client.Close())
		select {
		case err := <-ended:
			require.ErrorIs(t, err, context.Canceled)
			require.Less(t, time.Since(at), 10*time.Second)
		case <-time.After(30 * time.Second):
			require.Fail(t, "the handler never heard of it", version)
		}
	}
}

// hiddenMembers are members beside a call's own that JSON readers which fold
// case would take for it. go-sdk does not, so these calls run.
var hiddenMembers = map[string]string{
	"no method":         `"Method":""`,
	"a method no text":  `"METHOD":5`,
	"another id":        `"ID":99`,
	"an id no id":       `"Id":{}`,
	"other params":      `"Params":5`,
	"an answer besides": `"result":{}`,
	"null":              `"Method":null,"iD":null`,
}

func callBody(id, extra string) string {
	return strings.Replace(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"tool","arguments":{}},EXTRA}`, id), "EXTRA", extra, 1)
}

// Whatever else is in its body, a call does not outlive its client.
func TestHangingUpCancelsHiddenCalls(t *testing.T) {
	call := func(id string) string { return callBody(id, `"x":0`) }
	type post struct {
		body  string
		calls int
		fresh bool // without a session, which the body itself opens
	}
	posts := map[string]post{
		"the first of an id":             {callBody("8", `"id":7`), 1, false},
		"a text as id":                   {call(`"\u0061\""`), 1, false},
		"a batch":                        {"[" + call("1") + "," + call(`"1"`) + "," + call("2") + "]", 3, false},
		"a batch of one":                 {"[" + call("1") + "]", 1, false},
		"a batch that opens its session": {"[" + initializeBody + "," + call("2") + "]", 1, true},
	}
	for name, member := range hiddenMembers {
		posts[name] = post{callBody("7", member), 1, false}
	}
	for name, p := range posts {
		t.Run(name, func(t *testing.T) {
			began, ended := make(chan struct{}, p.calls), make(chan struct{}, p.calls)
			_, url := front(t, rawServer(func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				began <- struct{}{}
				select {
				case <-ctx.Done():
					ended <- struct{}{}
				case <-time.After(30 * time.Second):
				}
				return say("over")
			}), nil)
			session := ""
			if !p.fresh {
				session = send(t, http.MethodPost, url, initializeBody, nil).header.Get("Mcp-Session-Id")
			}
			ctx, hangUp := context.WithCancel(t.Context())
			defer hangUp()
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(p.body))
			require.NoError(t, err)
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			r.Header.Set("Mcp-Session-Id", session)
			go func() {
				if res, err := http.DefaultClient.Do(r); err == nil {
					_, _ = io.Copy(io.Discard, res.Body)
					res.Body.Close()
				}
			}()
			for range p.calls {
				receive(t, began, "the call did not run")
			}
			hangUp()
			for range p.calls {
				receive(t, ended, "the call outlived its client")
			}
		})
	}
}

func receive(t *testing.T, c <-chan struct{}, otherwise string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(30 * time.Second): // only a test that would hang waits for it
		require.Fail(t, otherwise)
	}
}

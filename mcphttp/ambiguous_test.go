package mcphttp_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/trip"
	"github.com/mrtr-go/sdk/internal/wire"
)

// A call whose answers can be read in two ways does not run, and is told the member.
func TestAnswersThatStandTwiceAreRefused(t *testing.T) {
	for _, tc := range []struct {
		explanation, extra string
		status             int
		says               string
		runs               int
	}{
		{"one answer", `"inputResponses":{"a":{"action":"accept","content":{"x":1}}},`, 200, `"text":"ran"`, 1},
		{"a property twice", `"inputResponses":{"a":{"action":"accept","content":{"sum":10,"sum":1000}}},`, 400, `two members \"sum\"`, 0},
		{"an answer twice", `"inputResponses":{"a":{"action":"decline"},"a":{"action":"accept"}},`, 400, `two members \"a\"`, 0},
		{"an action twice, escaped", `"inputResponses":{"a":{"action":"decline","\u0061ction":"accept"}},`, 400, `two members \"action\"`, 0},
		{"the answers twice", `"inputResponses":{},"inputResponses":{"a":{"action":"accept"}},`, 400, `two members \"inputResponses\"`, 0},
	} {
		for _, headed := range []bool{true, false} { // by its header or by its _meta a modern request
			t.Run(tc.explanation, func(t *testing.T) {
				runs := 0
				_, url := front(t, rawServer(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					runs++
					return say("ran")
				}), nil)
				res := send(t, http.MethodPost, url, modernCall("7", tc.extra), func(r *http.Request) {
					if headed {
						modernHeaders(r)
					}
				})
				if !headed && tc.runs > 0 {
					return // go-sdk wants the header
				}
				require.Equal(t, tc.status, res.status, res.body)
				require.Contains(t, res.body, tc.says)
				require.Equal(t, tc.runs, runs)
				if tc.runs == 0 {
					require.Contains(t, res.body, `"id":7,"error":{"code":-32602,`)
					require.NotContains(t, res.body, "1000")
				}
			})
		}
	}
}

// Text after the first value of a body hides nothing in it.
func TestAnAnswerThatStandsTwiceCannotHide(t *testing.T) {
	_, url := front(t, rawServer(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return say("ran") }), nil)
	body := modernCall("7", `"inputResponses":{"a":{"action":"decline","action":"accept"}},`)
	for _, hidden := range []string{body + "}", " " + body + " x", body + "\x00", "{\"x\":tru," + body[1:], body[:len(body)-1] + ",}"} {
		res := send(t, http.MethodPost, url, hidden, modernHeaders)
		require.Equal(t, http.StatusBadRequest, res.status)
		require.NotContains(t, res.body, "ran")
	}
}

// The answer of a legacy client that stands twice ends its question, and nothing else.
func TestAnAnswerOverTheSessionThatStandsTwiceEndsItsQuestion(t *testing.T) {
	asked := make(chan error, 2)
	_, url := front(t, rawServer(func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		_, err := req.Session.Elicit(ctx, trip.Form("q?", "q"))
		asked <- err
		return say("over")
	}), nil)
	client := dial(t, url, &wire.Options{Version: wire.Legacy})
	answers := wire.Answers{"*": wire.InTurn(wire.Raw(`{"action":"decline","action":"accept","content":{"q":"yes"}}`), wire.Raw(`{"action":"accept","content":{"q":"yes"}}`))}
	out, err := client.Call(t.Context(), "tool", map[string]any{}, answers)
	require.NoError(t, err)
	require.Equal(t, "over", out.Text)
	require.ErrorContains(t, <-asked, `an answer has two members "action"`)
	_, err = client.Call(t.Context(), "tool", map[string]any{}, answers)
	require.NoError(t, err)
	require.NoError(t, <-asked)
}

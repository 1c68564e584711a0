package mcphttp_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// The subscriptions of a client are bounded, in both eras.
func TestSubscriptionsAreBounded(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, &mcp.ServerOptions{
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	h, url := front(t, server, nil)
	o := newOpener(t, h)
	session := o.open("")
	subscribe := func(session, method, address string) (int, string) {
		w := o.post("", session, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"uri":%q}}`, method, address))
		return w.Code, w.Body.String()
	}
	for i := range 1000 {
		status, body := subscribe(session, "resources/subscribe", fmt.Sprintf("test://%d", i))
		require.Equal(t, http.StatusOK, status)
		require.Contains(t, body, `"result"`)
	}
	status, body := subscribe(session, "resources/subscribe", "test://more")
	require.Equal(t, http.StatusTooManyRequests, status)
	require.Contains(t, body, `"id":1`)
	require.Contains(t, body, "too many subscriptions")
	_, body = subscribe(session, "resources/unsubscribe", "test://1")
	require.Contains(t, body, `"result"`)
	_, body = subscribe(session, "resources/subscribe", "test://more")
	require.Contains(t, body, `"result"`)
	status, _ = subscribe(o.open(""), "resources/subscribe", strings.Repeat("x", 70_000))
	require.Equal(t, http.StatusTooManyRequests, status)

	many := `[` + initializeBody + strings.Repeat(`,{"jsonrpc":"2.0","id":5,"method":"resources/subscribe","params":{"uri":"x"}}`, 5) + `]`
	require.Equal(t, http.StatusBadRequest, o.post("", "", many).Code)

	listen := fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":[%q]},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, strings.Repeat("x", 70_000))
	res := send(t, http.MethodPost, url, listen, func(r *http.Request) {
		r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
		r.Header.Set("Mcp-Method", "subscriptions/listen")
	})
	require.Equal(t, http.StatusBadRequest, res.status)
	require.Contains(t, res.body, `"id":2,"error":{"code":-32602`)
}

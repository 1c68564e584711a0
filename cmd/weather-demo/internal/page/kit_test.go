package page

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/transport/wstransport"
)

// withLocalAddr is the context of a request that came in at this address.
func withLocalAddr(ctx context.Context, addr net.Addr) context.Context {
	return context.WithValue(ctx, http.LocalAddrContextKey, addr)
}

// served is a page on a test server.
type served struct {
	t   *testing.T
	url string
	h   *Handler
}

func serve(t *testing.T) served {
	t.Helper()
	h, err := New(slog.New(slog.DiscardHandler))
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

func lisbon(tool string) wire.Request {
	return wire.Request{Name: tool, Arguments: map[string]any{"location": "Lisbon"}}
}

var metric = wire.Answers{"units": wire.Value("metric")}

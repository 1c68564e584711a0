package mcphttp_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type response struct {
	status int
	header http.Header
	body   string
}

// send makes one HTTP request with the headers a client of the streamable
// transport sends, and edit has the last word.
func send(t *testing.T, method, url, body string, edit func(*http.Request)) response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if edit != nil {
		edit(r)
	}
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return response{res.StatusCode, res.Header, string(text)}
}

func stringBody(s string) io.Reader { return strings.NewReader(s) }

func drainBody(r io.Reader) { _, _ = io.Copy(io.Discard, r) }

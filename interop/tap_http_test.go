package interop_test

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// tapHTTP puts a counting proxy in front of the server and returns its URL.
func tapHTTP(t *testing.T, w *counter, target string) string {
	t.Helper()
	upstream, err := url.Parse(target)
	require.NoError(t, err)
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(upstream) },
		ModifyResponse: func(r *http.Response) error {
			r.Body = &tappedBody{body: r.Body, lines: bufio.NewReader(r.Body), counter: w}
			return nil
		},
		// A client that hangs up on its event stream is no news.
		ErrorHandler: func(rw http.ResponseWriter, _ *http.Request, _ error) { rw.WriteHeader(http.StatusBadGateway) },
	}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		w.fromClient(body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(rw, r)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// tappedBody passes a response on line by line: a message is one line, with
// `data: ` before it in an event stream.
type tappedBody struct {
	body    io.Closer
	lines   *bufio.Reader
	counter *counter
	pending []byte
}

func (b *tappedBody) Read(p []byte) (int, error) {
	if len(b.pending) == 0 {
		line, err := b.lines.ReadBytes('\n')
		if len(line) == 0 {
			return 0, err
		}
		b.counter.fromServer([]byte(strings.TrimPrefix(string(line), "data: ")))
		b.pending = line
	}
	n := copy(p, b.pending)
	b.pending = b.pending[n:]
	return n, nil
}

func (b *tappedBody) Close() error { return b.body.Close() }

package wstransport_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/wstransport"
)

// wss, against a server that offers HTTP/2 as well.
func TestTLS(t *testing.T) {
	server, _ := greeter()
	handler, err := wstransport.NewHandler(func(*http.Request) *mcp.Server { return server }, nil)
	require.NoError(t, err)
	web := httptest.NewUnstartedServer(handler)
	web.EnableHTTP2 = true
	web.Config.ErrorLog = log.New(io.Discard, "", 0)
	web.StartTLS()
	defer web.Close()
	url := "wss" + strings.TrimPrefix(web.URL, "https")

	_, err = wstransport.Dial(t.Context(), url, nil)
	var untrusted *tls.CertificateVerificationError
	require.ErrorAs(t, err, &untrusted)

	pool := x509.NewCertPool()
	pool.AddCert(web.Certificate())
	transport, err := wstransport.Dial(t.Context(), url, &wstransport.DialOptions{TLSConfig: &tls.Config{RootCAs: pool}})
	require.NoError(t, err)
	var asked atomic.Int64
	session, err := mcp.NewClient(impl, answering("Ada", &asked)).Connect(t.Context(), transport, nil)
	require.NoError(t, err)
	res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "greet"})
	require.NoError(t, err)
	require.Equal(t, "Hello, Ada!", textOf(t, res))
	require.NoError(t, session.Close())
	require.NoError(t, handler.Shutdown(t.Context()))
}

package main

import (
	"context"
	"encoding/json"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
)

func TestServeForAProof(t *testing.T) {
	t.Parallel()
	// A round has the lifetime for its way, also on a busy machine.
	s := serveHTTPOnAnyPort(t, nil, "-token", "ann=a", "-token", "bob=b", "-ttl", "2s")
	dial := func(token string) *wire.Client {
		client, err := wire.DialHTTP(t.Context(), s.url+"/mcp", &http.Client{Transport: bearer(token)}, nil)
		require.NoError(t, err)
		t.Cleanup(func() { client.Close() })
		return client
	}
	ann, bob := dial("a"), dial("b")
	lisbon := wire.Request{Name: "weather_native", Arguments: map[string]any{"location": "Lisbon"}}
	_, err := dial("c").Send(within(t), lisbon)
	require.ErrorContains(t, err, "401")

	first, err := ann.Send(within(t), lisbon)
	require.NoError(t, err)
	next := lisbon
	next.State, next.Responses = first.State, map[string]any{"units": wire.Value("metric")(first.Asks[0])}
	refused, err := bob.Send(within(t), next)
	require.NoError(t, err)
	require.NotNil(t, refused.Error, "a state of another user")

	out, err := ann.Call(within(t), lisbon.Name, lisbon.Arguments, firstChoices)
	require.NoError(t, err)
	require.False(t, out.IsError, out.Text)
	require.Equal(t, map[string]int{"audit": 1}, auditsAt(within(t), t, s.url))

	require.Eventually(t, func() bool { // the process has a clock of its own
		refused, err = ann.Send(within(t), next)
		require.NoError(t, err)
		return refused.Error != nil
	}, 30*time.Second, 100*time.Millisecond, "an expired state")
	s.stops(syscall.SIGTERM)
}

// bearer sends this token with each request.
type bearer string

func (token bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(token))
	return http.DefaultTransport.RoundTrip(r)
}

func auditsAt(ctx context.Context, t *testing.T, url string) (counts map[string]int) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/audits", nil)
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	require.NoError(t, json.NewDecoder(res.Body).Decode(&counts))
	return counts
}

func TestServeRefusesAFixtureThatCannotBe(t *testing.T) {
	for _, c := range []struct {
		env  string
		args []string
		says string
	}{
		{"", []string{"-token", "ann=a"}, "-token"},
		{"", []string{"-ttl", "-1s"}, "-ttl"},
		{"", []string{"-token", "ann", "-http", "127.0.0.1:0"}, "-token"},
		{"ann=a", nil, tokensVariable},
		{"ann=a,bob", []string{"-http", "127.0.0.1:0"}, tokensVariable + ", token 2"},
		{"ann=a,=secret", []string{"-http", "127.0.0.1:0"}, tokensVariable + ", token 2"},
	} {
		s := startServing(t, []string{tokensVariable + "=" + c.env}, c.args...)
		require.Error(t, s.cmd.Wait())
		require.Equal(t, 2, s.cmd.ProcessState.ExitCode(), s.log.String())
		require.Contains(t, s.log.String(), c.says)
		require.NotContains(t, s.log.String(), "secret")
	}
}

// The tokens of the environment admit as those of the flags do, and the count of effects
// is for no page of another origin.
func TestServeTakesTokensFromTheEnvironment(t *testing.T) {
	s := serveHTTPOnAnyPort(t, []string{tokensVariable + "=ann=a, bob=b"}, "-token", "cid=c")
	get := func(path, host string, headers ...string) int {
		r, err := http.NewRequestWithContext(within(t), http.MethodGet, s.url+path, nil)
		require.NoError(t, err)
		if host != "" {
			r.Host = host
		}
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		res, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		return res.StatusCode
	}
	for _, token := range []string{"a", "b", "c"} {
		require.NotEqual(t, http.StatusUnauthorized, get("/mcp", "", "Authorization", "Bearer "+token), token)
	}
	require.Equal(t, http.StatusUnauthorized, get("/mcp", "", "Authorization", "Bearer d"))

	require.Equal(t, http.StatusOK, get("/audits", ""))
	require.Equal(t, http.StatusForbidden, get("/audits", "", "Origin", "https://evil.example"))
	require.Equal(t, http.StatusForbidden, get("/audits", "", "Sec-Fetch-Site", "cross-site"))
	require.Equal(t, http.StatusForbidden, get("/audits", "rebound.example"))
	s.stops(syscall.SIGTERM)
}

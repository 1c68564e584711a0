package main

import (
	"context"
	"encoding/json"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/cmd/weather-demo/internal/weather"
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

	out, err := ann.Call(within(t), lisbon.Name, lisbon.Arguments, weather.FirstChoices)
	require.NoError(t, err)
	require.False(t, out.IsError, out.Text)
	require.Equal(t, map[string]int{"charge": 1}, chargesAt(within(t), t, s.url))

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

func chargesAt(ctx context.Context, t *testing.T, url string) (counts map[string]int) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/charges", nil)
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	require.NoError(t, json.NewDecoder(res.Body).Decode(&counts))
	return counts
}

func TestServeRefusesAFixtureThatCannotBe(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"-token", "ann=a"}, "-token"},
		{[]string{"-ttl", "-1s"}, "-ttl"},
		{[]string{"-token", "ann", "-http", "127.0.0.1:0"}, "-token"},
	} {
		s := startServing(t, nil, c.args...)
		require.Error(t, s.cmd.Wait())
		require.Equal(t, 2, s.cmd.ProcessState.ExitCode(), s.log.String())
		require.Contains(t, s.log.String(), c.says)
	}
}

// The count of effects is for no page of another origin.
func TestChargesAreOfOneOrigin(t *testing.T) {
	s := serveHTTPOnAnyPort(t, nil)
	get := func(host, header, value string) int {
		r, err := http.NewRequestWithContext(within(t), http.MethodGet, s.url+"/charges", nil)
		require.NoError(t, err)
		if host != "" {
			r.Host = host
		}
		r.Header.Set(header, value)
		res, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		return res.StatusCode
	}
	require.Equal(t, http.StatusOK, get("", "Accept", "*/*"))
	require.Equal(t, http.StatusForbidden, get("", "Origin", "https://evil.example"))
	require.Equal(t, http.StatusForbidden, get("", "Sec-Fetch-Site", "cross-site"))
	require.Equal(t, http.StatusForbidden, get("rebound.example", "Accept", "*/*"))
	s.stops(syscall.SIGTERM)
}

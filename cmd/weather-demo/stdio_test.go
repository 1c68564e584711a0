package main

import (
	"bufio"
	"io"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/cmd/weather-demo/internal/weather"
	"github.com/mrtr-go/sdk/internal/wire"
)

func TestServeStdio(t *testing.T) {
	for _, e := range []era{modern, legacy} {
		s := startServing(t, nil, "-stdio")
		client := s.client(e.Client())
		out, err := client.Call(within(t), "weather_once", map[string]string{"location": "Springfield"}, weather.FirstChoices)
		require.NoError(t, err)
		require.Equal(t, "Weather in Springfield, Illinois: 18°C, clear.", out.Text)
		s.logs("completed")
		require.NotContains(t, s.log.String(), "warning", "a server on stdio has one client, which ends with it")
		s.hangUp()
	}
}

func TestServeStdioEndsInTheMiddleOfACall(t *testing.T) {
	ends := map[string]func(*serving){
		"the input ends": func(s *serving) { require.NoError(t, s.stdin.Close()); s.ends() },
		"SIGTERM":        func(s *serving) { s.stops(syscall.SIGTERM) },
		"SIGINT":         func(s *serving) { s.stops(syscall.SIGINT) },
	}
	for name, end := range ends {
		for _, e := range []era{modern, legacy} {
			t.Run(name+", "+string(e), func(t *testing.T) {
				s := startServing(t, nil, "-stdio")
				s.t = t
				client := s.client(e.Client())
				asked, release := make(chan bool), make(chan bool)
				go func() {
					// The call ends with the connection.
					_, _ = client.Call(within(t), "weather_coroutine", map[string]string{"location": "Lisbon"}, wire.Answers{
						"units": func(q wire.Question) any { close(asked); <-release; return wire.Cancel(q) },
					})
				}()
				<-asked
				end(s)
				close(release)
			})
		}
	}
}

// A line that is no message ends neither the server nor its next call.
func TestServeStdioSurvivesGarbage(t *testing.T) {
	s := startServing(t, nil, "-stdio")
	_, err := s.stdin.Write([]byte("this is not JSON\n"))
	require.NoError(t, err)
	answer, err := bufio.NewReaderSize(oneByte{s.stdout}, 16).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, answer, "-32700")
	client := s.client(modern.Client())
	_, err = client.Call(within(t), "weather_once", map[string]string{"location": "Springfield"}, weather.FirstChoices)
	require.NoError(t, err)
	s.logs("a line is no message")
	s.hangUp()
}

// oneByte reads no more than it has to.
type oneByte struct{ io.Reader }

func (r oneByte) Read(p []byte) (int, error) { return r.Reader.Read(p[:1]) }

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
	s.logs("card charged, 1 in all")
	require.NotContains(t, s.log.String(), "2 in all", "a charge for bob")

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

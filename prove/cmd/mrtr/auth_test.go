package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
)

// answers is a transport that never leaves the process.
type answers func(*http.Request) *http.Response

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) { return a(r), nil }

func statusOf(code int, header http.Header) *http.Response {
	return &http.Response{StatusCode: code, Header: header, Body: http.NoBody}
}

func request(t *testing.T) *http.Request {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://s", nil)
	require.NoError(t, err)
	r.GetBody = func() (io.ReadCloser, error) { return http.NoBody, nil }
	return r
}

func TestSecretsComeFromTheEnvironment(t *testing.T) {
	t.Setenv("KEY", "s3cret")
	p := newProof()
	require.NoError(t, p.flags().Parse([]string{
		"-token", "$KEY", "-header", "X-Api-Key: ${KEY}", "-header", "X-Price: 5 $$", "-other-header", "X-Api-Key: another",
	}))
	s, err := p.behindURL("http://s")
	require.NoError(t, err)
	require.Equal(t, "s3cret", s.First.Token)
	require.Equal(t, http.Header{"X-Api-Key": {"s3cret"}, "X-Price": {"5 $"}}, s.First.Header)
	require.Equal(t, http.Header{"X-Api-Key": {"another"}, "X-Price": {"5 $"}}, s.Other.Header)
}

// The token of the second caller is not replaced by the one that was fetched for the first.
func TestATokenIsFetched(t *testing.T) {
	var asked atomic.Int64
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		id, secret, _ := r.BasicAuth()
		if r.FormValue("grant_type") != "client_credentials" || r.FormValue("scope") != "a b" || id != "id" || secret != "s3cret" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"access_token":"fetched","token_type":"Bearer","expires_in":3600}`))
	}))
	defer issuer.Close()
	var sent []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		sent = append(sent, r.Header.Get("Authorization"))
	}))
	defer server.Close()
	t.Setenv(clientID, "id")
	t.Setenv(clientSecret, "s3cret")
	p := newProof()
	require.NoError(t, p.flags().Parse([]string{"-token-url", issuer.URL, "-scope", "a,b"}))
	transport, err := p.transport()
	require.NoError(t, err)
	for _, own := range []string{"", "Bearer own", ""} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, nil)
		require.NoError(t, err)
		if own != "" {
			r.Header.Set("Authorization", own)
		}
		res, err := transport.RoundTrip(r)
		require.NoError(t, err)
		res.Body.Close()
	}
	require.Equal(t, []string{"Bearer fetched", "Bearer own", "Bearer fetched"}, sent)
	require.EqualValues(t, 1, asked.Load(), "one token serves all requests")
}

// The client's secret goes to no other URL than the one that was given.
func TestTheClientSecretFollowsNoRedirect(t *testing.T) {
	thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("another server was asked") }))
	defer thief.Close()
	issuer := httptest.NewServer(http.RedirectHandler(thief.URL, http.StatusTemporaryRedirect))
	defer issuer.Close()
	t.Setenv(clientID, "id")
	t.Setenv(clientSecret, "s3cret")
	_, errOut, status := mrtr(t, "prove", "-tool", "t", "-token-url", issuer.URL, "http://127.0.0.1:1/mcp")
	require.Equal(t, 2, status)
	require.Contains(t, errOut, "307")
	require.NotContains(t, errOut, "s3cret")
}

func TestRateHoldsRequestsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []time.Duration
		begin := time.Now()
		transport := paced{answers(func(*http.Request) *http.Response {
			at = append(at, time.Since(begin))
			return statusOf(http.StatusOK, nil)
		}), rate.NewLimiter(2, atOnce)}
		for range 4 {
			_, err := transport.RoundTrip(request(t))
			require.NoError(t, err)
		}
		require.Equal(t, []time.Duration{0, 0, 500 * time.Millisecond, time.Second}, at, "two may go at once")
	})
}

// A server that says 429 is asked again, so that its haste is not taken for a refusal.
func TestTooManyRequestsIsNoRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin, tries := time.Now(), 0
		transport := patient{answers(func(*http.Request) *http.Response {
			if tries++; tries == 1 {
				return statusOf(http.StatusTooManyRequests, http.Header{"Retry-After": {"3"}})
			}
			return statusOf(http.StatusOK, nil)
		})}
		res, err := transport.RoundTrip(request(t))
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, res.StatusCode)
		require.Equal(t, 3*time.Second, time.Since(begin))

		never := patient{answers(func(*http.Request) *http.Response { return statusOf(http.StatusTooManyRequests, nil) })}
		res, err = never.RoundTrip(request(t))
		require.NoError(t, err)
		require.Equal(t, http.StatusTooManyRequests, res.StatusCode)
	})
}

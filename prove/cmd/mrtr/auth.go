package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
	"golang.org/x/time/rate"
)

// fromEnvironment replaces $NAME and ${NAME}, so that a secret need not stand on the command
// line, where every user of the machine can read it. $$ is a dollar.
func fromEnvironment(text string) (string, error) {
	var missing []string
	text = os.Expand(text, func(name string) string {
		if name == "$" {
			return name
		}
		value, set := os.LookupEnv(name)
		if !set {
			missing = append(missing, name)
		}
		return value
	})
	if len(missing) > 0 {
		return "", fmt.Errorf("the environment has no %s", strings.Join(missing, ", "))
	}
	return text, nil
}

// addHeader reads "Name: value".
func addHeader(to http.Header) func(string) error {
	return func(text string) error {
		name, value, ok := strings.Cut(text, ":")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return errors.New("want NAME: VALUE")
		}
		value, err := fromEnvironment(strings.TrimSpace(value))
		if err != nil {
			return err
		}
		to.Add(name, value)
		return nil
	}
}

// The environment holds the credentials with which -token-url is asked.
const (
	clientID     = "MRTR_CLIENT_ID"
	clientSecret = "MRTR_CLIENT_SECRET"
)

// transport carries the requests of the whole proof: no faster than -rate, and with a token of
// -token-url.
func (p *proof) transport() (http.RoundTripper, error) {
	var transport http.RoundTripper = http.DefaultTransport.(*http.Transport).Clone()
	transport = patient{transport}
	if p.rate > 0 {
		transport = paced{transport, rate.NewLimiter(rate.Limit(p.rate), atOnce)}
	}
	if p.tokenURL == "" {
		return transport, nil
	}
	id, secret := os.Getenv(clientID), os.Getenv(clientSecret)
	if id == "" || secret == "" {
		return nil, fmt.Errorf("-token-url needs %s and %s in the environment", clientID, clientSecret)
	}
	config := clientcredentials.Config{ClientID: id, ClientSecret: secret, TokenURL: p.tokenURL, Scopes: p.scopes}
	direct := &http.Client{Timeout: p.options.Patience, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse // the secret is for this URL alone
	}}
	source := config.TokenSource(context.WithValue(context.Background(), oauth2.HTTPClient, direct))
	return granted{transport, source}, nil
}

// granted gives a token to the requests that have none of their own.
type granted struct {
	next   http.RoundTripper
	tokens oauth2.TokenSource
}

func (g granted) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Authorization") == "" {
		token, err := g.tokens.Token()
		if err != nil {
			return nil, err
		}
		r = r.Clone(r.Context())
		token.SetAuthHeader(r)
	}
	return g.next.RoundTrip(r)
}

// atOnce is how many requests may go together, whatever the rate: the rules about requests at
// the same time need two.
const atOnce = 2

// paced holds requests back.
type paced struct {
	next    http.RoundTripper
	limiter *rate.Limiter
}

func (p paced) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := p.limiter.Wait(r.Context()); err != nil {
		return nil, err
	}
	return p.next.RoundTrip(r)
}

// patient sends a request again that came too soon for the server. A rule that got 429 for an
// answer would take it for a refusal.
type patient struct{ next http.RoundTripper }

func (p patient) RoundTrip(r *http.Request) (*http.Response, error) {
	for tries := 0; ; tries++ {
		res, err := p.next.RoundTrip(r)
		if err != nil || res.StatusCode != http.StatusTooManyRequests || tries == 3 || r.GetBody == nil {
			return res, err
		}
		res.Body.Close()
		seconds, err := strconv.Atoi(res.Header.Get("Retry-After"))
		if err != nil || seconds < 1 {
			seconds = 1
		}
		select {
		case <-time.After(time.Duration(seconds) * time.Second):
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
		again := r.Clone(r.Context())
		if again.Body, err = r.GetBody(); err != nil {
			return nil, err
		}
		r = again
	}
}

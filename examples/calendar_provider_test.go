package examples_test

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/examples"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/statecodec"
)

// provider is a third party: an authorization server that keeps the rules of OAuth 2.1
// for codes and PKCE, and a calendar that wants one of its tokens.
type provider struct {
	*httptest.Server
	told   func(string) // hears of each step
	denies bool         // the user refuses there

	mu      sync.Mutex
	codes   map[string]url.Values // the authorization requests, by the code that was given out
	tokens  map[string]bool
	secrets []string // every code, verifier and token, which no client may ever see
}

func newProvider(told func(string)) *provider {
	p := &provider{told: told, codes: map[string]url.Values{}, tokens: map[string]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	mux.HandleFunc("GET /events", p.events)
	p.Server = httptest.NewServer(mux)
	return p
}

func (p *provider) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	back, err := url.Parse(q.Get("redirect_uri"))
	switch {
	case err != nil || back.Path != "/callback" || q.Get("client_id") != "agenda" || q.Get("response_type") != "code":
		http.Error(w, "invalid_request", http.StatusBadRequest)
		return
	case q.Get("code_challenge_method") != "S256" || len(q.Get("code_challenge")) != 43 || q.Get("state") == "":
		http.Error(w, "invalid_request: PKCE and state are needed", http.StatusBadRequest)
		return
	}
	answer := url.Values{"state": {q.Get("state")}}
	if p.denies {
		p.told("the user refuses")
		answer.Set("error", "access_denied")
	} else {
		p.told("the user agrees to " + q.Get("scope"))
		code := rand.Text()
		p.mu.Lock()
		p.codes[code], p.secrets = q, append(p.secrets, code)
		p.mu.Unlock()
		answer.Set("code", code)
	}
	back.RawQuery = answer.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

func (p *provider) token(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	code, verifier := r.PostFormValue("code"), r.PostFormValue("code_verifier")
	asked := p.codes[code]
	delete(p.codes, code) // a code works once
	challenge := sha256.Sum256([]byte(verifier))
	w.Header().Set("Content-Type", "application/json")
	if asked == nil || r.PostFormValue("grant_type") != "authorization_code" || len(verifier) < 43 ||
		r.PostFormValue("client_id") != asked.Get("client_id") || r.PostFormValue("redirect_uri") != asked.Get("redirect_uri") ||
		base64.RawURLEncoding.EncodeToString(challenge[:]) != asked.Get("code_challenge") {
		p.told("no token: the code or its verifier is wrong")
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": "invalid_grant"})
		return
	}
	p.told("a token for the code and its verifier")
	token := rand.Text()
	p.tokens[token] = true
	p.secrets = append(p.secrets, verifier, token)
	_ = json.NewEncoder(w).Encode(map[string]any{"access_token": token, "token_type": "Bearer", "expires_in": 3600})
}

func (p *provider) events(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if token, ok := bearer(r); !ok || !p.tokens[token] {
		http.Error(w, "invalid_token", http.StatusUnauthorized)
		return
	}
	_ = json.NewEncoder(w).Encode([]string{r.URL.Query().Get("date") + " 10:00 Dentist"})
}

func bearer(r *http.Request) (string, bool) {
	const scheme = "Bearer "
	h := r.Header.Get("Authorization")
	return h[min(len(scheme), len(h)):], len(h) > len(scheme) && h[:len(scheme)] == scheme
}

// browser is one that somebody has logged in with.
func browser(user string) *http.Client {
	return &http.Client{Transport: loggedIn(user)}
}

type loggedIn string

func (user loggedIn) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.AddCookie(&http.Cookie{Name: "login", Value: string(user)})
	return http.DefaultTransport.RoundTrip(r)
}

// login is the page's way to know its user. A real one checks a session cookie.
func login(r *http.Request) string {
	c, err := r.Cookie("login")
	if err != nil {
		return ""
	}
	return c.Value
}

// newCalendar is the tool's server, with its pages.
func newCalendar(p *provider) (*examples.Calendar, *httptest.Server) {
	c := &examples.Calendar{
		Provider: examples.Provider{Authorize: p.URL + "/authorize", Token: p.URL + "/token", Events: p.URL + "/events", ClientID: "agenda"},
		User:     login,
		Wait:     time.Minute,
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /connect", c.Connect)
	mux.HandleFunc("GET /callback", c.Callback)
	pages := httptest.NewServer(mux)
	c.URL = pages.URL
	return c, pages
}

// newAgenda serves the tool to one user. A server of many takes the user from the verified
// access token of each request, as it does without Options.Principal.
func newAgenda(c *examples.Calendar, user string, readable bool) (*mcp.Server, *mrtr.Runtime) {
	rt, err := mrtr.New(&mrtr.Options{
		State:     &statecodec.Options{Ephemeral: true, Readable: readable},
		Principal: func(context.Context, mcp.Request) (string, error) { return user, nil },
	})
	if err != nil {
		panic(err)
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "agenda", Version: "1"}, nil)
	mrtr.AddTool(server, &mcp.Tool{Name: "agenda"}, mrtr.Tool(rt, mrtr.Journal(c.Agenda), nil))
	return server, rt
}

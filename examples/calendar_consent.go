package examples

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/mrtr-go/sdk/mrtr"
)

// Provider is the third party: its authorization server (OAuth 2.1), the name under which
// this server is registered there, and its API.
type Provider struct {
	Authorize, Token string // addresses of the two endpoints
	ClientID         string
	Events           string
}

// Calendar is the server's side of its users' consent: the tool, the two pages that the
// browser visits, and the tokens.
type Calendar struct {
	Provider Provider
	URL      string // where the pages are mounted, as the browser sees it
	// User names who is at the browser, from the cookie of a login; "" if nobody is.
	User func(*http.Request) string
	Wait time.Duration // how long a round waits for the user, below the client's timeout

	visits mrtr.Visits[string] // done with the reason of a refusal, "" if granted
	tokens tokens

	mu     sync.Mutex
	asking map[string]*consent // by the visit
}

// consent is one visit that is asked for.
type consent struct {
	user            string
	state, verifier string // of the latest time that the user was sent on
	began           time.Time
}

// begin makes the visit known, for this user alone, and returns the page's address.
func (c *Calendar) begin(ctx context.Context, call *mrtr.Call, key string) (page string, _ error) {
	visit, err := c.visits.Begin(ctx, call, key)
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, other := range c.asking {
		if time.Since(other.began) > time.Hour { // as long as Visits knows it
			delete(c.asking, id)
		}
	}
	if c.asking == nil {
		c.asking = map[string]*consent{}
	}
	if c.asking[visit] == nil {
		c.asking[visit] = &consent{user: call.Principal(), began: time.Now()}
	}
	return c.URL + "/connect?visit=" + visit, nil
}

// Connect sends the user on to the authorization server. The address is no secret: only
// the login proves that its visitor is the user of the call.
func (c *Calendar) Connect(w http.ResponseWriter, r *http.Request) {
	visit := r.URL.Query().Get("visit")
	state, verifier := visit+"."+rand.Text(), rand.Text()+rand.Text()
	if !c.change(visit, c.User(r), func(one *consent) bool { one.state, one.verifier = state, verifier; return true }) {
		http.Error(w, "This page was not made for you.", http.StatusForbidden)
		return
	}
	challenge := sha256.Sum256([]byte(verifier))
	http.Redirect(w, r, c.Provider.Authorize+"?"+url.Values{
		"response_type": {"code"}, "client_id": {c.Provider.ClientID}, "redirect_uri": {c.URL + "/callback"},
		"scope": {"calendar.read"}, "state": {state},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(challenge[:])}, "code_challenge_method": {"S256"},
	}.Encode(), http.StatusFound)
}

// Callback takes the code from the browser, gets the token for it, and marks the visit
// done. The state works once, and for the user who was sent on with it.
func (c *Calendar) Callback(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	visit, _, _ := strings.Cut(q.Get("state"), ".")
	user, verifier := c.User(r), ""
	if !c.change(visit, user, func(one *consent) bool {
		if one.state == "" || subtle.ConstantTimeCompare([]byte(one.state), []byte(q.Get("state"))) != 1 {
			return false
		}
		verifier, one.state, one.verifier = one.verifier, "", ""
		return true
	}) {
		http.Error(w, "This answer was not asked for.", http.StatusForbidden)
		return
	}
	refusal := ""
	if q.Get("error") != "" {
		refusal = "it was refused" // the text comes from the browser, and is not for a model
	} else if token, err := c.exchange(r.Context(), q.Get("code"), verifier); err != nil {
		refusal = "the calendar's server gave no access"
	} else {
		c.tokens.keep(user, token)
	}
	if err := c.visits.Done(r.Context(), visit, user, refusal); err != nil {
		http.Error(w, "Nobody waits for this any more.", http.StatusNotFound)
		return
	}
	fmt.Fprintln(w, "You can close this page.")
}

// change changes the consent of a visit, if there is one and it is this user's.
func (c *Calendar) change(visit, user string, f func(*consent) bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.asking[visit]
	return one != nil && user != "" && one.user == user && f(one)
}

// exchange gets the access token for a code.
func (c *Calendar) exchange(ctx context.Context, code, verifier string) (token string, _ error) {
	form := url.Values{
		"grant_type": {"authorization_code"}, "client_id": {c.Provider.ClientID}, "redirect_uri": {c.URL + "/callback"},
		"code": {code}, "code_verifier": {verifier},
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.Provider.Token, strings.NewReader(form.Encode()))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := (&http.Client{Timeout: 30 * time.Second}).Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	var granted struct {
		Token string `json:"access_token"`
		Type  string `json:"token_type"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(nil, res.Body, 64<<10)).Decode(&granted); err != nil {
		return "", err
	}
	if res.StatusCode != http.StatusOK || granted.Token == "" || !strings.EqualFold(granted.Type, "Bearer") {
		return "", errors.New("the authorization server gave no token")
	}
	return granted.Token, nil
}

// tokens are those of the users. A real server keeps them encrypted, in a database.
type tokens struct {
	mu   sync.Mutex
	held map[string]string
}

func (t *tokens) of(user string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.held[user]
}

func (t *tokens) keep(user, token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.held == nil {
		t.held = map[string]string{}
	}
	t.held[user] = token
}

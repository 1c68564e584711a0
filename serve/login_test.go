package serve_test

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
)

// login is an authorization server. Its user, ada, says yes to everything.
type login struct {
	url    string
	mu     sync.Mutex
	grants map[string]url.Values // what was asked for, by code
	tokens map[string]*auth.TokenInfo
}

func newLogin(t *testing.T) *login {
	l := &login{grants: map[string]url.Values{}, tokens: map[string]*auth.TokenInfo{}}
	paths := http.NewServeMux()
	paths.HandleFunc("GET /.well-known/oauth-authorization-server", l.describe)
	paths.HandleFunc("POST /register", l.register)
	paths.HandleFunc("GET /authorize", l.authorize)
	paths.HandleFunc("POST /token", l.token)
	paths.HandleFunc("POST /issue", func(w http.ResponseWriter, r *http.Request) {
		info := &auth.TokenInfo{}
		if json.NewDecoder(r.Body).Decode(info) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		reply(w, http.StatusOK, l.issue(info))
	})
	web := httptest.NewServer(paths)
	t.Cleanup(web.Close)
	l.url = web.URL
	return l
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func (l *login) describe(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, map[string]any{
		"issuer": l.url, "authorization_endpoint": l.url + "/authorize", "token_endpoint": l.url + "/token",
		"registration_endpoint": l.url + "/register", "response_types_supported": []string{"code"},
		"code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none"},
		"authorization_response_iss_parameter_supported": true,
	})
}

func (l *login) register(w http.ResponseWriter, r *http.Request) {
	var client map[string]any
	if json.NewDecoder(r.Body).Decode(&client) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	client["client_id"] = rand.Text()
	reply(w, http.StatusCreated, client)
}

func (l *login) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	back, err := url.Parse(q.Get("redirect_uri"))
	if err != nil || q.Get("code_challenge_method") != "S256" || q.Get("client_id") == "" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	code := rand.Text()
	l.mu.Lock()
	l.grants[code] = q
	l.mu.Unlock()
	back.RawQuery = url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {l.url}}.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

func (l *login) token(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	grant, ok := l.grants[r.PostFormValue("code")]
	delete(l.grants, r.PostFormValue("code"))
	l.mu.Unlock()
	proof := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if !ok || base64.RawURLEncoding.EncodeToString(proof[:]) != grant.Get("code_challenge") {
		reply(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant"})
		return
	}
	token := l.issue(&auth.TokenInfo{
		UserID: "ada", Scopes: strings.Fields(grant.Get("scope")), Expiration: time.Now().Add(time.Hour),
		Extra: map[string]any{"aud": grant.Get("resource")},
	})
	reply(w, http.StatusOK, map[string]any{"access_token": token, "token_type": "Bearer", "expires_in": 3600, "scope": grant.Get("scope")})
}

// issue makes a token that nobody has asked for.
func (l *login) issue(info *auth.TokenInfo) (token string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	token = rand.Text()
	l.tokens[token] = info
	return token
}

var errUnreachable = errors.New("the login at 10.0.0.7 does not answer")

// verify is how the server asks about a token.
func (l *login) verify(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch info := l.tokens[token]; {
	case token == "unreachable":
		return nil, errUnreachable
	case info == nil:
		return nil, auth.ErrInvalidToken
	default:
		return info, nil
	}
}

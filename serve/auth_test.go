package serve_test

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/serve"
	"github.com/mrtr-go/sdk/tasks"
	"github.com/mrtr-go/sdk/transport/mcphttp"
	"github.com/mrtr-go/sdk/transport/wstransport"
)

// airline is a server with a login, behind the proxy of its public URL. Every request needs
// the scope "trips", and the tool "held" needs "seats" too.
type airline struct {
	*stand
	*login
	public string
}

func newAirline(t *testing.T, change func(*serve.Options)) *airline {
	a := &airline{login: newLogin(t)}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		target, _ := url.Parse(a.stand.url)
		(&httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(target) }}).ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		proxy.CloseClientConnections()
		proxy.Close()
	})
	a.public = proxy.URL + "/mcp"
	opts := serve.Options{
		Auth: &serve.Auth{
			Verify: a.verify, Resource: a.public, Servers: []string{a.login.url},
			Scopes: map[string][]string{"": {"trips"}, "held": {"seats"}},
		},
		Handler: &mcphttp.HandlerOptions{AllowedOrigins: []string{"https://page.example"}},
	}
	if change != nil {
		change(&opts)
	}
	a.stand = newStand(t, opts)
	return a
}

// as is a client of HTTP that sends a header with each request.
type as [2]string

func bearer(token string) *http.Client {
	return &http.Client{Transport: as{"Authorization", "Bearer " + token}}
}

func (h as) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(h[0], h[1])
	return http.DefaultTransport.RoundTrip(r)
}

func fetch(t *testing.T, client *http.Client, r *http.Request, into any) *http.Response {
	t.Helper()
	res, err := client.Do(r)
	require.NoError(t, err)
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	if into != nil {
		require.NoError(t, json.Unmarshal(body, into), "%s", body)
	}
	return res
}

func request(t *testing.T, method, url, kind, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Content-Type", kind)
	r.Header.Set("Accept", "application/json, text/event-stream")
	return r
}

// challenged makes a call, and returns with what the server refuses it.
func challenged(t *testing.T, client *http.Client, url, tool string) (status int, challenge map[string]string) {
	t.Helper()
	r := request(t, http.MethodPost, url, "application/json", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`","arguments":{},`+
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`)
	r.Header.Set("Mcp-Protocol-Version", wire.Modern)
	r.Header.Set("Mcp-Method", "tools/call")
	r.Header.Set("Mcp-Name", tool)
	res := fetch(t, client, r, nil)
	parsed, err := oauthex.ParseWWWAuthenticate(res.Header.Values("WWW-Authenticate"))
	require.NoError(t, err)
	if len(parsed) == 0 {
		return res.StatusCode, nil
	}
	require.Equal(t, "bearer", parsed[0].Scheme)
	return res.StatusCode, parsed[0].Params
}

// logIn follows a challenge to a token, as the specification says.
func (a *airline) logIn(t *testing.T, challenge map[string]string) (token string) {
	t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resource, err := oauthex.GetProtectedResourceMetadata(t.Context(), challenge["resource_metadata"], a.public, client)
	require.NoError(t, err)
	var server struct{ Issuer, Authorization_endpoint, Token_endpoint, Registration_endpoint string }
	fetch(t, client, request(t, http.MethodGet, resource.AuthorizationServers[0]+"/.well-known/oauth-authorization-server", "", ""), &server)
	require.Equal(t, a.login.url, server.Issuer)
	var known struct{ Client_id string }
	fetch(t, client, request(t, http.MethodPost, server.Registration_endpoint, "application/json", `{"redirect_uris":["http://127.0.0.1/back"]}`), &known)
	secret := rand.Text() + rand.Text()
	proof := sha256.Sum256([]byte(secret))
	asks := url.Values{
		"response_type": {"code"}, "client_id": {known.Client_id}, "redirect_uri": {"http://127.0.0.1/back"}, "resource": {resource.Resource},
		"scope": {challenge["scope"]}, "code_challenge_method": {"S256"}, "code_challenge": {base64.RawURLEncoding.EncodeToString(proof[:])},
	}
	back, err := fetch(t, client, request(t, http.MethodGet, server.Authorization_endpoint+"?"+asks.Encode(), "", ""), nil).Location()
	require.NoError(t, err)
	brings := url.Values{"grant_type": {"authorization_code"}, "code": {back.Query().Get("code")}, "code_verifier": {secret}, "resource": {resource.Resource}}
	var issued struct{ Access_token string }
	fetch(t, client, request(t, http.MethodPost, server.Token_endpoint, "application/x-www-form-urlencoded", brings.Encode()), &issued)
	require.NotEmpty(t, issued.Access_token)
	return issued.Access_token
}

// serveVariable makes [TestAClientFindsWhereToLogIn] serve until its input ends. The tests of
// interop set it.
const serveVariable = "SERVE_TEST_SERVE"

// A client that knows the URL alone finds where its user logs in, calls with the token, and is
// told of the scope that another tool needs besides.
func TestAClientFindsWhereToLogIn(t *testing.T) {
	a := newAirline(t, nil)
	if os.Getenv(serveVariable) != "" {
		fmt.Printf("listening on %s\n", strings.TrimSuffix(a.public, "/mcp"))
		_, err := io.Copy(io.Discard, os.Stdin)
		require.NoError(t, err)
		return
	}
	status, challenge := challenged(t, http.DefaultClient, a.public, "held")
	described := strings.TrimSuffix(a.public, "/mcp") + "/.well-known/oauth-protected-resource"
	require.Equal(t, http.StatusUnauthorized, status)
	require.Equal(t, map[string]string{"scope": "trips", "resource_metadata": described + "/mcp"}, challenge)
	var own, shared map[string]any
	fetch(t, http.DefaultClient, request(t, http.MethodGet, described+"/mcp", "", ""), &own)
	fetch(t, http.DefaultClient, request(t, http.MethodGet, described, "", ""), &shared)
	require.Equal(t, own, shared)
	require.Equal(t, []any{"trips"}, own["scopes_supported"])

	trips := bearer(a.logIn(t, challenge))
	for _, version := range []string{wire.Modern, wire.Legacy} {
		client, err := wire.DialHTTP(t.Context(), a.public, trips, &wire.Options{Version: version})
		require.NoError(t, err)
		allowed, err := client.Send(t.Context(), wire.Request{Name: "panics", Arguments: none{}})
		require.NoError(t, err)
		require.True(t, allowed.IsError, "it was called")
		denied, err := client.Send(t.Context(), wire.Request{Name: "held", Arguments: none{}})
		require.NoError(t, err)
		require.Equal(t, `the token lacks the scope "seats"`, denied.Error.Message)
		require.NoError(t, client.Close())
	}
	status, challenge = challenged(t, trips, a.public, "held")
	require.Equal(t, http.StatusForbidden, status)
	require.Equal(t, map[string]string{"error": "insufficient_scope", "scope": "trips seats", "resource_metadata": described + "/mcp"}, challenge)

	client, err := wire.DialHTTP(t.Context(), a.public, bearer(a.logIn(t, challenge)), nil)
	require.NoError(t, err)
	defer client.Close()
	out, err := client.Call(t.Context(), "held", none{}, window)
	require.NoError(t, err)
	require.JSONEq(t, `{"text":"window"}`, string(out.Structured))
}

// A session of a legacy client learns of the missing scope from the status too.
func TestASessionIsChallenged(t *testing.T) {
	a := newAirline(t, nil)
	trips := bearer(a.issue(&auth.TokenInfo{UserID: "ada", Scopes: []string{"trips"}, Expiration: time.Now().Add(time.Hour)}))
	opened := fetch(t, trips, request(t, http.MethodPost, a.public, "application/json", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`), nil)
	session := opened.Header.Get("Mcp-Session-Id")
	require.NotEmpty(t, session)
	for _, body := range []string{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"held","arguments":{}}}`} {
		r := request(t, http.MethodPost, a.public, "application/json", body)
		r.Header.Set("Mcp-Session-Id", session)
		r.Header.Set("Mcp-Protocol-Version", wire.Legacy)
		opened = fetch(t, trips, r, nil)
	}
	require.Equal(t, http.StatusForbidden, opened.StatusCode)
	require.Contains(t, opened.Header.Get("WWW-Authenticate"), `scope="trips seats"`)
}

// Whatever is wrong with a token, its client learns what to do, and nothing else.
func TestTokensThatAreRefused(t *testing.T) {
	a := newAirline(t, nil)
	good := auth.TokenInfo{UserID: "ada", Scopes: []string{"trips"}, Expiration: time.Now().Add(time.Hour), Extra: map[string]any{"aud": a.public}}
	with := func(change func(*auth.TokenInfo)) as {
		info := good
		change(&info)
		return as{"Authorization", "Bearer " + a.issue(&info)}
	}
	cases := map[string]struct {
		sends  as
		status int
		code   string
	}{
		"good": {with(func(*auth.TokenInfo) {}), http.StatusOK, ""},
		"for several servers": {with(func(i *auth.TokenInfo) {
			i.Extra = map[string]any{"aud": []any{"https://other.example", a.public + "/"}}
		}), http.StatusOK, ""},
		"none":                  {as{"X", "y"}, http.StatusUnauthorized, ""},
		"another scheme":        {as{"Authorization", "Basic YTpi"}, http.StatusUnauthorized, ""},
		"unknown":               {as{"Authorization", "Bearer guessed"}, http.StatusUnauthorized, "invalid_token"},
		"expired":               {with(func(i *auth.TokenInfo) { i.Expiration = time.Now().Add(-time.Second) }), http.StatusUnauthorized, "invalid_token"},
		"without expiry":        {with(func(i *auth.TokenInfo) { i.Expiration = time.Time{} }), http.StatusUnauthorized, "invalid_token"},
		"another audience":      {with(func(i *auth.TokenInfo) { i.Extra = map[string]any{"aud": "https://other.example/mcp"} }), http.StatusUnauthorized, "invalid_token"},
		"other audiences":       {with(func(i *auth.TokenInfo) { i.Extra = map[string]any{"aud": []string{"https://other.example"}} }), http.StatusUnauthorized, "invalid_token"},
		"an audience of no use": {with(func(i *auth.TokenInfo) { i.Extra = map[string]any{"aud": 7} }), http.StatusUnauthorized, "invalid_token"},
		"without the scope":     {with(func(i *auth.TokenInfo) { i.Scopes = []string{"seats"} }), http.StatusForbidden, "insufficient_scope"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			status, challenge := challenged(t, &http.Client{Transport: c.sends}, a.public, "panics")
			require.Equal(t, c.status, status)
			require.Equal(t, c.code, challenge["error"])
			if status != http.StatusOK {
				require.Equal(t, "trips", challenge["scope"])
			}
		})
	}
	r := request(t, http.MethodPost, a.public, "application/json", "{}")
	res, err := bearer("unreachable").Do(r)
	require.NoError(t, err)
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, http.StatusInternalServerError, res.StatusCode)
	require.NotContains(t, string(text), "10.0.0.7")
}

// The user of the token is the principal: a state is of use to nobody else.
func TestAnotherUsersState(t *testing.T) {
	a := newAirline(t, nil)
	as := func(user string) *wire.Client {
		info := &auth.TokenInfo{UserID: user, Scopes: []string{"trips", "seats"}, Expiration: time.Now().Add(time.Hour)}
		client, err := wire.DialHTTP(t.Context(), a.public, bearer(a.issue(info)), nil)
		require.NoError(t, err)
		t.Cleanup(func() { client.Close() })
		return client
	}
	ada := as("ada")
	asked, err := ada.Send(t.Context(), wire.Request{Name: "held", Arguments: none{}})
	require.NoError(t, err)
	answers, err := window.Responses(asked.Asks)
	require.NoError(t, err)
	answered := wire.Request{Name: "held", Arguments: none{}, State: asked.State, Responses: answers}
	stolen, err := as("eve").Send(t.Context(), answered)
	require.NoError(t, err)
	require.EqualValues(t, -32602, stolen.Error.Code)
	own, err := ada.Send(t.Context(), answered)
	require.NoError(t, err)
	require.JSONEq(t, `{"text":"window"}`, string(own.Structured))
}

// A gateway names its users in a header, once. With a token of its own it is known to be the
// gateway.
func TestAGatewayNamesTheUser(t *testing.T) {
	for _, verified := range []bool{false, true} {
		a := newAirline(t, func(o *serve.Options) {
			o.Auth.UserHeader, o.Auth.Scopes = "X-Forwarded-User", nil
			if !verified {
				o.Auth = &serve.Auth{UserHeader: "X-Forwarded-User"}
			}
		})
		status := func(token string, users ...string) int {
			r := request(t, http.MethodPost, a.public, "application/json", `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
			r.Header["X-Forwarded-User"] = users
			return fetch(t, bearer(token), r, nil).StatusCode
		}
		token := a.issue(&auth.TokenInfo{UserID: "gateway", Expiration: time.Now().Add(time.Hour)})
		require.Equal(t, []int{200, 401, 401, 401}, []int{status(token, "ada"), status(token), status(token, ""), status(token, "ada", "eve")})
		require.Equal(t, map[bool]int{false: 200, true: 401}[verified], status("guessed", "ada"))
	}
}

// A WebSocket is opened with a token, and its calls need the scopes of their tools.
func TestScopesOverWebSocket(t *testing.T) {
	var a *airline
	sockets, err := wstransport.NewHandler(func(*http.Request) *mcp.Server { return a.server }, nil)
	require.NoError(t, err)
	a = newAirline(t, func(o *serve.Options) { o.Endpoints = map[string]serve.Endpoint{"/ws": sockets} })
	dial := func(scopes ...string) (*wire.Client, error) {
		token := a.issue(&auth.TokenInfo{UserID: "ada", Scopes: scopes, Expiration: time.Now().Add(time.Hour)})
		link, err := wstransport.Dial(t.Context(), strings.Replace(a.stand.url, "http", "ws", 1)+"/ws", &wstransport.DialOptions{Header: http.Header{"Authorization": {"Bearer " + token}}})
		if err != nil {
			return nil, err
		}
		return wire.Dial(t.Context(), link, nil)
	}
	_, err = dial("seats")
	var refused *wstransport.RefusedError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, http.StatusForbidden, refused.StatusCode)
	for _, scopes := range [][]string{{"trips"}, {"trips", "seats"}} {
		client, err := dial(scopes...)
		require.NoError(t, err)
		got, err := client.Send(t.Context(), wire.Request{Name: "held", Arguments: none{}})
		require.NoError(t, err)
		if len(scopes) == 1 {
			require.EqualValues(t, -31000, got.Error.Code)
			require.Equal(t, `the token lacks the scope "seats"`, got.Error.Message)
		} else {
			require.Len(t, got.Asks, 1)
		}
		require.NoError(t, client.Close())
	}
}

// Whoever goes on with a call needs the scopes of its tool as well: by an answer to its task, a
// question about it, or its end. So does a subscription to a resource with a scope, and a
// completion for one.
func TestScopesOfATask(t *testing.T) {
	a := newAirline(t, func(o *serve.Options) {
		o.Tasks = &tasks.Options{Policy: map[string]tasks.Policy{"held": {AtOnce: true}}}
		o.Auth.Scopes["seats://plan"] = []string{"seats"}
	})
	as := func(scopes ...string) *wire.Client {
		info := &auth.TokenInfo{UserID: "ada", Scopes: scopes, Expiration: time.Now().Add(time.Hour)}
		client, err := wire.DialHTTP(t.Context(), a.public, bearer(a.issue(info)), &wire.Options{TakesTasks: true})
		require.NoError(t, err)
		t.Cleanup(func() { client.Close() })
		return client
	}
	full, poor := as("trips", "seats"), as("trips")
	asked, err := full.Send(t.Context(), wire.Request{Name: "held", Arguments: none{}})
	require.NoError(t, err)
	require.NotEmpty(t, asked.Task)
	answers, err := window.Responses(asked.Asks)
	require.NoError(t, err)
	task := map[string]any{"_meta": poor.Meta(), "taskId": asked.Task, "inputResponses": answers}
	listens := map[string]any{"_meta": poor.Meta(), "notifications": map[string]any{"resourceSubscriptions": []string{"seats://plan"}}}
	completes := func(ref map[string]string) any {
		return map[string]any{"_meta": poor.Meta(), "ref": ref, "argument": map[string]string{"name": "row", "value": "1"}}
	}
	for _, r := range []wire.Request{
		{Method: "tasks/update", Params: task}, {Method: "tasks/get", Params: task}, {Method: "tasks/cancel", Params: task}, {Method: "subscriptions/listen", Params: listens},
		{Method: "completion/complete", Params: completes(map[string]string{"type": "ref/resource", "uri": "seats://plan"})},
		{Method: "completion/complete", Params: completes(map[string]string{"type": "ref/prompt", "name": "held"})},
	} {
		denied, err := poor.Exchange(t.Context(), r)
		require.NoError(t, err)
		require.NotNil(t, denied.Error, r.Method)
		require.ErrorContains(t, denied.Error, `the token lacks the scope "seats"`)
	}
	answered, err := full.Send(t.Context(), wire.Request{Name: "held", Task: asked.Task, Responses: answers})
	require.NoError(t, err)
	require.JSONEq(t, `{"text":"window"}`, string(answered.Structured))
}

// A page of a listed origin may log in: its preflight needs no token, and it can read the
// challenge.
func TestPagesCanLogIn(t *testing.T) {
	a := newAirline(t, nil)
	r := request(t, http.MethodOptions, a.stand.url+"/mcp", "", "")
	r.Header.Set("Origin", "https://page.example")
	r.Header.Set("Access-Control-Request-Method", "POST")
	require.Equal(t, http.StatusNoContent, fetch(t, http.DefaultClient, r, nil).StatusCode)
	r = request(t, http.MethodPost, a.stand.url+"/mcp", "application/json", "{}")
	r.Header.Set("Origin", "https://page.example")
	res := fetch(t, http.DefaultClient, r, nil)
	require.Equal(t, http.StatusUnauthorized, res.StatusCode)
	require.Contains(t, res.Header.Get("Access-Control-Expose-Headers"), "WWW-Authenticate")
}

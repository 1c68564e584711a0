package interop_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/lab/fleet"
)

// TestLogin has the TypeScript client find, from the URL alone, where its user logs in. It calls a
// tool that needs no more, and is sent back to the login for the scope of another, whose question it
// then answers; also when its token is for another server, or has expired. A state of another user
// is of no use to it.
func TestLogin(t *testing.T) {
	requirePeers(t, peers[0])
	server := exec.Command(buildTest(t, "../../serve"), "-test.run=^TestAClientFindsWhereToLogIn$")
	server.Env = append(os.Environ(), "SERVE_TEST_SERVE=1")
	url := fleet.ListenWhileOpen(t, server)
	for _, era := range []string{"modern", "legacy"} {
		t.Run(era, func(t *testing.T) {
			client := startDriver(t, []string{nodeProgram(), "peers/typescript-v2/login.mjs", "--era", era, "--url", url + "/mcp"})
			call := func(tool string, more map[string]any) (r reply) {
				cell := map[string]any{"tool": tool, "arguments": struct{}{}, "answers": map[string]string{"seat": "window"}}
				for name, value := range more {
					cell[name] = value
				}
				require.NoError(t, client.Call(cell, &r))
				return r
			}
			called := call("panics", nil)
			require.True(t, called.IsError)
			require.Empty(t, called.Status, "no login")
			booked := reply{Text: `{"text":"window"}`, Structured: json.RawMessage(`{"text":"window"}`), Elicitations: []elicitation{{"Which seat?", []string{"seat"}}}}
			hour := time.Now().Add(time.Hour)
			both := []string{"trips", "seats"}
			for i, c := range []struct {
				has    *auth.TokenInfo // nil for what the client got itself
				logins string
			}{
				{nil, "trips seats"},
				{nil, ""}, // the token is kept
				{&auth.TokenInfo{UserID: "ada", Scopes: both, Expiration: hour, Extra: map[string]any{"aud": "https://other.example/mcp"}}, "trips, trips seats"},
				{&auth.TokenInfo{UserID: "ada", Scopes: both, Expiration: time.Now().Add(-time.Minute)}, "trips, trips seats"},
				{&auth.TokenInfo{UserID: "ada", Scopes: both[:1], Expiration: hour}, "trips seats"},
			} {
				want, more := booked, map[string]any{}
				want.Status = c.logins
				if c.has != nil {
					more["token"] = tokenAt(t, url, c.has)
				}
				require.Equal(t, want, call("held", more), i)
			}
			if era == "modern" {
				for user, refusal := range map[string]string{"eve": "-32602", "ada": ""} {
					token := tokenAt(t, url, &auth.TokenInfo{UserID: user, Scopes: both, Expiration: hour})
					asks := fleet.Must(wire.DialHTTP(t.Context(), url+"/mcp", &http.Client{Transport: bearing(token)}, nil))(t)
					asked := fleet.Must(asks.Send(t.Context(), wire.Request{Name: "held", Arguments: struct{}{}}))(t)
					responses := fleet.Must(wire.Answers{"seat": wire.Value("window")}.Responses(asked.Asks))(t)
					got := call("held", map[string]any{"state": asked.State, "responses": responses})
					require.Contains(t, got.Error, refusal)
					require.Equal(t, refusal == "", got.Text == booked.Text, "%+v", got)
					require.NoError(t, asks.Close())
				}
			}
			client.close(t)
		})
	}
}

// tokenAt is a token that the login of a server issues though nobody has logged in.
func tokenAt(t *testing.T, url string, info *auth.TokenInfo) (token string) {
	t.Helper()
	resource := fleet.Must(oauthex.GetProtectedResourceMetadata(t.Context(), url+"/.well-known/oauth-protected-resource/mcp", url+"/mcp", http.DefaultClient))(t)
	body := fleet.Must(json.Marshal(info))(t)
	res := fleet.Must(http.Post(resource.AuthorizationServers[0]+"/issue", "application/json", strings.NewReader(string(body))))(t)
	defer res.Body.Close()
	require.NoError(t, json.Unmarshal(fleet.Must(io.ReadAll(res.Body))(t), &token))
	return token
}

// bearing sends a token with each request.
type bearing string

func (b bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

package examples_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/examples"
	"github.com/mrtr-go/sdk/internal/wire"
)

// The first call sends its user to the third party. The second has the token.
func ExampleCalendar() {
	third := newProvider(func(s string) { fmt.Println("(the third party: " + s + ")") })
	defer third.Close()
	calendar, pages := newCalendar(third)
	defer pages.Close()
	server, rt := newAgenda(calendar, "ann", false)
	defer rt.Close()

	here, there := mcp.NewInMemoryTransports()
	if _, err := server.Connect(context.Background(), here, nil); err != nil {
		panic(err)
	}
	closed := make(chan string, 1)
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{URL: &mcp.URLElicitationCapabilities{}}},
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			fmt.Println(req.Params.Message)
			go func() { // the browser opens, and the client does not wait for it
				_, page := open("ann", req.Params.URL)
				closed <- page
			}()
			return &mcp.ElicitResult{Action: "accept"}, nil
		},
	})
	session, err := client.Connect(context.Background(), there, nil)
	if err != nil {
		panic(err)
	}
	defer session.Close()
	for range 2 {
		result, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "agenda", Arguments: examples.Day{Date: "2026-12-01"}})
		if err != nil {
			panic(err)
		}
		structured, _ := json.Marshal(result.StructuredContent)
		fmt.Println("result:", string(structured))
	}
	fmt.Println("the page:", <-closed)
	// Output:
	// May this server read your calendar?
	// (the third party: the user agrees to calendar.read)
	// (the third party: a token for the code and its verifier)
	// result: {"events":["2026-12-01 10:00 Dentist"]}
	// result: {"events":["2026-12-01 10:00 Dentist"]}
	// the page: You can close this page.
}

// open opens an address in somebody's browser, which follows where it is sent.
func open(user, address string) (status int, page string) {
	res, err := browser(user).Get(address)
	if err != nil {
		panic(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		panic(err)
	}
	return res.StatusCode, strings.TrimSpace(string(body))
}

// calling is a call of the agenda tool by ann, whose state is left readable.
func calling(t *testing.T, opts *wire.Options, visit func(third *provider, calendar *examples.Calendar, page string)) (*wire.Outcome, *wire.Client, *provider) {
	third := newProvider(func(string) {})
	t.Cleanup(third.Close)
	calendar, pages := newCalendar(third)
	t.Cleanup(pages.Close)
	server, rt := newAgenda(calendar, "ann", true)
	t.Cleanup(func() { require.NoError(t, rt.Close()) })
	client, err := wire.Connect(context.Background(), server, opts)
	require.NoError(t, err)
	t.Cleanup(func() { client.Close() })
	visits := 0
	went := func(q wire.Question) any {
		visits++
		visit(third, calendar, q.URL)
		return map[string]any{"action": "accept"}
	}
	out, err := client.Call(t.Context(), "agenda", examples.Day{}, wire.Answers{"*": went, "date": wire.Value("2026-12-01")})
	require.NoError(t, err)
	require.Equal(t, 1, visits)
	return out, client, third
}

// No code, verifier or token is in any message, nor in the state, which is left readable
// here. So it is for modern clients and for legacy ones.
func TestNoTokenReachesTheClientOrTheState(t *testing.T) {
	for name, opts := range map[string]*wire.Options{"modern": nil, "legacy": {Version: "2025-11-25"}} {
		t.Run(name, func(t *testing.T) {
			out, client, third := calling(t, opts, func(_ *provider, _ *examples.Calendar, page string) {
				status, text := open("ann", page)
				require.Equal(t, http.StatusOK, status)
				require.Equal(t, "You can close this page.", text)
			})
			require.False(t, out.IsError, out.Text)
			require.JSONEq(t, `{"events":["2026-12-01 10:00 Dentist"]}`, string(out.Structured))
			require.Len(t, third.secrets, 3, "a code, a verifier and a token")
			var all strings.Builder
			for _, m := range client.Messages() {
				all.Write(m.JSON)
			}
			for _, token := range out.States {
				all.WriteString(decoded(token))
			}
			require.Contains(t, all.String(), "May this server read your calendar?")
			if opts == nil {
				require.Contains(t, all.String(), "granted", "a state that went out after the token came")
			}
			for _, secret := range third.secrets {
				require.NotContains(t, all.String(), secret)
			}
		})
	}
}

// decoded is the text of a token whose payload is readable.
func decoded(token string) string {
	text, err := base64.RawURLEncoding.DecodeString(token[:len(token)-22])
	if err != nil {
		panic(err)
	}
	return string(text)
}

func TestAConsentIsItsUsersAlone(t *testing.T) {
	forbidden := func(user, address string) {
		t.Helper()
		status, page := open(user, address)
		require.Equal(t, http.StatusForbidden, status, page)
	}
	tests := []struct {
		explanation string
		visit       func(third *provider, calendar *examples.Calendar, page string)
	}{
		{"somebody else opens the link, or nobody known does", func(_ *provider, _ *examples.Calendar, page string) {
			forbidden("bob", page)
			forbidden("", page)
		}},
		{"a visit is made up", func(_ *provider, _ *examples.Calendar, page string) { forbidden("ann", page+"x") }},
		{"an answer comes that was not asked for, or with another state", func(_ *provider, c *examples.Calendar, page string) {
			visit := page[strings.LastIndexByte(page, '=')+1:]
			forbidden("ann", c.URL+"/callback?code=made-up&state="+visit+".")
			state := stateOf(t, page) // from here on there is one
			forbidden("ann", c.URL+"/callback?code=made-up&state="+visit+".made-up")
			forbidden("ann", c.URL+"/callback?code=made-up&state="+visit)
			forbidden("ann", c.URL+"/callback?code=made-up&state="+url.QueryEscape(state)+"x")
			forbidden("ann", c.URL+"/callback?code=made-up")
		}},
		{"somebody else brings the answer", func(third *provider, c *examples.Calendar, page string) {
			forbidden("bob", c.URL+"/callback?code=made-up&state="+url.QueryEscape(stateOf(t, page)))
		}},
	}
	for _, tt := range tests {
		t.Run(tt.explanation, func(t *testing.T) {
			out, _, third := calling(t, nil, func(third *provider, c *examples.Calendar, page string) {
				tt.visit(third, c, page)
				require.Empty(t, third.tokens)
				status, _ := open("ann", page) // the user's own visit is not spoiled by it
				require.Equal(t, http.StatusOK, status)
			})
			require.False(t, out.IsError, out.Text)
			require.Len(t, third.tokens, 1)
		})
	}
}

// stateOf is the state of the redirect that ann's browser gets at a page.
func stateOf(t *testing.T, page string) string {
	b := browser("ann")
	b.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, err := b.Get(page)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	to, err := res.Location()
	require.NoError(t, err)
	return to.Query().Get("state")
}

func TestAConsentThatIsNotGivenEndsTheCall(t *testing.T) {
	out, _, third := calling(t, nil, func(third *provider, _ *examples.Calendar, page string) {
		third.denies = true
		open("ann", page)
	})
	require.True(t, out.IsError)
	require.Equal(t, "the calendar was not connected: it was refused", out.Text)
	require.Empty(t, third.tokens)

	// A code of somebody else's consent does not fit the verifier.
	out, _, third = calling(t, nil, func(third *provider, c *examples.Calendar, page string) {
		third.codes["stolen"] = url.Values{"client_id": {"agenda"}, "redirect_uri": {c.URL + "/callback"}, "code_challenge": {strings.Repeat("x", 43)}}
		open("ann", c.URL+"/callback?code=stolen&state="+url.QueryEscape(stateOf(t, page)))
	})
	require.True(t, out.IsError)
	require.Equal(t, "the calendar was not connected: the calendar's server gave no access", out.Text)
	require.Empty(t, third.tokens)
}

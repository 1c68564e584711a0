package mrtr_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
)

// A page where the user pays. The accept of the question tells that the user agreed to go
// there; the page tells the handler when the user is done, and with what.
func ExampleVisits() {
	var visits mrtr.Visits[string]
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println("somebody is at the page")
		// A real page knows its user by a cookie, and asks the payment provider here.
		if !visits.Done(r.URL.Query().Get("visit"), "receipt 17") {
			http.Error(w, "This payment is not waited for.", http.StatusNotFound)
		}
	}))
	defer page.Close()
	server := newWeather(mrtr.Journal(func(ctx context.Context, c *mrtr.Call, in lookup) (forecast, error) {
		id := visits.Begin(ctx, c, "pay")
		if _, err := mrtr.Ask(ctx, c, mrtr.ElicitURL("pay", "Forecasts cost a euro.", page.URL+"/pay?visit="+id)); err != nil {
			return forecast{}, err
		}
		receipt, err := mrtr.Once(ctx, c, "paid", func(ctx context.Context, _ string) (string, error) {
			ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
			defer cancel()
			return visits.Wait(ctx, id)
		})
		return forecast{"Sun, for " + receipt}, err
	}))
	session := connectVisitor(server)
	defer session.Close()
	result, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "weather", Arguments: lookup{"Lisbon"}})
	if err != nil {
		log.Fatal(err)
	}
	structured, _ := json.Marshal(result.StructuredContent)
	fmt.Println("result:", string(structured))
	again, err := http.Get(page.URL + "/pay?visit=made-up")
	if err != nil {
		log.Fatal(err)
	}
	again.Body.Close()
	fmt.Println("another visit:", again.Status)
	// Output:
	// asked: Forecasts cost a euro.
	// somebody is at the page
	// result: {"summary":"Sun, for receipt 17"}
	// somebody is at the page
	// another visit: 404 Not Found
}

// connectVisitor connects a client whose user agrees at once, and is done later.
func connectVisitor(server *mcp.Server) *mcp.ClientSession {
	serverSide, clientSide := mcp.NewInMemoryTransports()
	if _, err := server.Connect(context.Background(), serverSide, nil); err != nil {
		log.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{URL: &mcp.URLElicitationCapabilities{}}},
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			fmt.Println("asked:", req.Params.Message)
			time.AfterFunc(20*time.Millisecond, func() {
				res, err := http.Get(req.Params.URL)
				if err != nil {
					log.Fatal(err)
				}
				res.Body.Close()
			})
			return &mcp.ElicitResult{Action: "accept"}, nil
		},
	})
	session, err := client.Connect(context.Background(), clientSide, nil)
	if err != nil {
		log.Fatal(err)
	}
	return session
}

// The id is the same in every round, other calls and other keys have others, and
// a legacy client is sent it.
func TestAnElicitationIDNamesAVisitInAllRounds(t *testing.T) {
	for name, opts := range map[string]*wire.Options{"modern": nil, "legacy": legacyClient} {
		t.Run(name, func(t *testing.T) {
			rt, _ := newRuntime(t, nil)
			var ids []string
			client := connect(t, serveTool(rt, func(_ context.Context, c *mrtr.Call, _ input) (*mrtr.IncompleteResult, output, error) {
				id := c.ElicitationID("visit")
				require.NotEqual(t, id, c.ElicitationID("other"))
				ids = append(ids, id)
				q := mrtr.ElicitURL("visit", "Go there.", "https://example.com/?visit="+id)
				if _, ok := mrtr.Answer(c, q); !ok {
					return mrtr.Need(q), output{}, nil
				}
				return nil, output{"done"}, nil
			}, nil), opts)
			said(t, call(t, client, wire.Answers{"visit": wire.Accept(nil), "elicitation/create": wire.Accept(nil)}), "done")
			said(t, call(t, client, wire.Answers{"visit": wire.Accept(nil), "elicitation/create": wire.Accept(nil)}), "done")
			require.Len(t, ids, 4)
			require.Equal(t, ids[0], ids[1])
			require.Equal(t, ids[2], ids[3])
			require.NotEqual(t, ids[0], ids[2])
			sent := ""
			for _, m := range client.Messages() {
				sent += string(m.JSON)
			}
			if name == "legacy" {
				require.Contains(t, sent, `"elicitationId":"`+ids[0]+`"`)
			} else {
				require.NotContains(t, sent, "elicitationId")
			}
		})
	}
}

// inCall runs a function in the handler of a call.
func inCall(t *testing.T, f func(ctx context.Context, c *mrtr.Call)) {
	t.Helper()
	rt, _ := newRuntime(t, nil)
	h := mrtr.Tool(rt, mrtr.Native(func(ctx context.Context, c *mrtr.Call, _ input) (*mrtr.IncompleteResult, output, error) {
		f(ctx, c)
		return nil, output{}, nil
	}), nil)
	_, _, err := h(t.Context(), &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "tool"}}, input{})
	require.NoError(t, err)
}

func TestVisits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		visits := &mrtr.Visits[string]{MaxAge: time.Minute, Max: 2}
		begin := func(key string) (id string) {
			inCall(t, func(ctx context.Context, c *mrtr.Call) {
				id = visits.Begin(ctx, c, key)
				require.Equal(t, id, visits.Begin(ctx, c, key))
			})
			return id
		}
		wait := func(id string) (string, error) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			return visits.Wait(ctx, id)
		}
		first := begin("a")
		_, err := wait(first)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		time.AfterFunc(time.Second/2, func() { require.True(t, visits.Done(first, "one")) })
		value, err := wait(first)
		require.NoError(t, err)
		require.Equal(t, "one", value)
		require.False(t, visits.Done(first, "two"), "a visit ends once")
		value, err = wait(first)
		require.NoError(t, err, "a replay waits again")
		require.Equal(t, "one", value)

		require.False(t, visits.Done("made up", "x"), "nobody waits for it")
		_, err = wait("made up")
		require.ErrorIs(t, err, mrtr.ErrNoVisit)

		second := begin("b")
		third := begin("c")
		_, err = wait(first)
		require.ErrorIs(t, err, mrtr.ErrNoVisit, "the oldest made room")
		require.True(t, visits.Done(second, "in time"))
		time.Sleep(time.Minute)
		_, err = wait(second)
		require.ErrorIs(t, err, mrtr.ErrNoVisit, "it is too old, and done")
		require.False(t, visits.Done(third, "late"), "it is too old")
	})
}

// A handler that is entered again begins its visits again, which may be done by then.
func TestAVisitThatBeginsAgainKeepsItsValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var visits mrtr.Visits[string]
		inCall(t, func(ctx context.Context, c *mrtr.Call) {
			id := visits.Begin(ctx, c, "visit")
			require.True(t, visits.Done(id, "done"))
			require.Equal(t, id, visits.Begin(ctx, c, "visit"))
			ended, end := context.WithCancel(t.Context())
			end()
			for range 50 { // it came first, whatever select takes
				value, err := visits.Wait(ended, id)
				require.NoError(t, err)
				require.Equal(t, "done", value)
			}
		})
	})
}

// The zero value knows 10,000 visits for an hour.
func TestVisitsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var visits mrtr.Visits[string]
		inCall(t, func(ctx context.Context, c *mrtr.Call) {
			for i := range 10_000 {
				visits.Begin(ctx, c, fmt.Sprint(i))
			}
			time.Sleep(time.Hour - 1)
			done := func(key string) bool { return visits.Done(c.ElicitationID(key), "done") }
			require.True(t, done("1"))
			visits.Begin(ctx, c, "one more")
			require.False(t, done("0"), "it has made room")
			visits.Begin(ctx, c, "another")
			require.False(t, done("1"), "it has made room, and was done")
			require.True(t, done("2"))
			time.Sleep(time.Nanosecond)
			require.False(t, done("3"), "it is too old")
			require.True(t, done("one more"))
		})
	})
}

// Its user begins again, so the error is no fault.
func TestAVisitThatIsNotKnownIsExpected(t *testing.T) {
	var e interface {
		ToolErrorType() string
		ToolErrorExpected() bool
	}
	require.ErrorAs(t, mrtr.ErrNoVisit, &e)
	require.Equal(t, "no_visit", e.ToolErrorType())
	require.True(t, e.ToolErrorExpected())
}

package mrtr_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/transport/mcphttp"
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
			client := connect(t, serveTool(rt, guardedOf(func(s *stage, _ input) (output, error) {
				c := s.Call
				id := c.ElicitationID("visit")
				require.NotEqual(t, id, c.ElicitationID("other"))
				ids = append(ids, id)
				q := mrtr.ElicitURL("visit", "Go there.", "https://example.com/?visit="+id)
				ask(s, q)
				return output{"done"}, nil
			}), nil), opts)
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
	inCallOf(t, "", f)
}

// inCallOf does so in a call of this principal.
func inCallOf(t *testing.T, principal string, f func(ctx context.Context, c *mrtr.Call)) {
	t.Helper()
	rt, _ := newRuntime(t, &mrtr.Options{Principal: func(context.Context, mcp.Request) (string, error) { return principal, nil }})
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

// The zero value knows 10,000 visits for an hour, and 7,500 of one principal.
func TestVisitsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var visits mrtr.Visits[string]
		inCall(t, func(ctx context.Context, c *mrtr.Call) {
			for i := range 7_500 {
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

// A caller that begins 10,000 visits forgets its own, whether it is known or not.
func TestACallerForgetsNobodyElsesVisit(t *testing.T) {
	for _, flood := range []string{"mallory", ""} {
		t.Run("flood of "+flood, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				visits := &mrtr.Visits[string]{}
				var ids []string // of the others
				begin := func(who string, n int) (all []string) {
					inCallOf(t, who, func(ctx context.Context, c *mrtr.Call) {
						require.Equal(t, who, c.Principal())
						for i := range n {
							all = append(all, visits.Begin(ctx, c, fmt.Sprint(i)))
						}
					})
					return all
				}
				for i := range 500 {
					ids = append(ids, begin(fmt.Sprint("user ", i), 4)...)
				}
				if flood != "" {
					ids = append(ids, begin("", 500)...)
				}
				flooded := begin(flood, 10_000)
				// All places are taken now, and another one comes.
				ids = append(ids, begin("late", 600)...)
				for _, id := range ids {
					require.True(t, visits.Done(id, "done"))
				}
				known := 0
				for i, id := range flooded {
					if visits.Done(id, "done") {
						known++
						require.GreaterOrEqual(t, i, 2_500, "its oldest made room")
					}
				}
				require.Equal(t, min(7_500, 10_000-len(ids)), known, "nothing was dropped without need")
			})
		})
	}
}

// Whoever has the most makes room if all places are taken.
func TestTheLargestHolderOfVisitsMakesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		visits := &mrtr.Visits[string]{Max: 8}
		ids := map[string]string{}
		begin := func(who string, keys ...string) {
			inCallOf(t, who, func(ctx context.Context, c *mrtr.Call) {
				for _, key := range keys {
					ids[key] = visits.Begin(ctx, c, key)
				}
			})
		}
		begin("a", "a1", "a2", "a3", "a4", "a5")
		begin("b", "b1", "b2", "b3")
		begin("c", "c1", "c2", "c3", "c4") // a1, a2, a3 and one of the largest, which are then all alike
		known := ""
		for _, key := range []string{"a1", "a2", "b3", "c4"} {
			if visits.Done(ids[key], "done") {
				known += key
			}
		}
		require.Equal(t, "b3c4", known)
	})
}

// An end of the wait leaves nothing in doubt: the next round waits again, in every style.
func TestAVisitIsWaitedForAgain(t *testing.T) {
	eachOnce(t, func(t *testing.T, style func(onceBody) tripStyle) {
		visits := &mrtr.Visits[string]{}
		var id string
		tool := serveTrip(t, style(func(ctx context.Context, c *mrtr.Call) (string, error) {
			id = visits.Begin(ctx, c, "pay")
			receipt, err := mrtr.Once(ctx, c, "paid", func(ctx context.Context, _ string) (string, error) {
				ctx, cancel := context.WithTimeout(ctx, time.Millisecond)
				defer cancel()
				return visits.Wait(ctx, id)
			})
			if errors.Is(err, context.DeadlineExceeded) {
				return "", nil
			}
			return receipt, err
		}))
		asked := tool.begin()
		require.NoError(t, asked.err)
		asked = tool.answer(asked, "x")
		require.NoError(t, asked.err)
		require.True(t, visits.Done(id, "receipt"))
		last := tool.answer(asked, "x")
		require.NoError(t, last.err)
		require.Empty(t, effectOf(last.err))
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

const visited = "notifications/elicitation/complete"

// sendingAway is a server whose tool sends its user to a page and, unless late, waits there.
func sendingAway(t *testing.T, style func(mrtr.LinearFunc[input, output]) mrtr.Style[input, output], visits *mrtr.Visits[string], late bool, ids chan<- string) *mcp.Server {
	rt, _ := newRuntime(t, nil)
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "tool"}, mrtr.Tool(rt, style(linearOf(func(s *stage, _ input) (output, error) {
		ctx, c := s.ctx, s.Call
		id := visits.Begin(ctx, c, "pay")
		ask(s, mrtr.ElicitURL("pay", "Please pay.", "https://shop.example/?visit="+id))
		ids <- id
		if late {
			return output{"later"}, nil
		}
		paid, err := mrtr.Once(ctx, c, "paid", func(ctx context.Context, _ string) (string, error) { return visits.Wait(ctx, id) })
		return output{paid}, err
	})), nil))
	return server
}

// A legacy client of go-sdk's is told that its user is done, and nobody else is: in memory
// and over HTTP, while the call waits and after it has ended.
func TestALegacyClientIsToldThatItsVisitIsDone(t *testing.T) {
	styles := map[string]func(mrtr.LinearFunc[input, output]) mrtr.Style[input, output]{
		"journal": mrtr.Journal[input, output], "coroutine": mrtr.Coroutine[input, output],
	}
	for name, style := range styles {
		for _, late := range []bool{false, true} {
			for _, overHTTP := range []bool{false, true} {
				t.Run(strings.Join([]string{name, map[bool]string{true: "late", false: "waiting"}[late], map[bool]string{true: "HTTP", false: "memory"}[overHTTP]}, " "), func(t *testing.T) {
					visits, ids := &mrtr.Visits[string]{}, make(chan string, 1)
					server := sendingAway(t, style, visits, late, ids)
					var transport mcp.Transport
					if overHTTP {
						front, err := mcphttp.NewHandler(func(*http.Request) *mcp.Server { return server }, nil)
						require.NoError(t, err)
						web := httptest.NewServer(front)
						defer web.Close()
						defer front.Shutdown(context.Background())
						transport = &mcp.StreamableClientTransport{Endpoint: web.URL}
					} else {
						serverSide, clientSide := mcp.NewInMemoryTransports()
						_, err := server.Connect(t.Context(), serverSide, nil)
						require.NoError(t, err)
						transport = clientSide
					}
					told, others := make(chan string, 10), make(chan string, 10)
					session := connectAgreeing(t, transport, told)
					defer session.Close()
					if overHTTP {
						transport = &mcp.StreamableClientTransport{Endpoint: transport.(*mcp.StreamableClientTransport).Endpoint}
						defer connectAgreeing(t, transport, others).Close()
					}
					done := make(chan *mcp.CallToolResult, 1)
					go func() {
						result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "tool"})
						if err != nil {
							t.Error(err)
						}
						done <- result
					}()
					id := <-ids
					want := `{"said":"receipt"}`
					if late {
						want = `{"said":"later"}`
						require.Equal(t, want, textOf(<-done))
					}
					require.True(t, visits.Done(id, "receipt"))
					require.False(t, visits.Done(id, "again"), "it is told once")
					select {
					case got := <-told:
						require.Equal(t, id, got)
					case <-time.After(30 * time.Second):
						t.Fatal("nobody told the client")
					}
					if !late {
						require.Equal(t, want, textOf(<-done))
					}
					require.NoError(t, session.Ping(t.Context(), nil)) // whatever was sent before has come
					require.Empty(t, told)
					require.Empty(t, others)
				})
			}
		}
	}
}

// connectAgreeing connects a legacy client whose user agrees to every visit. It passes on
// which visits are done.
func connectAgreeing(t *testing.T, transport mcp.Transport, told chan<- string) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{URL: &mcp.URLElicitationCapabilities{}}},
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept"}, nil
		},
		ElicitationCompleteHandler: func(_ context.Context, req *mcp.ElicitationCompleteNotificationRequest) {
			if told != nil {
				told <- req.Params.ElicitationID
			}
		},
	})
	session, err := client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: wire.Legacy})
	require.NoError(t, err)
	return session
}

func textOf(result *mcp.CallToolResult) string {
	if result == nil || len(result.Content) == 0 {
		return ""
	}
	return result.Content[0].(*mcp.TextContent).Text
}

// The client is told before it has the result, so that it knows then which page to close.
// Revision 2026-07-28 has no such message.
func TestAVisitIsDoneBeforeItsCall(t *testing.T) {
	for name, opts := range map[string]*wire.Options{"legacy": legacyClient, "modern": nil} {
		t.Run(name, func(t *testing.T) {
			visits, ids := &mrtr.Visits[string]{}, make(chan string, 1)
			client := connect(t, sendingAway(t, mrtr.Journal[input, output], visits, false, ids), opts)
			go func() { visits.Done(<-ids, "receipt") }()
			said(t, call(t, client, wire.Answers{"pay": wire.Accept(nil), "elicitation/create": wire.Accept(nil)}), "receipt")
			told, result := -1, -1
			for i, m := range client.Messages() {
				switch {
				case strings.Contains(string(m.JSON), visited):
					told = i
				case strings.Contains(string(m.JSON), `receipt`):
					result = i
				}
			}
			require.Positive(t, result)
			if name == "modern" {
				require.Equal(t, -1, told)
				return
			}
			require.Positive(t, told)
			require.Less(t, told, result)
		})
	}
}

// deafTo is a transport whose peer stops reading at messages of a method.
type deafTo struct {
	mcp.Transport
	method string
	until  chan struct{}
}

type deafConn struct {
	mcp.Connection
	deafTo
}

func (d deafTo) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := d.Transport.Connect(ctx)
	return deafConn{conn, d}, err
}

func (c deafConn) Write(ctx context.Context, message jsonrpc.Message) error {
	if text, err := jsonrpc.EncodeMessage(message); err == nil && strings.Contains(string(text), c.method) {
		<-c.until
	}
	return c.Connection.Write(ctx, message)
}

// Done is called by a page, which must not wait for the client of somebody's call, and
// the call goes on too.
func TestAClientThatDoesNotReadHoldsUpNoPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		visits, ids := &mrtr.Visits[string]{}, make(chan string, 1)
		server := sendingAway(t, mrtr.Journal[input, output], visits, false, ids)
		serverSide, clientSide := mcp.NewInMemoryTransports()
		until := make(chan struct{})
		_, err := server.Connect(t.Context(), deafTo{serverSide, visited, until}, nil)
		require.NoError(t, err)
		session := connectAgreeing(t, clientSide, nil)
		defer session.Close()
		done := make(chan *mcp.CallToolResult, 1)
		go func() {
			result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "tool"})
			if err != nil {
				t.Error(err)
			}
			done <- result
		}()
		id := <-ids
		returned := make(chan bool, 1)
		go func() { returned <- visits.Done(id, "receipt") }()
		select {
		case ended := <-returned:
			require.True(t, ended)
		case <-time.After(time.Minute):
			t.Error("the page waits for a client that does not read")
		}
		waited, end := context.WithTimeout(t.Context(), time.Minute)
		defer end()
		value, err := visits.Wait(waited, id)
		close(until)
		require.NoError(t, err)
		require.Equal(t, "receipt", value)
		require.Equal(t, `{"said":"receipt"}`, textOf(<-done))
	})
}

// A round may begin a visit again while its page ends it.
func TestAVisitBeginsAgainWhileItEnds(t *testing.T) {
	visits := &mrtr.Visits[string]{}
	inCall(t, func(ctx context.Context, c *mrtr.Call) {
		for i := range 100 {
			key := fmt.Sprint(i)
			id := visits.Begin(ctx, c, key)
			var both sync.WaitGroup
			both.Go(func() { visits.Begin(ctx, c, key) })
			both.Go(func() { visits.Done(id, key) })
			both.Wait()
			value, err := visits.Wait(ctx, id)
			require.NoError(t, err)
			require.Equal(t, key, value)
		}
	})
}

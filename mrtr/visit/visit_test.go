package visit_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/internal/digest"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/visit"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/transport/mcphttp"
)

func TestMain(m *testing.M) { kit.Main(m) }

// inCall runs a function in the handler of a call.
func inCall(t *testing.T, f func(ctx context.Context, c *mrtr.Call)) {
	t.Helper()
	inCallOf(t, "", f)
}

// inCallOf does so in a call of this principal.
func inCallOf(t *testing.T, principal string, f func(ctx context.Context, c *mrtr.Call)) {
	t.Helper()
	rt, _ := kit.NewRuntime(t, &mrtr.Options{Principal: func(context.Context, mcp.Request) (string, error) { return principal, nil }})
	h := mrtr.Tool(rt, mrtr.Native(func(ctx context.Context, c *mrtr.Call, _ kit.Input) (*mrtr.IncompleteResult, kit.Output, error) {
		f(ctx, c)
		return nil, kit.Output{}, nil
	}), nil)
	_, _, err := h(t.Context(), &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "tool"}}, kit.Input{})
	require.NoError(t, err)
}

// eachKindOfVisits plays with visits in memory, in a store of the process, and in a shared one.
func eachKindOfVisits(t *testing.T, play func(t *testing.T, visits *visit.Visits[string])) {
	keys := []statecodec.Key{statecodec.GenerateKey()}
	kinds := map[string]*mrtr.Options{
		"no runtime": nil, "no store": {}, "memory": {Durable: durable.In(store.NewMemory(nil), nil)},
		"shared": {Durable: durable.In(kit.Shared{Memory: store.NewMemory(nil)}, nil), State: &statecodec.Options{Keys: keys}},
	}
	for name, opts := range kinds {
		kit.InBubble(t, name, func(t *testing.T) {
			visits := &visit.Visits[string]{}
			if opts != nil {
				visits.Runtime, _ = kit.NewRuntime(t, opts)
			}
			play(t, visits)
		})
	}
}

func TestVisits(t *testing.T) {
	eachKindOfVisits(t, func(t *testing.T, visits *visit.Visits[string]) {
		visits.MaxAge = time.Minute
		inCallOf(t, "ann", func(ctx context.Context, c *mrtr.Call) {
			begin := func(key string) string {
				id, err := visits.Begin(ctx, c, key)
				require.NoError(t, err)
				again, err := visits.Begin(ctx, c, key)
				require.NoError(t, err)
				require.Equal(t, id, again)
				return id
			}
			wait := func(key string) (string, error) {
				ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
				defer cancel()
				return visits.Wait(ctx, c, key)
			}
			first := begin("a")
			_, err := wait("a")
			require.ErrorIs(t, err, context.DeadlineExceeded)
			time.AfterFunc(time.Second/2, func() { noError(t, visits.Done(ctx, first, "ann", "one")) })
			value, err := wait("a")
			require.NoError(t, err)
			require.Equal(t, "one", value)
			require.ErrorIs(t, visits.Done(ctx, first, "ann", "two"), visit.ErrVisitDone)
			value, err = wait("a")
			require.NoError(t, err, "a replay waits again")
			require.Equal(t, "one", value)

			second := begin("b")
			for _, user := range []string{"bob", ""} {
				require.ErrorIs(t, visits.Done(ctx, second, user, "x"), visit.ErrNoVisit)
				require.ErrorIs(t, visits.Done(ctx, first, user, "x"), visit.ErrNoVisit, "another user learns nothing")
			}
			for _, id := range []string{"", "made-up", "not a key \n", strings.Repeat("x", 1<<16)} {
				require.ErrorIs(t, visits.Done(ctx, id, "ann", "x"), visit.ErrNoVisit, "nobody waits for it")
			}
			_, err = wait("never begun")
			require.ErrorIs(t, err, visit.ErrNoVisit)
			inCallOf(t, "ann", func(ctx context.Context, other *mrtr.Call) {
				_, err := visits.Wait(ctx, other, "a")
				require.ErrorIs(t, err, visit.ErrNoVisit, "it is another call's")
			})

			third := begin("c")
			time.Sleep(time.Minute - 1)
			require.NoError(t, visits.Done(ctx, third, "ann", "in time"))
			time.Sleep(time.Minute - 10*time.Second)
			value, err = wait("c")
			require.NoError(t, err, "it is known for as long again")
			require.Equal(t, "in time", value)
			time.Sleep(10 * time.Second)
			for _, key := range []string{"b", "c"} { // which began, and was done, too long ago
				_, err = wait(key)
				require.ErrorIs(t, err, visit.ErrNoVisit)
			}
			require.ErrorIs(t, visits.Done(ctx, second, "ann", "late"), visit.ErrNoVisit)
		})
	})
}

// The visits of a call may differ in how long they are known: none shortens another's time, or
// lengthens its own.
func TestAVisitHasAnAgeOfItsOwn(t *testing.T) {
	eachKindOfVisits(t, func(t *testing.T, days *visit.Visits[string]) {
		minutes := &visit.Visits[string]{Runtime: days.Runtime, MaxAge: 10 * time.Minute}
		days.MaxAge = 24 * time.Hour
		inCall(t, func(ctx context.Context, c *mrtr.Call) {
			pay, err := days.Begin(ctx, c, "pay")
			require.NoError(t, err)
			sign, err := minutes.Begin(ctx, c, "sign")
			require.NoError(t, err)
			waiting, cancel := context.WithTimeout(ctx, time.Hour)
			defer cancel()
			_, err = minutes.Wait(waiting, c, "sign")
			require.ErrorIs(t, err, visit.ErrNoVisit)
			require.ErrorIs(t, minutes.Done(ctx, sign, "", "late"), visit.ErrNoVisit)
			time.Sleep(23 * time.Hour)
			require.NoError(t, days.Done(ctx, pay, "", "in time"))
			require.ErrorIs(t, minutes.Done(ctx, sign, "", "late"), visit.ErrNoVisit)
		})
	})
}

// A caller that begins visit after visit is refused, whether it is known or not, and nobody
// else is.
func TestACallerBeginsSoManyVisits(t *testing.T) {
	for _, flood := range []string{"mallory", ""} {
		eachKindOfVisits(t, func(t *testing.T, visits *visit.Visits[string]) {
			begin := func(who string, n int) {
				inCallOf(t, who, func(ctx context.Context, c *mrtr.Call) {
					for i := range n {
						_, err := visits.Begin(ctx, c, fmt.Sprint(i))
						require.NoError(t, err)
					}
				})
			}
			visits.Max = 500
			for range 4 {
				begin(flood, 100)
			}
			inCallOf(t, flood, func(ctx context.Context, c *mrtr.Call) {
				for i := range 200 {
					_, err := visits.Begin(ctx, c, fmt.Sprint(i))
					if i < 100 {
						require.NoError(t, err)
					} else {
						require.ErrorIs(t, err, visit.ErrManyVisits)
					}
				}
				id, err := visits.Begin(ctx, c, "17")
				require.NoError(t, err, "it has begun")
				require.NoError(t, visits.Done(ctx, id, flood, "done"))
			})
			begin("ann", 100)
			time.Sleep(time.Hour)
			begin(flood, 100)
		})
	}
}

// unsteady is a store whose operations fail. Writes may happen all the same.
type unsteady struct {
	kit.Shared
	happens bool
	fail    func() error
}

func (u unsteady) write(write func() (store.Revision, error)) (store.Revision, error) {
	err := u.fail()
	if err == nil {
		return write()
	}
	if u.happens {
		_, _ = write()
	}
	return 0, err
}

func (u unsteady) Get(ctx context.Context, key store.Key) ([]byte, store.Revision, error) {
	if err := u.fail(); err != nil {
		return nil, 0, err
	}
	return u.Memory.Get(ctx, key)
}

func (u unsteady) Create(ctx context.Context, key store.Key, value []byte, ttl time.Duration) (store.Revision, error) {
	return u.write(func() (store.Revision, error) { return u.Memory.Create(ctx, key, value, ttl) })
}

func (u unsteady) Update(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration) (store.Revision, error) {
	return u.write(func() (store.Revision, error) { return u.Memory.Update(ctx, key, at, value, ttl) })
}

// A store that does what it is asked, and says of most operations that they failed: a visit
// begins, is done once and waited for. Of one that always fails a client learns nothing else.
func TestVisitsOfAnUnsteadyStore(t *testing.T) {
	const line = "the line to 10.0.0.7 was cut"
	for _, every := range []int{2, 3, 1 << 40} {
		kit.InBubble(t, fmt.Sprint(every), func(t *testing.T) {
			random := rand.New(rand.NewPCG(uint64(every), 1))
			s := unsteady{kit.Shared{Memory: store.NewMemory(nil)}, every <= 3, func() error {
				if random.IntN(every) == 0 {
					return nil
				}
				return errors.New(line)
			}}
			rt, _ := kit.NewRuntime(t, &mrtr.Options{Durable: durable.In(s, nil), State: &statecodec.Options{Keys: []statecodec.Key{statecodec.GenerateKey()}}})
			visits := &visit.Visits[string]{Runtime: rt}
			inCall(t, func(ctx context.Context, c *mrtr.Call) {
				began := time.Now()
				id, err := visits.Begin(ctx, c, "pay")
				ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
				defer cancel()
				if every > 3 {
					require.Error(t, err)
					require.NotContains(t, err.Error(), "10.0.0.7")
					require.LessOrEqual(t, time.Since(began), 3*time.Second)
					_, err = visits.Wait(ctx, c, "pay")
					require.ErrorIs(t, err, context.DeadlineExceeded)
					require.NotContains(t, err.Error(), "10.0.0.7")
					return
				}
				require.NoError(t, err)
				require.NoError(t, visits.Done(ctx, id, "", "receipt"))
				value, err := visits.Wait(ctx, c, "pay")
				require.NoError(t, err)
				require.Equal(t, "receipt", value)
			})
		})
	}
}

// A payment that is done at another instance, after the one that asked has ended, completes
// the call at a third.
func TestAVisitIsDoneAtAnotherInstance(t *testing.T) {
	for _, name := range []string{"native", "journal", "resumable"} {
		t.Run(name, func(t *testing.T) {
			shop := kit.Shared{Memory: store.NewMemory(nil)}
			ids := make(chan string, 10)
			instance := func() (*kit.Trip, *visit.Visits[string]) {
				visits := &visit.Visits[string]{Runtime: kit.TripRuntime(t, &mrtr.Options{Durable: durable.In(shop, nil)})}
				return kit.NewTrip(visits.Runtime, kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
					id, err := visits.Begin(s.Ctx, s.Call, "pay")
					if err != nil {
						return kit.Out{}, err
					}
					ids <- id
					kit.Ask(s, kit.Text("agreed"))
					return kit.Out{Plan: kit.Once(s, "paid", func(ctx context.Context, _ string) (string, error) {
						ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
						defer cancel()
						return visits.Wait(ctx, s.Call, "pay")
					})}, nil
				})[name], ""), visits
			}
			first, _ := instance()
			asked := first.Begin()
			require.NoError(t, asked.Err)
			asked = first.Ends(t, asked)
			id := <-ids

			_, page := instance()
			require.ErrorIs(t, page.Done(t.Context(), id, "somebody else", "nothing"), visit.ErrNoVisit)
			require.NoError(t, page.Done(t.Context(), id, "", "receipt"))
			_, other := instance()
			require.ErrorIs(t, other.Done(t.Context(), id, "", "another"), visit.ErrVisitDone)

			third, _ := instance()
			last := third.Answer(asked, "yes")
			require.Equal(t, kit.Reply{Plan: "receipt"}, last)
			require.Equal(t, id, <-ids)

			epoch, err := shop.Epoch(t.Context())
			require.NoError(t, err)
			name, ok := digest.VisitsOf("", "", id)
			require.True(t, ok)
			record, _, err := shop.Get(t.Context(), store.Key{Epoch: epoch, Name: name})
			require.NoError(t, err)
			require.NotContains(t, string(record), "receipt", "the record is sealed")
		})
	}
}

const visited = "notifications/elicitation/complete"

// sendingAway is a server whose tool sends its user to a page and, unless late, waits there.
func sendingAway(t *testing.T, style func(linear.Func[kit.Input, kit.Output]) mrtr.Style[kit.Input, kit.Output], visits *visit.Visits[string], late bool, ids chan<- string) *mcp.Server {
	rt, _ := kit.NewRuntime(t, nil)
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "tool"}, mrtr.Tool(rt, style(kit.Linear(func(s *kit.Stage, _ kit.Input) (kit.Output, error) {
		ctx, c := s.Ctx, s.Call
		id, err := visits.Begin(ctx, c, "pay")
		if err != nil {
			return kit.Output{}, err
		}
		kit.Ask(s, mrtr.ElicitURL("pay", "Please pay.", "https://shop.example/?visit="+id))
		ids <- id
		if late {
			return kit.Output{Said: "later"}, nil
		}
		paid, err := mrtr.Once(ctx, c, "paid", func(ctx context.Context, _ string) (string, error) { return visits.Wait(ctx, c, "pay") })
		return kit.Output{Said: paid}, err
	})), nil))
	return server
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
	for name, opts := range map[string]*wire.Options{"legacy": kit.Legacy, "modern": nil} {
		t.Run(name, func(t *testing.T) {
			visits, ids := &visit.Visits[string]{}, make(chan string, 1)
			client := kit.Connect(t, sendingAway(t, linear.Journal[kit.Input, kit.Output], visits, false, ids), opts)
			go func() { noError(t, visits.Done(context.Background(), <-ids, "", "receipt")) }()
			kit.Said(t, kit.Call(t, client, wire.Answers{"pay": wire.Accept(nil), "elicitation/create": wire.Accept(nil)}), "receipt")
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
		visits, ids := &visit.Visits[string]{}, make(chan string, 1)
		server := sendingAway(t, linear.Journal[kit.Input, kit.Output], visits, false, ids)
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
		returned := make(chan error, 1)
		go func() { returned <- visits.Done(context.Background(), id, "", "receipt") }()
		select {
		case err := <-returned:
			require.NoError(t, err)
		case <-time.After(time.Minute):
			t.Error("the page waits for a client that does not read")
		}
		close(until)
		require.Equal(t, `{"said":"receipt"}`, textOf(<-done))
	})
}

// A legacy client of go-sdk's is told that its user is done, and nobody else is: in memory
// and over HTTP, while the call waits and after it has ended.
func TestALegacyClientIsToldThatItsVisitIsDone(t *testing.T) {
	styles := map[string]func(linear.Func[kit.Input, kit.Output]) mrtr.Style[kit.Input, kit.Output]{
		"journal": linear.Journal[kit.Input, kit.Output], "coroutine": linear.Coroutine[kit.Input, kit.Output],
	}
	for name, style := range styles {
		for _, late := range []bool{false, true} {
			for _, overHTTP := range []bool{false, true} {
				t.Run(strings.Join([]string{name, map[bool]string{true: "late", false: "waiting"}[late], map[bool]string{true: "HTTP", false: "memory"}[overHTTP]}, " "), func(t *testing.T) {
					visits, ids := &visit.Visits[string]{}, make(chan string, 1)
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
					require.NoError(t, visits.Done(t.Context(), id, "", "receipt"))
					require.ErrorIs(t, visits.Done(t.Context(), id, "", "again"), visit.ErrVisitDone, "it is told once")
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

// noError is for goroutines, which cannot end their test.
func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

package mcphttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/transport/mcphttp"
)

// losing is a router in front of two instances: the first is lost with each request that
// it gets, and the second answers. sent are the requests that each has got, with their
// authorization.
type losing struct {
	front *httptest.Server
	next  *http.Transport

	mu     sync.Mutex
	sent   [2][]string             // guarded by mu
	giveUp context.CancelCauseFunc // guarded by mu: ends the request that was sent last
}

// RoundTrip can be told to give up, as [http.Transport] does by itself after its time.
func (l *losing) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, giveUp := context.WithCancelCause(r.Context())
	l.mu.Lock()
	l.giveUp = giveUp
	l.mu.Unlock()
	res, err := l.next.RoundTrip(r.WithContext(ctx))
	if err != nil && context.Cause(ctx) == os.ErrDeadlineExceeded {
		return nil, os.ErrDeadlineExceeded
	}
	return res, err
}

// newLosing starts a router in front of an instance that is lost in this way, and a good
// one.
func newLosing(t *testing.T, how string, shared bool) *losing {
	l := &losing{next: &http.Transport{}}
	t.Cleanup(l.next.CloseIdleConnections)
	lose := map[string]http.HandlerFunc{
		"refuses connections": nil,
		"dies before headers": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"says nothing": func(_ http.ResponseWriter, r *http.Request) {
			l.mu.Lock()
			l.giveUp(os.ErrDeadlineExceeded)
			l.mu.Unlock()
			<-r.Context().Done()
		},
		"dies after headers": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "event: mess")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		},
	}
	addresses := map[string]string{}
	for i, answer := range []http.HandlerFunc{lose[how], func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "served by b") }} {
		if answer == nil {
			addresses["a"] = nobody
			continue
		}
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			l.mu.Lock()
			l.sent[i] = append(l.sent[i], r.Header.Get("Authorization")+" "+string(body))
			l.mu.Unlock()
			answer(w, r)
		}))
		t.Cleanup(web.Close)
		addresses[string("ab"[i])] = web.URL
	}
	router := routerTo(t, addresses, &mcphttp.RouterOptions{
		Ready:       func(instance string) bool { return instance == "a" },
		Transport:   l,
		SharedStore: shared,
	})
	l.front = httptest.NewServer(router)
	t.Cleanup(l.front.Close)
	return l
}

// post is the status and the body of an answer, and how reading it ended.
func (l *losing) post(t *testing.T, body, session string) (status int, answer string, _ error) {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, l.front.URL, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer alice")
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return res.StatusCode, string(text), err
}

const (
	lostInDoubt = `"error":{"code":-31001,"message":"The instance that served this request was lost, and nobody knows how far it came.","data":{"reason":"instance_lost","retryable":true}}}`
	lostInRound = `"error":{"code":-31001,"message":"The instance that ran this round was lost. Send the same request again for its result.","data":{"reason":"instance_lost","retryable":true}}}`
	unreachable = `"error":{"code":-31001,"message":"This request was not begun: no instance could be reached. Send the same request again.","data":{"reason":"unreachable","retryable":true}}}`
)

// However an instance is lost, a call is answered under its own id, or by another
// instance that has the same bytes from the same caller and cannot run anything twice.
func TestRouterLosesAnInstance(t *testing.T) {
	requests := map[string]struct {
		body, session string
		repeatable    bool // with a shared store
		ids           bool // it holds calls
	}{
		"first round":     {`{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"x"}}`, "", false, true},
		"later round":     {`{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"x","requestState":"s"}}`, "", true, true},
		"empty state":     {`{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"x","requestState":""}}`, "", false, true},
		"another member":  {`{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"RequestState":"s","arguments":{"requestState":"s"}}}`, "", false, true},
		"a reading":       {`{"jsonrpc":"2.0","id":ID,"method":"tools/list"}`, "", true, true},
		"another method":  {`{"jsonrpc":"2.0","id":ID,"method":"x/y","params":{"requestState":"s"}}`, "", false, true},
		"in a session":    {`{"jsonrpc":"2.0","id":ID,"method":"tools/list"}`, "a.x", false, true},
		"other session":   {`{"jsonrpc":"2.0","id":ID,"method":"tools/list"}`, "x", false, true},
		"batch":           {`[{"jsonrpc":"2.0","id":ID,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":2,"method":"ping"}]`, "", false, true},
		"repeatable ones": {`[{"jsonrpc":"2.0","id":ID,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]`, "", true, true},
		"notification":    {`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":ID}}`, "", false, false},
		"answer":          {`{"jsonrpc":"2.0","id":ID,"result":{"method":"x"}}`, "", false, false},
		"no JSON":         {`{"jsonrpc":"2.0","id":ID,"method":"ping"`, "", false, false},
	}
	ids := []string{`1`, `-7`, `900719925474099312345`, `"a\"b\u00e9"`}
	for _, how := range []string{"refuses connections", "dies before headers", "says nothing", "dies after headers"} {
		for _, shared := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, shared=%t", how, shared), func(t *testing.T) {
				t.Parallel()
				for kind, request := range requests {
					l := newLosing(t, how, shared) // with no connection of another request
					for _, id := range ids {
						body := strings.ReplaceAll(request.body, "ID", id)
						explanation := kind + " " + id
						status, answer, err := l.post(t, body, request.session)
						want, served := 0, [2]int{1, 0}
						switch {
						case how == "dies after headers":
							require.ErrorIs(t, err, io.ErrUnexpectedEOF, explanation)
							require.Equal(t, "event: mess", answer, explanation)
							want = http.StatusOK
						case how == "refuses connections":
							want, served = http.StatusOK, [2]int{0, 1}
							require.Equal(t, "served by b", answer, explanation)
						case shared && request.repeatable:
							want, served = http.StatusOK, [2]int{1, 1}
							require.Equal(t, "served by b", answer, explanation)
						case !request.ids:
							want = http.StatusBadGateway
							require.Equal(t, "no instance answered\n", answer, explanation)
						default:
							want = http.StatusOK
							expected := `{"jsonrpc":"2.0","id":` + id + `,` + lostInDoubt
							if strings.HasPrefix(body, "[") {
								expected = "[" + expected + `,{"jsonrpc":"2.0","id":2,` + lostInDoubt + "]"
							}
							require.Equal(t, expected, answer, explanation)
						}
						require.Equal(t, want, status, explanation)
						l.mu.Lock()
						for i, times := range served {
							require.Equal(t, strings.Repeat("Bearer alice "+body, times), strings.Join(l.sent[i], ""), explanation)
						}
						l.sent = [2][]string{}
						l.mu.Unlock()
					}
				}
			})
		}
	}
}

// A request that kills whatever serves it does not kill all instances.
func TestRouterGivesUpARequestThatKills(t *testing.T) {
	var died atomic.Int32
	addresses := map[string]string{}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		web := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			died.Add(1)
			panic(http.ErrAbortHandler)
		}))
		defer web.Close()
		addresses[name] = web.URL
	}
	w := httptest.NewRecorder()
	routerTo(t, addresses, &mcphttp.RouterOptions{SharedStore: true}).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(
		`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"requestState":"s"}}`)))
	require.Equal(t, `{"jsonrpc":"2.0","id":"x",`+lostInRound, w.Body.String())
	require.EqualValues(t, 3, died.Load())
}

// A request that lost its instance is answered by its id, also if the others do not take it.
func TestRouterLosesAnInstanceAndFindsNoOther(t *testing.T) {
	refuse := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "5")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer refuse.Close()
	die := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer die.Close()
	const call = `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"requestState":"s"}}`
	for explanation, c := range map[string]struct {
		addresses map[string]string
		want      string
	}{
		"the others retire":     {map[string]string{"a": die.URL, "b": refuse.URL}, lostInRound},
		"the others are gone":   {map[string]string{"a": die.URL, "b": nobody}, lostInRound},
		"nobody can be reached": {map[string]string{"a": nobody, "b": nobody}, unreachable},
	} {
		w := httptest.NewRecorder()
		routerTo(t, c.addresses, &mcphttp.RouterOptions{SharedStore: true, Ready: func(instance string) bool { return instance == "a" }}).
			ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(call)))
		require.Equal(t, http.StatusOK, w.Code, explanation)
		require.Equal(t, `{"jsonrpc":"2.0","id":5,`+c.want, w.Body.String(), explanation)
		require.Equal(t, "application/json", w.Header().Get("Content-Type"), explanation)
	}
}

// A router that is one of its own instances, or those of its instances, refuses what comes
// back to it.
func TestRouterIsItsOwnInstance(t *testing.T) {
	const refusal = `"error":{"code":-32603,"message":"this router is one of its own instances","data":{"reason":"router_loop"}}}`
	for _, between := range []int{0, 1, 2} {
		var got atomic.Int32
		var first http.Handler
		front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if got.Add(1) > 10 {
				panic(http.ErrAbortHandler) // a storm
			}
			first.ServeHTTP(w, r)
		}))
		defer front.Close()
		to := front.URL
		for range between {
			web := httptest.NewServer(routerTo(t, map[string]string{"a": to}, nil))
			defer web.Close()
			to = web.URL
		}
		first = routerTo(t, map[string]string{"a": to}, &mcphttp.RouterOptions{SharedStore: true})
		for method, body := range map[string]string{
			http.MethodPost: `{"jsonrpc":"2.0","id":900719925474099312345,"method":"tools/call","params":{"requestState":"s"}}`, http.MethodGet: "",
		} {
			got.Store(0)
			r, err := http.NewRequestWithContext(t.Context(), method, front.URL, strings.NewReader(body))
			require.NoError(t, err)
			r.Header.Set("Connection", "Mrtr-Router")
			r.Header.Set("Mrtr-Router", "made up")
			res, err := http.DefaultClient.Do(r)
			require.NoError(t, err)
			text, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			require.Equal(t, http.StatusLoopDetected, res.StatusCode)
			require.EqualValues(t, 2, got.Load(), "the request, and its return")
			if method == http.MethodPost {
				require.Equal(t, `{"jsonrpc":"2.0","id":900719925474099312345,`+refusal, string(text))
			}
		}
	}
}

// mortal is the store of an instance that may die. It stands for a process: nothing of an
// instance that is dead reaches the store, and its goroutines say nothing to anybody.
type mortal struct {
	store.Store
	dead atomic.Bool
}

var errDead = errors.New("the process is gone")

func (m *mortal) Scope() store.Scope { return store.Machine }

func (m *mortal) Create(ctx context.Context, key store.Key, value []byte, ttl time.Duration) (store.Revision, error) {
	if m.dead.Load() {
		return 0, errDead
	}
	return m.Store.Create(ctx, key, value, ttl)
}

func (m *mortal) Update(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration) (store.Revision, error) {
	if m.dead.Load() {
		return 0, errDead
	}
	return m.Store.Update(ctx, key, at, value, ttl)
}

// An instance dies while it works on the second round of a call. With a shared store the
// caller gets its receipt from the other one, and pays once. Without one the call is
// answered by its id.
func TestRouterLosesAnInstanceAtWork(t *testing.T) {
	for _, shared := range []bool{true, false} {
		t.Run(fmt.Sprintf("shared=%t", shared), func(t *testing.T) {
			records, keys := store.NewMemory(nil), []statecodec.Key{statecodec.GenerateKey()}
			working, release := make(chan struct{}), make(chan struct{})
			var paid atomic.Int32
			stores, webs, addresses := map[string]*mortal{}, map[string]*httptest.Server{}, map[string]*url.URL{}
			for _, name := range []string{"a", "b"} {
				stores[name] = &mortal{Store: records}
				rt, err := mrtr.New(&mrtr.Options{Store: stores[name], State: &statecodec.Options{Keys: keys, Instance: name},
					Remember: &mrtr.RememberOptions{Lease: 200 * time.Millisecond, Patience: 50 * time.Millisecond}})
				require.NoError(t, err)
				t.Cleanup(func() { _ = rt.Close() })
				server := mcp.NewServer(&mcp.Implementation{Name: name, Version: "1"}, nil)
				mrtr.AddTool(server, &mcp.Tool{Name: "pay"}, mrtr.Tool(rt, mrtr.Journal(func(ctx context.Context, c *mrtr.Call, _ struct{}) (booking, error) {
					if _, err := mrtr.Ask(ctx, c, seat); err != nil {
						return booking{}, err
					}
					if name == "a" {
						close(working)
						<-release // a dead process does nothing any more
						return booking{}, errDead
					}
					return mrtr.Once(ctx, c, "pay", func(context.Context, string) (booking, error) {
						paid.Add(1)
						return booking{"receipt"}, nil
					})
				}), nil))
				front, err := mcphttp.NewHandler(func(*http.Request) *mcp.Server { return server }, nil)
				require.NoError(t, err)
				webs[name] = httptest.NewServer(front)
				t.Cleanup(webs[name].Close)
				addresses[name], err = url.Parse(webs[name].URL)
				require.NoError(t, err)
			}
			t.Cleanup(func() { close(release) })
			router, err := mcphttp.NewRouter(addresses, &mcphttp.RouterOptions{SharedStore: shared, Ready: func(instance string) bool { return instance == "a" }})
			require.NoError(t, err)
			t.Cleanup(router.Close)
			front := httptest.NewServer(router)
			t.Cleanup(front.Close)
			client, err := wire.DialHTTP(t.Context(), front.URL, &http.Client{Transport: &http.Transport{}}, nil)
			require.NoError(t, err)
			t.Cleanup(func() { client.Close() })
			first, err := client.Send(t.Context(), wire.Request{Name: "pay"})
			require.NoError(t, err)
			go func() {
				<-working
				stores["a"].dead.Store(true)
				webs["a"].CloseClientConnections()
			}()
			last, err := client.Send(t.Context(), wire.Request{Name: "pay", State: first.State, Responses: window})
			require.NoError(t, err)
			if shared {
				require.Nil(t, last.Error)
				require.JSONEq(t, `{"booked":"receipt"}`, string(last.Structured))
				require.EqualValues(t, 1, paid.Load())
				return
			}
			require.NotNil(t, last.Error)
			require.EqualValues(t, -31001, last.Error.Code)
			var data struct{ Reason string }
			require.NoError(t, json.Unmarshal(last.Error.Data, &data))
			require.Equal(t, "instance_lost", data.Reason)
			require.Zero(t, paid.Load())
		})
	}
}

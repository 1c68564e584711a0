package prove_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/mrtrtest"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/prove"
	"github.com/mrtr-go/sdk/prove/provetest"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/tasks"
	"github.com/mrtr-go/sdk/transport/mcphttp"
)

// servesTasks builds the same servers, whose calls are tasks.
func servesTasks(t *testing.T, o options.Option, stored bool) mrtrtest.Build {
	return func(w *mrtrtest.World) *mcp.Server {
		rt, server := serve(t, w, o, stored)
		manager := must(tasks.Install(server, &tasks.Options{Runtime: rt, Policy: map[string]tasks.Policy{
			weather.Tool: {AtOnce: true}, weather.OtherTool: {AtOnce: true},
		}}))(t)
		w.Cleanup(func() { require.NoError(t, manager.Close()) }) // before the runtime
		return server
	}
}

func TestOurStylesKeepTheRulesOfTasks(t *testing.T) {
	require.NotEmpty(t, options.All)
	for i, o := range options.All {
		for _, stored := range []bool{false, true} {
			if !nightly && stored != (i%2 == 0) {
				continue
			}
			t.Run(o.Name+map[bool]string{true: "/stored"}[stored], func(t *testing.T) {
				t.Parallel()
				report := provetest.Examine(t, servesTasks(t, o, stored), weather, &prove.Options{Only: []string{"task"}})
				require.Empty(t, report.Failures(prove.Ours), report.String())
				require.LessOrEqual(t, report.Count(prove.Skip), 2, report.String())
			})
		}
	}
}

// tableTool is a tool that asks two questions at once and a third one after them, and books.
func tableTool(book func()) mrtr.GuardedFunc[map[string]any, map[string]string] {
	day := mrtr.Choose("day", "Which day?", mrtr.Choices("Friday", "Sunday")...)
	seats := mrtr.Elicit[int]("seats", "How many seats?")
	meal := mrtr.Choose("meal", "Which meal?", mrtr.Choices("lunch", "dinner")...)
	return func(ctx context.Context, c *mrtr.Call, _ map[string]any) (*mrtr.IncompleteResult, map[string]string, error) {
		when, known := mrtr.Answer(c, day)
		n, counted := mrtr.Answer(c, seats)
		if !known || !counted {
			return mrtr.Need(day, seats), nil, nil
		}
		what, ok := mrtr.Answer(c, meal)
		if !ok {
			return mrtr.Need(meal), nil, nil
		}
		_, err := mrtr.Once(ctx, c, "book", func(context.Context, string) (bool, error) { book(); return true, nil })
		return nil, map[string]string{"booked": when + " " + what + " for " + strconv.Itoa(n)}, err
	}
}

var dinner = prove.Scenario{
	Tool: "table", Arguments: map[string]any{}, Answers: map[string]any{"day": "Sunday", "seats": 4, "meal": "dinner"},
}

type object = map[string]any

// restaurant serves the tool as a task, over connections on which a mistake alters messages.
type restaurant struct {
	mistake mistake
	server  *mcp.Server

	mu     sync.Mutex
	booked int
	ids    []string       // of the tasks, in order
	notes  map[string]int // a mistake's own
}

// mistake alters requests, and the results and errors that answer them; nil alters none.
type mistake struct {
	request func(r *restaurant, method string, params object)
	reply   func(r *restaurant, method string, params, result object)
	legacy  bool // it is made for legacy clients alone
	// refusal alters an error: its message, or that it is one.
	refusal func(r *restaurant, method string, params object, e *jsonrpc.Error) (object, *jsonrpc.Error)
}

func (r *restaurant) book() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.booked++
}

func (r *restaurant) note(name string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notes[name]++
	return r.notes[name]
}

func (r *restaurant) noted(name string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.notes[name]
}

// last is the id of the task that was created last.
func (r *restaurant) last() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.ids) == 0 {
		return ""
	}
	return r.ids[len(r.ids)-1]
}

func newRestaurant(t *testing.T, m mistake) *restaurant {
	r := &restaurant{mistake: m, notes: map[string]int{}}
	rt := must(mrtr.New(nil))(t)
	r.server = mcp.NewServer(&mcp.Implementation{Name: "restaurant", Version: "1"}, nil)
	mcp.AddTool(r.server, &mcp.Tool{Name: dinner.Tool}, mrtr.Tool(rt, mrtr.Native(tableTool(r.book)), &mrtr.HandlerOptions{Task: mrtr.TaskPolicy{AtOnce: true}}))
	manager := must(tasks.Install(r.server, &tasks.Options{Runtime: rt}))(t)
	t.Cleanup(func() {
		require.NoError(t, manager.Close())
		require.NoError(t, rt.Close())
	})
	return r
}

func (r *restaurant) subject() prove.Subject {
	return prove.Subject{
		Dial: func(ctx context.Context, _ *prove.Caller) (*prove.Endpoint, error) {
			here, there := mcp.NewInMemoryTransports()
			session, err := r.server.Connect(ctx, here, nil)
			if err != nil {
				return nil, err
			}
			return &prove.Endpoint{Transport: altered{there, r}, Close: session.Close}, nil
		},
		Effects: func(context.Context) (map[string]int, error) {
			synctest.Wait()
			r.mu.Lock()
			defer r.mu.Unlock()
			return map[string]int{"book": r.booked}, nil
		},
	}
}

// altered is a transport whose messages a mistake alters.
type altered struct {
	mcp.Transport
	by *restaurant
}

func (a altered) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := a.Transport.Connect(ctx)
	return &alteredConn{Connection: conn, by: a.by, sent: map[jsonrpc.ID]*jsonrpc.Request{}}, err
}

type alteredConn struct {
	mcp.Connection
	by     *restaurant
	mu     sync.Mutex
	sent   map[jsonrpc.ID]*jsonrpc.Request
	legacy bool
}

func (c *alteredConn) Write(ctx context.Context, m jsonrpc.Message) error {
	if req, ok := m.(*jsonrpc.Request); ok && req.IsCall() {
		copied := *req
		c.mu.Lock()
		c.legacy = c.legacy || req.Method == "initialize"
		c.sent[req.ID] = &copied
		c.mu.Unlock()
		var params object
		if alter := c.by.mistake.request; alter != nil && json.Unmarshal(req.Params, &params) == nil && params != nil {
			alter(c.by, req.Method, params)
			changed := *req
			changed.Params, _ = json.Marshal(params)
			m = &changed
		}
	}
	return c.Connection.Write(ctx, m)
}

func (c *alteredConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	res, ok := m.(*jsonrpc.Response)
	if err != nil || !ok {
		return m, err
	}
	c.mu.Lock()
	req, legacy := c.sent[res.ID], c.legacy
	c.mu.Unlock()
	var params, result object
	if req == nil || json.Unmarshal(req.Params, &params) != nil {
		return m, nil
	}
	changed := &jsonrpc.Response{ID: res.ID, Result: res.Result, Error: res.Error}
	if refused, ok := res.Error.(*jsonrpc.Error); ok {
		if alter := c.by.mistake.refusal; alter != nil && (legacy || !c.by.mistake.legacy) {
			if result, refused = alter(c.by, req.Method, params, refused); refused == nil {
				changed.Result, _ = json.Marshal(result)
				changed.Error = nil
			} else {
				changed.Error = refused
			}
		}
		return changed, nil
	}
	if json.Unmarshal(res.Result, &result) != nil {
		return m, nil
	}
	if id, ok := result["taskId"].(string); ok && req.Method == "tools/call" {
		c.by.mu.Lock()
		c.by.ids = append(c.by.ids, id)
		c.by.mu.Unlock()
	}
	if alter := c.by.mistake.reply; alter != nil {
		alter(c.by, req.Method, params, result)
		changed.Result, _ = json.Marshal(result)
	}
	return changed, nil
}

// declare makes any request one of a client that takes tasks.
func declare(params object) {
	meta, _ := params["_meta"].(object)
	for name := range meta {
		if strings.HasSuffix(name, "/clientCapabilities") {
			meta[name] = object{"elicitation": object{"form": object{}}, "extensions": object{tasks.Extension: object{}}}
		}
	}
}

// answersOf are the answers of an update, nil for any other request.
func answersOf(method string, params object) object {
	answers, _ := params["inputResponses"].(object)
	if method != "tasks/update" {
		return nil
	}
	return answers
}

// questionsOf are the questions of a task.
func questionsOf(result object) object {
	if result["taskId"] == nil {
		return nil
	}
	questions, _ := result["inputRequests"].(object)
	return questions
}

// each calls f with every question that a task asks.
func each(result object, f func(question object)) {
	for _, q := range questionsOf(result) {
		f(q.(object)["params"].(object))
	}
}

var declines = object{"action": "decline"}

// taskMistakes are the mistakes by which a task breaks each rule, and the rules that the same
// mistake cannot but break as well.
var taskMistakes = []struct {
	rule, explanation string
	mistake           mistake
	also              []string
}{
	{"task/undeclared", "the capability of 2025-11-25 is taken for the extension", mistake{request: func(_ *restaurant, method string, params object) {
		if meta, _ := json.Marshal(params["_meta"]); method == "tools/call" && bytes.Contains(meta, []byte(`"tasks":{"requests"`)) {
			declare(params)
		}
	}}, nil},
	{"task/undeclared", "the methods of tasks look at no declaration", mistake{request: func(_ *restaurant, method string, params object) {
		if strings.HasPrefix(method, "tasks/") {
			declare(params)
		}
	}}, nil},
	{"task/resolves", "a task is there a moment after its creation", mistake{request: func(r *restaurant, method string, params object) {
		if id, _ := params["taskId"].(string); method == "tasks/get" && r.note(id) == 1 {
			params["taskId"] = "not yet"
		}
	}}, nil},
	{"task/foreign-ids", "any id is that of the last task", mistake{request: func(r *restaurant, method string, params object) {
		if id, ok := params["taskId"].(string); ok && method == "tasks/get" && !strings.HasPrefix(id, r.last()[:len(r.last())/2+1]) {
			params["taskId"] = r.last()
		}
	}}, nil},
	{"task/keys", "the key of the first question is that of the last one too", mistake{
		request: func(r *restaurant, method string, params object) {
			if answers := answersOf(method, params); answers["day-1"] != nil && r.noted(params["taskId"].(string)) > 0 {
				answers["meal-2"] = answers["day-1"]
			}
		},
		reply: func(r *restaurant, _ string, params, result object) {
			if questions := questionsOf(result); questions["meal-2"] != nil {
				r.note(params["taskId"].(string))
				questions["day-1"] = questions["meal-2"]
				delete(questions, "meal-2")
			}
		},
	}, []string{"task/same", "task/answers"}},
	{"task/keys", "a question is worded anew for each poll", mistake{reply: func(r *restaurant, _ string, _, result object) {
		each(result, func(q object) {
			q["requestedSchema"].(object)["title"] = "poll " + strconv.Itoa(r.note("polls"))
		})
	}}, nil},
	{"task/answers", "who leaves an answer out declines", mistake{
		request: func(r *restaurant, method string, params object) {
			if answers := answersOf(method, params); len(answers) == 1 && answers["day-1"] != nil {
				answers["seats-1"] = declines
			}
		},
	}, nil},
	{"task/answers", "an answer that nobody asked for declines", mistake{request: func(_ *restaurant, method string, params object) {
		if answers := answersOf(method, params); answers["nobody-1"] != nil {
			answers["day-1"], answers["seats-1"] = declines, declines
		}
	}}, nil},
	{"task/kept", "a task that has ended can be cancelled", mistake{reply: func(r *restaurant, method string, params, result object) {
		id, _ := params["taskId"].(string)
		switch {
		case method == "tasks/cancel" && r.noted("ended "+id) > 0:
			r.note("cancelled " + id)
		case result["status"] == "completed" && r.noted("cancelled "+id) > 0:
			result["status"] = "cancelled"
			delete(result, "result")
		case result["status"] == "completed":
			r.note("ended " + id)
		}
	}}, nil},
	{"task/same", "a task that has ended is a failure", mistake{reply: func(_ *restaurant, _ string, _, result object) {
		if result["status"] == "completed" {
			result["result"] = object{"content": []any{object{"type": "text", "text": "no"}}, "isError": true}
		}
	}}, nil},
	{"task/once", "each update with the last answer books", mistake{request: func(r *restaurant, method string, params object) {
		if answersOf(method, params)["meal-2"] != nil && r.note(params["taskId"].(string)) > 1 {
			r.book()
		}
	}}, nil},
	{"task/cancelled", "cancellations are acknowledged and forgotten", mistake{request: func(_ *restaurant, method string, params object) {
		if method == "tasks/cancel" {
			params["taskId"] = ""
		}
	}, refusal: func(r *restaurant, method string, params object, e *jsonrpc.Error) (object, *jsonrpc.Error) {
		if id, _ := params["taskId"].(string); method == "tasks/cancel" && id == r.last() && e.Code == -32602 {
			return object{"resultType": "complete"}, nil
		}
		return nil, e
	}}, nil},
	{"task/kept", "a task has a state", mistake{reply: func(_ *restaurant, method string, _, result object) {
		if method == "tasks/get" {
			result["requestState"] = "s"
		}
	}}, nil},
	{"task/kept", "the time to live is shown shorter than it was promised", mistake{reply: func(_ *restaurant, method string, _, result object) {
		if method == "tasks/get" {
			result["ttlMs"] = 1000
		}
	}}, nil},
	{"task/misfit", "an undefined action is an accept", mistake{request: func(_ *restaurant, method string, params object) {
		for key, answer := range answersOf(method, params) {
			if answer.(object)["action"] == "shrug" {
				name, _, _ := strings.Cut(key, "-")
				answersOf(method, params)[key] = object{"action": "accept", "content": object{name: map[string]any{"day": "Friday", "seats": 2}[name]}}
			}
		}
	}}, nil},
	{"task/undeclared", "the methods are served to legacy clients", mistake{legacy: true, refusal: func(_ *restaurant, method string, _ object, e *jsonrpc.Error) (object, *jsonrpc.Error) {
		if strings.HasPrefix(method, "tasks/") {
			return object{"resultType": "complete"}, nil
		}
		return nil, e
	}}, nil},
}

func TestARuleOfTasksCondemnsTheMistakeThatBreaksIt(t *testing.T) {
	elsewhere := map[string]bool{"task/headers": true, "task/crash": true} // the tests below
	tried := map[string]bool{}
	for _, m := range taskMistakes {
		tried[m.rule] = true
	}
	require.Len(t, prove.TaskRules(), len(tried)+len(elsewhere))
	for _, r := range prove.TaskRules() {
		require.True(t, tried[r.Name] || elsewhere[r.Name], r.Name)
	}
	condemns := func(t *testing.T, m mistake) (condemned []string) {
		synctest.Test(t, func(t *testing.T) {
			report := must(prove.Run(t.Context(), newRestaurant(t, m).subject(), dinner, &prove.Options{Patience: 5 * time.Second, Only: []string{"task"}}))(t)
			for _, f := range report.Findings {
				if f.Outcome == prove.Fail {
					condemned = append(condemned, f.Rule.Name)
				}
			}
			t.Log(report)
		})
		return condemned
	}
	require.Empty(t, condemns(t, mistake{}))
	for _, m := range taskMistakes {
		t.Run(m.rule, func(t *testing.T) {
			t.Parallel()
			require.ElementsMatch(t, append([]string{m.rule}, m.also...), condemns(t, m.mistake), m.explanation)
		})
	}
}

// Over HTTP the header of a request about a task is held against its body.
func TestTheHeadersOfTasksAreProved(t *testing.T) {
	for _, broken := range []bool{false, true} {
		r := newRestaurant(t, mistake{})
		front := must(mcphttp.NewHandler(func(*http.Request) *mcp.Server { return r.server }, nil))(t)
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			body, _ := io.ReadAll(req.Body)
			var message struct{ Params struct{ TaskID string } }
			if broken && json.Unmarshal(body, &message) == nil && message.Params.TaskID != "" {
				req.Header.Set("Mcp-Name", message.Params.TaskID)
			}
			req.Body = io.NopCloser(bytes.NewReader(body))
			front.ServeHTTP(w, req)
		}))
		t.Cleanup(web.Close)
		report := must(prove.Run(t.Context(), prove.Subject{Dial: prove.HTTP(web.URL, nil), HTTP: true}, dinner, &prove.Options{Only: []string{"task"}}))(t)
		f := of(t, report, "task/headers")
		require.Equal(t, map[bool]prove.Outcome{false: prove.Pass, true: prove.Fail}[broken], f.Outcome, f.String())
		require.Len(t, report.Failures(prove.Ours), map[bool]int{true: 1}[broken], report.String())
	}
}

// A handler that pays without a guard, and is told to run again, pays twice if it is killed.
func TestACrashOfATaskIsProved(t *testing.T) {
	build := func(w *mrtrtest.World) *mcp.Server {
		key := must(statecodec.NewKey(w.Key()))(t)
		rt := must(mrtr.New(&mrtr.Options{State: &statecodec.Options{Keys: []statecodec.Key{key}}, Durable: durable.In(w.Store(), nil)}))(t)
		w.Cleanup(func() { require.NoError(t, rt.Close()) })
		meal := mrtr.Choose("meal", "Which meal?", mrtr.Choices("lunch", "dinner")...)
		careless := mrtr.Native(func(_ context.Context, c *mrtr.Call, _ map[string]any) (*mrtr.IncompleteResult, map[string]string, error) {
			what, ok := mrtr.Answer(c, meal)
			if !ok {
				return mrtr.Need(meal), nil, nil
			}
			w.Effect("book")
			return nil, map[string]string{"booked": what}, nil
		})
		server := mcp.NewServer(&mcp.Implementation{Name: "restaurant", Version: "1"}, nil)
		mcp.AddTool(server, &mcp.Tool{Name: dinner.Tool}, mrtr.Tool(rt, careless, &mrtr.HandlerOptions{
			Task: mrtr.TaskPolicy{AtOnce: true}, RunAgain: true,
		}))
		manager := must(tasks.Install(server, &tasks.Options{Runtime: rt}))(t)
		w.Cleanup(func() { require.NoError(t, manager.Close()) })
		return server
	}
	report := provetest.Examine(t, build, dinner, &prove.Options{Only: []string{"task"}})
	failures := report.Failures(prove.Ours)
	require.Len(t, failures, 1, report.String())
	require.Equal(t, "task/crash", failures[0].Rule.Name)
	require.Equal(t, `"book" happened twice instead of once in a task`, failures[0].Detail)
}

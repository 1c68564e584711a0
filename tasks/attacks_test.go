package tasks_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/options/replay"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/tasks"
)

// userOf takes the sender of a request from its _meta.
func userOf(_ context.Context, req mcp.Request) (string, error) {
	who, _ := req.GetParams().GetMeta()["example.com/user"].(string)
	return who, nil
}

func (c client) as(user, method string, params map[string]any) (s seen, failed *jsonrpc.Error) {
	c.Helper()
	meta := c.Meta()
	meta["example.com/user"] = user
	params["_meta"] = meta
	res, err := c.Exchange(context.Background(), wire.Request{Method: method, Params: params})
	require.NoError(c, err)
	if res.Error != nil {
		require.ErrorAs(c, res.Error, &failed)
		return s, failed
	}
	require.NoError(c, json.Unmarshal(res.Result, &s))
	return s, nil
}

func book() map[string]any { return map[string]any{"name": "book", "arguments": trip{"Lisbon"}} }

// Whatever is no id of a task of the caller's has one answer, for each of the three methods.
func TestAnIDThatIsNotTheCallersIsUnknown(t *testing.T) {
	records := store.NewMemory(nil)
	did := &ledger{}
	c := connect(t, newSite(t, setting{style: "native", policy: atOnce, sender: userOf, records: records, did: did}).server)
	other := connect(t, newSite(t, setting{style: "native", policy: atOnce, sender: userOf}).server)
	mine, failed := c.as("ann", "tools/call", book())
	require.Nil(t, failed)
	require.Equal(t, "task", mine.ResultType)
	elsewhere, failed := other.as("ann", "tools/call", book())
	require.Nil(t, failed)
	asked, failed := c.as("ann", "tools/call", map[string]any{"name": "book", "arguments": trip{"Lisbon"}})
	require.Nil(t, failed)
	id := mine.TaskID
	ids := map[string]any{
		"invented": "task.ABCDEFGHIJKLMNOPQRSTUVWXYZ", "empty": "", "a number": 7, "nothing": nil, "a list": []string{id},
		"an object": map[string]any{"id": id}, "of another server": elsewhere.TaskID, "long": strings.Repeat(id, 1000),
		"cut": id[:len(id)-1], "with more behind it": id + "A", "with a space": id + " ", "of two": id[:len(id)/2] + asked.TaskID[len(id)/2:],
	}
	for i := range len(id) {
		changed := []byte(id)
		if changed[i]++; changed[i] > 'z' {
			changed[i] = 'a'
		}
		ids[fmt.Sprintf("changed at %d", i)] = string(changed)
	}
	methods := []string{"tasks/get", "tasks/update", "tasks/cancel"}
	var want *jsonrpc.Error
	cells := 0
	refused := func(user, method, explanation string, id any) {
		_, failed := c.as(user, method, map[string]any{"taskId": id, "inputResponses": map[string]any{}})
		require.NotNil(t, failed, explanation)
		if want == nil {
			want = failed
		}
		require.EqualValues(t, jsonrpc.CodeInvalidParams, failed.Code)
		require.Equal(t, want, failed, "%s: %s", method, explanation)
		cells++
	}
	for _, method := range methods {
		for explanation, id := range ids {
			refused("ann", method, explanation, id)
		}
		refused("bob", method, "of another caller", id)
		refused("", method, "of a caller who is known", id)
	}
	require.Greater(t, cells, 300)
	t.Logf("%d cells", cells)
	for _, method := range methods {
		_, failed := c.as("ann", method, map[string]any{"taskId": id, "inputResponses": map[string]any{}})
		require.Nil(t, failed)
	}
}

// Over HTTP headers name the method and the task, and a request that they do not fit is refused
// before anything reads it.
func TestTheHeaderNamesTheTask(t *testing.T) {
	cells := 0
	for _, stock := range []bool{false, true} {
		here := newSite(t, setting{style: "native", policy: atOnce})
		web := httptest.NewServer(front(t, here.server, stock))
		defer web.Close()
		c := connect(t, here.server)
		id := c.call().TaskID
		methods := []string{"tasks/get", "tasks/update", "tasks/cancel"}
		for i, method := range methods {
			other := methods[(i+1)%len(methods)]
			encoded := "=?base64?" + base64.StdEncoding.EncodeToString([]byte(id)) + "?="
			for explanation, test := range map[string]struct {
				method, name []string // of the headers
				more         string   // members of the params
				refused      bool
			}{
				"the task":                          {[]string{method}, []string{id}, "", false},
				"the task in base64":                {[]string{method}, []string{encoded}, "", false},
				"the task twice":                    {[]string{method}, []string{id, id}, "", false},
				"another":                           {[]string{method}, []string{id + "A"}, "", true},
				"another, and a member like the id": {[]string{method}, []string{"other"}, `,"TASKID":"other"`, true},
				"two":                               {[]string{method}, []string{id, "other"}, "", true},
				"base64 of nothing":                 {[]string{method}, []string{"=?base64?*?="}, "", true},
				"none":                              {[]string{method}, nil, "", true},
				"another method":                    {[]string{other}, []string{id}, "", true},
				"no method of tasks":                {[]string{"tools/list"}, []string{id}, "", true},
				"no method":                         {nil, []string{id}, "", true},
			} {
				cells++
				meta, err := json.Marshal(c.Meta())
				require.NoError(t, err)
				body := fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":{"taskId":%q,"inputResponses":{},"_meta":%s%s}}`, method, id, meta, test.more)
				req, err := http.NewRequest(http.MethodPost, web.URL, strings.NewReader(body))
				require.NoError(t, err)
				req.Header = http.Header{
					"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
					"Mcp-Protocol-Version": {wire.Modern}, "Mcp-Method": test.method, "Mcp-Name": test.name,
				}
				res, err := web.Client().Do(req)
				require.NoError(t, err)
				text, err := io.ReadAll(res.Body)
				require.NoError(t, err)
				require.NoError(t, res.Body.Close())
				if !test.refused {
					require.Equal(t, 200, res.StatusCode, "%s: %s: %s", method, explanation, text)
					continue
				}
				require.Equal(t, 400, res.StatusCode, "%s: %s: %s", method, explanation, text)
				require.Contains(t, string(text), `"code":-32020`, "%s: %s", method, explanation)
			}
		}
		require.Equal(t, "cancelled", c.settle(id).Status, "by the one that was taken")
	}
	require.Equal(t, 2*3*11, cells)
	t.Logf("%d cells", cells)
}

// A request that does not declare the extension is refused, whatever it asks for.
func TestTheMethodsAreForClientsThatTakeTasks(t *testing.T) {
	here := newSite(t, setting{style: "native", policy: atOnce})
	id := connect(t, here.server).call().TaskID
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		for _, o := range []*wire.Options{{Capabilities: wire.FormOnly}, {Version: wire.Legacy, Capabilities: takesTasks}} {
			w, err := wire.Connect(context.Background(), here.server, o)
			require.NoError(t, err)
			c := client{t, w}
			params := map[string]any{"taskId": id}
			if o.Version == "" {
				_, failed := c.send(method, params)
				require.EqualValues(t, mcp.CodeMissingRequiredClientCapabilities, failed.Code)
				require.JSONEq(t, `{"requiredCapabilities":{"extensions":{"`+tasks.Extension+`":{}}}}`, string(failed.Data))
			} else {
				_, failed := c.send(method, params)
				require.EqualValues(t, jsonrpc.CodeMethodNotFound, failed.Code)
			}
			require.NoError(t, w.Close())
		}
	}
}

// Answers of any shape leave a task that still asks, and answer nothing else.
func TestAnswersOfAnyShape(t *testing.T) {
	did := &ledger{}
	c := connect(t, newSite(t, setting{style: "journal", policy: atOnce, did: did}).server)
	s := c.settle(c.call().TaskID)
	for _, responses := range []any{nil, 7, "seat-1", true, []any{}, []any{map[string]any{"seat-1": 1}}} {
		_, failed := c.send("tasks/update", map[string]any{"taskId": s.TaskID, "inputResponses": responses})
		require.NotNil(t, failed, "%v", responses)
		require.EqualValues(t, jsonrpc.CodeInvalidParams, failed.Code)
		require.Equal(t, s.keys(), c.get(s.TaskID).keys())
	}
	_, failed := c.send("tasks/update", map[string]any{"taskId": s.TaskID})
	require.EqualValues(t, jsonrpc.CodeInvalidParams, failed.Code)
	shapes := []any{nil, 7, []any{}}
	for _, answer := range shapes {
		c.update(s.TaskID, map[string]any{s.keys()[0]: answer})
		again := c.settle(s.TaskID)
		require.Equal(t, "input_required", again.Status, "%v: %s", answer, again.raw)
		require.NotEqual(t, s.keys(), again.keys())
		s = again
	}
	require.Equal(t, []string{"seat-4"}, s.keys())
	require.Equal(t, "completed", c.finish(s.TaskID).Status)
	require.Equal(t, "hold ticket", did.all())
}

// Calls beyond a limit are served as for any other client. Callers without a principal share
// three quarters of the places, and a task that ends makes room.
func TestTasksAreLimited(t *testing.T) {
	site := newSite(t, setting{style: "native", policy: atOnce, sender: userOf, options: tasks.Options{MaxTasks: 8, MaxTasksPerPrincipal: 3}})
	c := connect(t, site.server)
	begin := func(user string) seen {
		s, failed := c.as(user, "tools/call", book())
		require.Nil(t, failed)
		return s
	}
	var ann []seen
	for range 3 {
		s := begin("ann")
		require.Equal(t, "task", s.ResultType)
		ann = append(ann, s)
	}
	over := begin("ann")
	require.Equal(t, "input_required", over.ResultType)
	require.Equal(t, []string{"seat"}, over.keys())
	for range 5 {
		require.Equal(t, "task", begin("").ResultType)
	}
	require.Equal(t, "input_required", begin("bob").ResultType, "there is no place left")
	_, failed := c.as("ann", "tasks/cancel", map[string]any{"taskId": ann[0].TaskID})
	require.Nil(t, failed)
	require.Eventually(t, func() bool { return begin("bob").ResultType == "task" }, 30*time.Second, time.Millisecond)

	shared := connect(t, newSite(t, setting{style: "native", policy: atOnce, sender: userOf, options: tasks.Options{MaxTasks: 8}}).server)
	tasks := 0
	for range 8 {
		if s, _ := shared.as("", "tools/call", book()); s.ResultType == "task" {
			tasks++
		}
	}
	require.Equal(t, 6, tasks)
	s, _ := shared.as("ann", "tools/call", book())
	require.Equal(t, "task", s.ResultType)
}

func TestTwoAudiencesShareNothing(t *testing.T) {
	for name, audience := range replay.Audiences {
		for scope, records := range map[string]store.Store{"one process": store.NewMemory(nil), "machine": machine{store.NewMemory(nil)}} {
			t.Run(name+" of "+scope, func(t *testing.T) { audience.Hold(t, records) })
		}
	}
}

// One caller whose calls hold much, as arguments or as answers, leaves the others their room in the store.
func TestOneCallerFillsNoStoreWithOpenTasks(t *testing.T) {
	for greedy, most := range map[string]int{"eve": 2, "": 9} { // each counts twice
		here := newSite(t, setting{style: "journal", policy: atOnce, sender: userOf, records: store.NewMemory(nil)})
		c := connect(t, here.server)
		call := func(user, to string) seen {
			s, failed := c.as(user, "tools/call", map[string]any{"name": "book", "arguments": trip{to}})
			require.Nil(t, failed)
			return s
		}
		got := 0
		var last seen
		for range most + 3 {
			if s := call(greedy, strings.Repeat("x", 900<<10)); s.ResultType == "task" {
				got, last = got+1, s
			}
		}
		require.Equal(t, most, got, "%q", greedy)
		_, failed := c.as(greedy, "tasks/cancel", map[string]any{"taskId": last.TaskID})
		require.Nil(t, failed)
		small := call(greedy, "Lisbon")
		require.Equal(t, "task", small.ResultType)
		require.Eventually(t, func() bool {
			s, failed := c.as(greedy, "tasks/get", map[string]any{"taskId": small.TaskID})
			return failed == nil && s.Status == "input_required"
		}, 30*time.Second, time.Millisecond)
		for range most {
			call(greedy, strings.Repeat("x", 900<<10))
		}
		_, failed = c.as(greedy, "tasks/update", map[string]any{"taskId": small.TaskID, "inputResponses": map[string]any{"seat-1": accept("seat", strings.Repeat("x", 900<<10))}})
		require.NotNil(t, failed, "%q", greedy)
		require.Contains(t, failed.Message, "larger than the server can keep")
		_, failed = c.as(greedy, "tasks/update", map[string]any{"taskId": small.TaskID, "inputResponses": map[string]any{"seat-1": accept("seat", "window")}})
		require.Nil(t, failed)
		require.Equal(t, "task", call("ann", strings.Repeat("x", 900<<10)).ResultType)
	}
}

// A store that the open tasks of another caller have filled keeps no task at work for ever: one whose
// questions it does not take ends within a lease, and one whose round it does not take when a request
// has waited for that.
func TestATaskEndsInAFullStore(t *testing.T) {
	const lease, waits = 15 * time.Second, 20 * time.Second
	for style, within := range map[string]time.Duration{"plain": lease, "native": lease + waits} {
		for _, cancels := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, cancelled %v", style, cancels), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					release, calls := make(chan struct{}), atomic.Int32{}
					here := newSite(t, setting{
						style: style, policy: atOnce, sender: userOf, records: store.NewMemory(&store.MemoryOptions{MaxBytes: 256 << 10}),
						did: &ledger{in: func(context.Context) {
							if calls.Add(1) == 1 {
								<-release
							}
						}},
					})
					c := connect(t, here.server)
					ann, failed := c.as("ann", "tools/call", book())
					require.Nil(t, failed)
					synctest.Wait()
					filled := 0
					for size := 64 << 10; size > 0; size /= 2 {
						for tasks := true; tasks; {
							eve, _ := c.as("eve", "tools/call", map[string]any{"name": "book", "arguments": trip{strings.Repeat("x", size)}})
							if tasks = eve.ResultType == "task"; tasks {
								filled++
							}
							synctest.Wait()
						}
					}
					require.Positive(t, filled)
					if cancels {
						_, _ = c.as("ann", "tasks/cancel", map[string]any{"taskId": ann.TaskID})
					}
					close(release)
					time.Sleep(within + time.Second)
					s, failed := c.as("ann", "tasks/get", map[string]any{"taskId": ann.TaskID})
					require.Nil(t, failed)
					t.Logf("%d tasks of the other caller: %s, %s", filled, s.Status, s.StatusMessage)
					require.Contains(t, []string{"failed", "cancelled"}, s.Status)
				})
			})
		}
	}
}

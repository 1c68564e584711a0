package tasks_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/tasks"
	"github.com/mrtr-go/sdk/transport/mcphttp"
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
		"cut": id[:len(id)-1], "with more behind it": id + "A", "with a space": id + " ", "of two": id[:20] + asked.TaskID[20:],
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

// Over HTTP a header names the task, and one that names another is refused before anything
// reads it.
func TestTheHeaderNamesTheTask(t *testing.T) {
	cells := 0
	for _, stock := range []bool{false, true} {
		here := newSite(t, setting{style: "native", policy: atOnce})
		h, err := mcphttp.NewHandler(func(*http.Request) *mcp.Server { return here.server }, &mcphttp.HandlerOptions{StockFront: stock})
		require.NoError(t, err)
		web := httptest.NewServer(h)
		defer web.Close()
		c := connect(t, here.server)
		id := c.call().TaskID
		for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
			for explanation, test := range map[string]struct {
				name   string
				status int
			}{
				"the task":           {id, 200},
				"the task in base64": {"=?base64?" + base64.StdEncoding.EncodeToString([]byte(id)) + "?=", 200},
				"another":            {id + "A", 400},
				"none":               {"", 400},
			} {
				cells++
				body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 7, "method": method, "params": map[string]any{"taskId": id, "inputResponses": map[string]any{}, "_meta": c.Meta()}})
				require.NoError(t, err)
				req, err := http.NewRequest(http.MethodPost, web.URL, bytes.NewReader(body))
				require.NoError(t, err)
				req.Header = http.Header{
					"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
					"Mcp-Protocol-Version": {wire.Modern}, "Mcp-Method": {method}, "Mcp-Name": {test.name},
				}
				res, err := web.Client().Do(req)
				require.NoError(t, err)
				text, err := io.ReadAll(res.Body)
				require.NoError(t, err)
				require.NoError(t, res.Body.Close())
				require.Equal(t, test.status, res.StatusCode, "%s: %s: %s", method, explanation, text)
				if test.status == 400 {
					require.Contains(t, string(text), `"code":-32020`)
					require.Contains(t, string(text), `"id":7`)
				}
			}
		}
	}
	require.Equal(t, 24, cells)
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

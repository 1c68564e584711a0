package gate_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/boundary/gate"
	"github.com/mrtr-go/sdk/internal/callerror"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/tasks"
	"github.com/mrtr-go/sdk/transport/mcphttp"
)

// The gate asks every kind of client, with any store, in any place among boundary and tasks,
// and over HTTP: an approved call runs once, and no other runs.
func TestADestructiveCallAsksFirst(t *testing.T) {
	orders := [][]string{{"gate", "tasks"}, {"tasks", "gate"}, {"gate", "boundary", "tasks"}, {"boundary", "tasks", "gate"}, {"gate"}}
	kinds := []string{"none", "memory", "shared"}
	for i, layers := range orders {
		for way, client := range ways {
			at := map[string]tasks.Policy{"wipe": {AtOnce: true}, "bare": {AtOnce: true}}
			s := newSite(t, setting{store: stores[kinds[(i+len(way))%3]](), layers: layers, tasks: tasks.Options{Policy: at}})
			c := s.client(client)
			if i == len(orders)-1 {
				h, err := mcphttp.NewHandler(func(*http.Request) *mcp.Server { return s.server }, &mcphttp.HandlerOptions{StockFront: way == "task"})
				require.NoError(t, err)
				web := httptest.NewServer(h)
				t.Cleanup(web.Close)
				c, err = wire.DialHTTP(t.Context(), web.URL, nil, client)
				require.NoError(t, err)
				t.Cleanup(func() { c.Close() })
			}
			for _, tool := range []string{"read", "write"} {
				out := s.call(c, tool, nil, nil)
				require.Empty(t, out.Questions)
				require.Equal(t, []string{tool + " /a"}, s.called())
			}
			for _, tool := range []string{"wipe", "bare"} {
				out := s.call(c, tool, nil, yes)
				require.Len(t, out.Questions, 1)
				require.Equal(t, way == "task" && layers[len(layers)-1] == "tasks", out.Replies[0].Task != "", "else the task begins after the answer")
				require.Contains(t, out.Questions[0].Message, "path: \"/a\"")
				require.Equal(t, tool+" done", out.Text)
				require.Equal(t, []string{tool + " /a"}, s.called())
				require.Equal(t, way != "legacy", out.ResultType == "complete")
				for name, answers := range map[string]wire.Answers{"no": no, "declined": saying(wire.Decline), "dismissed": saying(wire.Cancel)} {
					out := s.call(c, tool, nil, answers)
					require.True(t, out.IsError, name)
					require.Contains(t, out.Text, "the user did not approve the call of \""+tool+"\", and it was not made")
					require.Empty(t, s.called(), name)
				}
				if i == 2 && way != "task" { // the boundary is outside
					require.Contains(t, string(s.call(c, tool, nil, saying(wire.Decline)).Result), `"type":"declined"`)
				}
			}
			out := s.call(c, "asks", nil, yes)
			require.Len(t, out.Questions, 2)
			require.JSONEq(t, `{"bin":"paper"}`, string(out.Structured))
			require.Equal(t, []string{"asks /a paper"}, s.called())
		}
	}
}

// A question that cannot be asked ends the call: of a client, a message or a caller.
func TestWithoutAQuestionThereIsNoCall(t *testing.T) {
	message := func(f func() string) setting {
		return setting{gate: gate.Options{Message: func(*mcp.Tool, json.RawMessage) string { return f() }}}
	}
	for _, c := range []struct {
		setting
		client     wire.Options
		user, says string
	}{
		{setting{}, wire.Options{Version: wire.Legacy, Capabilities: wire.URLOnly}, "", "This client cannot be asked"},
		{setting{}, wire.Options{Handshake: true}, "", "This client cannot be asked"},
		{message(func() string { return "" }), wire.Options{}, "", ""},
		{message(func() string { panic("on purpose") }), wire.Options{}, "", ""},
		{setting{gate: gate.Options{Remember: gate.Remember{For: time.Hour}}}, wire.Options{}, "unknown", "its sender is not identified"},
	} {
		s := newSite(t, c.setting).as(c.user)
		out := s.call(s.client(&c.client), "wipe", nil, yes)
		require.True(t, out.IsError)
		require.Contains(t, out.Text, c.says)
		require.Empty(t, s.called())
	}
	s := newSite(t, setting{})
	crowded := map[string]any{"path": make([]int, 101)}
	out := s.call(s.client(nil), "wipe", crowded, yes)
	require.Contains(t, out.Text, "more values than a user can be shown")
	require.Empty(t, out.Questions)
	require.NotEmpty(t, s.call(s.client(nil), "wipe", map[string]any{"path": make([]int, 100), "other": make([]int, 100)}, yes).Questions)
	require.EqualValues(t, mcp.CodeMissingRequiredClientCapabilities, s.call(s.client(&wire.Options{Capabilities: wire.Nothing}), "wipe", nil, yes).Error.Code)
	for _, o := range []*gate.Options{{Within: -1}, {Remember: gate.Remember{For: -1}}, {Remember: gate.Remember{For: 1}}, {Remember: gate.Remember{For: 2 * store.MaxTTL}}} {
		_, err := gate.Install(s.server, s.rt, o)
		require.ErrorAs(t, err, new(*mrtr.UsageError))
	}
	_, err := gate.Install(s.server, nil, nil)
	require.ErrorAs(t, err, new(*mrtr.UsageError))
	_, err = gate.Install(nil, s.rt, nil)
	require.ErrorAs(t, err, new(*mrtr.UsageError))
}

func TestAskDecidesByTheArguments(t *testing.T) {
	ask := func(tool *mcp.Tool, arguments json.RawMessage) bool {
		if string(arguments) == `{"path":"panic"}` {
			panic("on purpose")
		}
		return tool.Name == "read" && string(arguments) == `{"path":"/etc"}`
	}
	s := newSite(t, setting{gate: gate.Options{Ask: ask, Message: func(tool *mcp.Tool, _ json.RawMessage) string { return "Really " + tool.Name + "?" }}})
	c := s.client(nil)
	require.Empty(t, s.call(c, "wipe", nil, yes).Questions)
	require.Empty(t, s.call(c, "read", nil, yes).Questions)
	require.Len(t, s.called(), 2)
	require.Equal(t, "Really read?", s.call(c, "read", path{"/etc"}, no).Questions[0].Message)
	require.Len(t, s.call(c, "read", path{"panic"}, no).Questions, 1)
	twice := s.call(c, "read", json.RawMessage(`{"path":"/etc","path":"/a"}`), yes)
	require.EqualValues(t, jsonrpc.CodeInvalidParams, twice.Error.Code, "whoever reads it otherwise than Ask could pass it")
	s = newSite(t, setting{gate: gate.Options{Ask: gate.Tiers(boundary.Write, boundary.ReadOnly)}})
	for tool, asked := range map[string]int{"read": 1, "write": 1, "wipe": 0, "bare": 0} {
		require.Len(t, s.call(s.client(nil), tool, nil, yes).Questions, asked, tool)
	}
}

// The answers of a tool behind the gate are those that it has without one, and a repeated yes
// gets the same again, except that a tool that was not begun may be called again.
func TestAnswersPassAsTheyAre(t *testing.T) {
	type other struct {
		mcp.ResultBase
		ResultType string `json:"resultType"`
		Due        int64  `json:"due"`
	}
	tries := 0
	outcomes := map[string]func(*mcp.CallToolParamsRaw) (*mcp.CallToolResult, error){
		"protocol": func(*mcp.CallToolParamsRaw) (*mcp.CallToolResult, error) {
			return nil, &jsonrpc.Error{Code: -7, Message: "broken", Data: json.RawMessage(`{"a":1}`)}
		},
		"error": func(*mcp.CallToolParamsRaw) (*mcp.CallToolResult, error) { return nil, errors.New("plain") },
		"failed": func(*mcp.CallToolParamsRaw) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "no"}}, StructuredContent: map[string]any{"b": 2}}, nil
		},
		"rich": func(*mcp.CallToolParamsRaw) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Meta: mcp.Meta{"c": 3}, Content: []mcp.Content{&mcp.ImageContent{Data: []byte("x"), MIMEType: "image/png"}}, StructuredContent: 4}, nil
		},
		"asking": func(p *mcp.CallToolParamsRaw) (*mcp.CallToolResult, error) {
			if len(p.InputResponses) == 0 {
				return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"bin": &mcp.ElicitParams{Message: "Why?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)}}}, nil
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "because" + p.RequestState}}}, nil
		},
		"own": func(*mcp.CallToolParamsRaw) (*mcp.CallToolResult, error) { panic("its middleware answers") },
		"busy": func(*mcp.CallToolParamsRaw) (*mcp.CallToolResult, error) {
			if tries++; tries%3 != 0 { // once without the gate, and once behind it
				return nil, callerror.NotBegun("Later.", "busy")
			}
			return &mcp.CallToolResult{}, nil
		},
	}
	for name, f := range outcomes {
		for kind, records := range stores {
			open, gated := newSite(t, setting{store: records(), layers: []string{}}), newSite(t, setting{store: records(), layers: []string{}})
			for _, s := range []*site{open, gated} {
				s.add(name, f)
				s.server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
					return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
						if call, ok := req.(*mcp.CallToolRequest); ok && call.Params.Name == "own" {
							return &other{mcp.ResultBase{Meta: mcp.Meta{"a": 1}}, "later", 1 << 60}, nil
						}
						return next(ctx, method, req)
					}
				})
			}
			_, err := gate.Install(gated.server, gated.rt, nil)
			require.NoError(t, err)
			answers := saying(wire.Accept(map[string]any{"approve": true}))
			answers["bin"] = wire.Accept(struct{}{})
			for _, client := range []*wire.Options{{Version: wire.Legacy}, {}} {
				tries = 0
				want, c := open.call(open.client(client), name, nil, answers), gated.client(client)
				got := gated.call(c, name, nil, answers)
				require.Equal(t, want.Error, got.Error, name)
				require.Len(t, got.Questions, len(want.Questions)+1, name)
				if want.Error == nil {
					require.JSONEq(t, string(want.Result), string(got.Result), name)
				}
				if kind == "none" && name != "busy" || client.Version == wire.Legacy {
					continue
				}
				gated.called()
				again := gated.send(c, name, "/a", got.States[0])
				if name == "busy" {
					require.Equal(t, "complete", again.ResultType)
					third := gated.send(c, name, "/a", got.States[0])
					if kind != "none" {
						require.Equal(t, again, third)
					}
					require.Equal(t, []string{"busy"}, gated.called())
					continue
				}
				require.Equal(t, got.Replies[1], again)
				require.Empty(t, gated.called())
			}
		}
	}
}

// A tool that ends without a result has had its call.
func TestABrokenToolIsCalledOnce(t *testing.T) {
	for name, end := range map[string]func(){"panic": func() { panic("on purpose") }, "Goexit": runtime.Goexit} {
		calls := 0
		s := newSite(t, setting{during: func(context.Context) { calls++; end() }})
		c := s.client(nil)
		out := s.call(c, "wipe", nil, yes)
		require.True(t, out.IsError, name)
		require.True(t, s.send(c, "wipe", "/a", out.States[0]).IsError)
		require.Equal(t, 1, calls)
	}
	s := newSite(t, setting{})
	s.add("silent", func(*mcp.CallToolParamsRaw) (*mcp.CallToolResult, error) { return nil, nil })
	require.Contains(t, s.call(s.client(nil), "silent", nil, yes).Error.Message, "neither a result nor an error")
}

// The tool is the one that the list shows now, on whichever page. One that it hides is not
// called, and nothing is called if it cannot be read.
func TestTheListDecides(t *testing.T) {
	var list func() (mcp.Result, error)
	s := newSite(t, setting{layers: []string{}})
	s.server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "tools/list" && list != nil {
				return list()
			}
			return next(ctx, method, req)
		}
	})
	_, err := gate.Install(s.server, s.rt, nil)
	require.NoError(t, err)
	c := s.client(nil)
	for _, name := range []string{"a", "b", "c", "read"} {
		mcp.AddTool(s.server, &mcp.Tool{Name: name, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: name != "read"}}, func(context.Context, *mcp.CallToolRequest, path) (*mcp.CallToolResult, any, error) {
			return nil, nil, nil
		})
	}
	require.Nil(t, s.call(c, "c", nil, nil).Error)
	require.Len(t, s.call(c, "read", nil, no).Questions, 1)
	require.Contains(t, s.call(c, "d", nil, yes).Error.Message, `unknown tool "d"`)
	list = func() (mcp.Result, error) { return &mcp.ListToolsResult{}, nil }
	require.Contains(t, s.call(c, "c", nil, yes).Error.Message, `unknown tool "c"`)
	list = func() (mcp.Result, error) { return nil, errors.New("no list") }
	require.EqualValues(t, jsonrpc.CodeInternalError, s.call(c, "c", nil, yes).Error.Code)
}

// A yes that comes ten times at once calls the tool once, also after its client has left,
// for as long as Within. With a store all get its result.
func TestOneYesIsOneCall(t *testing.T) {
	for kind, records := range stores {
		synctest.Test(t, func(t *testing.T) {
			s := newSite(t, setting{store: records(), gate: gate.Options{Within: time.Second}, during: func(ctx context.Context) {
				select {
				case <-time.After(2 * time.Second):
				case <-ctx.Done():
				}
			}})
			c := s.client(nil)
			asked := s.send(c, "wipe", "/a", "")
			replies := make([]*wire.Reply, 10)
			var all sync.WaitGroup
			for i := range replies {
				all.Go(func() { replies[i] = s.send(c, "wipe", "/a", asked.State) })
			}
			began, done := time.Now(), 0
			all.Wait()
			require.Equal(t, map[bool]time.Duration{true: time.Second, false: 2 * time.Second}[kind != "none"], time.Since(began))
			require.Equal(t, []string{"wipe /a"}, s.called())
			for _, reply := range replies {
				if reply.Text == "wipe done" {
					done++
				} else {
					require.Contains(t, reply.Text, "do not call the tool again without checking")
				}
			}
			require.Equal(t, map[bool]int{true: 10, false: 1}[kind != "none"], done, kind)

			asked = s.send(c, "wipe", "/a", "")
			_, err := c.Start(context.Background(), wire.Request{Name: "wipe", Arguments: path{"/a"}, State: asked.State, Responses: approved})
			require.NoError(t, err)
			synctest.Wait()
			require.NoError(t, c.Close())
			synctest.Wait()
			require.Equal(t, kind == "none", len(s.called()) == 1, "with a store it runs on")
			time.Sleep(2 * time.Second)
		})
	}
}

// An approval opens its call and no other, before the answer and after it: random requests
// with states of this and of other calls, tools, callers, servers and days, whole and damaged.
func TestAnApprovalOpensItsCallAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, setting{gate: gate.Options{Audience: "one"}}).as("ann")
		another := newServer()
		s.addTools(another)
		_, err := gate.Install(another, s.rt, &gate.Options{Audience: "two"})
		require.NoError(t, err)
		naive := func(p *mcp.CallToolParamsRaw) (*mcp.CallToolResult, error) { // believes any state
			if p.RequestState == "" {
				return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"bin": &mcp.ElicitParams{Message: "?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)}}, RequestState: "inner"}, nil
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: p.RequestState}}}, nil
		}
		type call struct{ tool, path, user string }
		var calls []call
		states := map[call][]string{}
		c, elsewhere := s.client(nil), connect(t, another, nil)
		for _, tool := range []string{"naive", "gullible"} {
			s.add(tool, naive)
			for _, at := range []string{"/a", "/b"} {
				for _, user := range []string{"ann", "bob"} {
					s.as(user)
					asked := s.send(c, tool, at, "")
					passed := s.send(c, tool, at, asked.State)
					require.Equal(t, "bin", passed.Asks[0].Key)
					calls, states[call{tool, at, user}] = append(calls, call{tool, at, user}), []string{asked.State, passed.State}
				}
			}
		}
		foreign := s.as("ann").send(elsewhere, "wipe", "/a", "").State
		r := rand.New(rand.NewPCG(1, 1))
		for range 300 {
			at, of := calls[r.IntN(len(calls))], calls[r.IntN(len(calls))]
			state := states[of][r.IntN(2)]
			cut := r.IntN(len(state))
			state = []string{state, state[:cut], state[:cut] + "!" + state[cut+1:], "inner", foreign, state + state}[max(0, r.IntN(9)-3)]
			s.as(at.user).called()
			reply := s.send(c, at.tool, at.path, state)
			switch {
			case at == of && state == states[of][1]:
				require.Equal(t, "inner", reply.Text)
				require.Len(t, s.called(), 1)
			case at == of && state == states[of][0]:
				require.Contains(t, reply.Text, "do not call the tool again", "it is spent")
			case state == "":
				require.Equal(t, "gate.approve", reply.Asks[0].Key, "answers without a state are none")
			default:
				require.Equal(t, statecodec.Refusal, reply.Error.Message)
			}
		}
		s.called()
		time.Sleep(time.Hour + time.Minute)
		for _, state := range states[calls[0]] {
			require.Equal(t, statecodec.Refusal, s.as("ann").send(c, "naive", "/a", state).Error.Message)
		}
		require.Empty(t, s.called())
		require.NoError(t, errors.Join(c.Close(), elsewhere.Close()))
	})
}

// One gate serves the servers that a program makes for each request. The gates of two servers
// with one runtime need audiences.
func TestSeveralServers(t *testing.T) {
	s := newSite(t, setting{})
	another := newServer()
	for range 3 {
		server := newServer()
		s.addTools(server)
		s.gate.Install(server)
		require.Len(t, s.call(connect(t, server, nil), "wipe", nil, yes).Questions, 1)
	}
	require.Len(t, s.called(), 3)
	s.addTools(another)
	_, err := gate.Install(another, s.rt, nil)
	require.NoError(t, err)
	require.Contains(t, s.call(connect(t, another, nil), "wipe", nil, yes).Text, "its server is not set up correctly")
	require.Empty(t, s.called())
}

// A tool with a policy of its own asks before it is a task. It becomes one then, if the tasks
// are inside the gate.
func TestAToolThatIsATaskByItself(t *testing.T) {
	s := newSite(t, setting{layers: []string{"tasks", "gate"}})
	mcp.AddTool(s.server, &mcp.Tool{Name: "own"}, s.asks(&mrtr.HandlerOptions{Task: mrtr.TaskPolicy{AtOnce: true}}))
	out := s.call(s.client(ways["task"]), "own", nil, yes)
	require.Len(t, out.Questions, 2)
	require.Empty(t, out.Replies[0].Task)
	require.NotEmpty(t, out.Replies[1].Task)
	require.Equal(t, []string{"asks /a paper"}, s.called())
}

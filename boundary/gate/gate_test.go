package gate_test

import (
	"context"
	"encoding/json"
	"errors"
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
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/tasks"
	"github.com/mrtr-go/sdk/transport/mcphttp"
)

// The gate asks in three ways, with and without a store, around and inside of a boundary and
// tasks: an approved call runs once, and no other runs.
func TestADestructiveCallAsksFirst(t *testing.T) {
	orders := map[string][]string{
		"alone": {"gate", "tasks"}, "behind tasks": {"tasks", "gate"}, "in a boundary": {"gate", "boundary", "tasks"}, "around all": {"boundary", "tasks", "gate"},
	}
	stores := map[string]func() store.Store{
		"no store": func() store.Store { return nil }, "memory": func() store.Store { return store.NewMemory(nil) }, "shared": func() store.Store { return machine{store.NewMemory(nil)} },
	}
	for way, client := range ways {
		for order, layers := range orders {
			for kind, records := range stores {
				t.Run(way+"/"+order+"/"+kind, func(t *testing.T) {
					at := map[string]tasks.Policy{"wipe": {AtOnce: true}, "bare": {AtOnce: true}}
					s := newSite(t, setting{store: records(), layers: layers, tasks: &tasks.Options{Policy: at}})
					c := s.client(client)
					for _, tool := range []string{"read", "write"} {
						out := s.call(c, tool, nil, nil)
						require.Empty(t, out.Questions)
						require.Equal(t, tool+" done", out.Text)
						require.Equal(t, []string{tool + " /a"}, s.called())
					}
					for _, tool := range []string{"wipe", "bare"} {
						out := s.call(c, tool, nil, yes)
						require.Len(t, out.Questions, 1)
						inTask := way == "task" && layers[len(layers)-1] == "tasks" // else the task begins after the answer
						require.Equal(t, inTask, out.Replies[0].Task != "")
						require.Contains(t, out.Questions[0].Message, "path: \"/a\"")
						require.Nil(t, out.Error)
						require.Equal(t, tool+" done", out.Text)
						require.Equal(t, []string{tool + " /a"}, s.called())
						if way != "legacy" {
							require.Equal(t, "complete", out.ResultType)
						}

						for name, answers := range map[string]wire.Answers{"no": no, "declined": saying(wire.Decline), "dismissed": saying(wire.Cancel)} {
							out := s.call(c, tool, nil, answers)
							require.True(t, out.IsError, name)
							require.Contains(t, out.Text, "the user did not approve the call of \""+tool+"\", and it was not made")
							require.Empty(t, s.called(), name)
						}
					}
					out := s.call(c, "asks", nil, yes)
					require.Len(t, out.Questions, 2)
					require.JSONEq(t, `{"bin":"paper"}`, string(out.Structured))
					require.Equal(t, []string{"asks", "asks /a paper"}, s.called())
				})
			}
		}
	}
}

// A client that cannot be asked is refused, as by any tool of ours.
func TestAClientThatCannotBeAsked(t *testing.T) {
	for way, client := range map[string]wire.Options{
		"modern": {Capabilities: wire.Nothing}, "legacy": {Version: wire.Legacy, Capabilities: wire.URLOnly}, "negotiated down": {Handshake: true},
	} {
		t.Run(way, func(t *testing.T) {
			s := newSite(t, setting{})
			out := s.call(s.client(&client), "wipe", nil, yes)
			require.Empty(t, out.Questions)
			require.Empty(t, s.called())
			if way == "modern" {
				require.EqualValues(t, mcp.CodeMissingRequiredClientCapabilities, out.Error.Code)
				return
			}
			require.True(t, out.IsError)
			require.Contains(t, out.Text, "This client cannot be asked")
		})
	}
}

func TestAskDecidesByTheArguments(t *testing.T) {
	ask := func(tool *mcp.Tool, arguments json.RawMessage) bool {
		var in path
		require.NoError(t, json.Unmarshal(arguments, &in))
		if in.Path == "panic" {
			panic("on purpose")
		}
		return tool.Name == "read" && in.Path == "/etc"
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
	require.Empty(t, s.called())

	s = newSite(t, setting{gate: gate.Options{Ask: gate.Tiers(boundary.Write, boundary.ReadOnly)}})
	c = s.client(nil)
	for tool, asked := range map[string]int{"read": 1, "write": 1, "wipe": 0, "bare": 0} {
		require.Len(t, s.call(c, tool, nil, yes).Questions, asked, tool)
	}
}

// The answers of a tool behind the gate are those that it has without one, and a repeated yes
// gets the same again.
func TestAnswersPassAsTheyAre(t *testing.T) {
	tools := map[string]mcp.ToolHandler{
		"protocol": func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return nil, &jsonrpc.Error{Code: -7, Message: "broken", Data: json.RawMessage(`{"a":1}`)}
		},
		"error": func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return nil, errors.New("plain")
		},
		"failed": func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "no"}}, StructuredContent: map[string]any{"b": 2}}, nil
		},
		"rich": func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Meta: mcp.Meta{"c": 3}, Content: []mcp.Content{&mcp.ImageContent{Data: []byte("x"), MIMEType: "image/png"}}, StructuredContent: 4}, nil
		},
		"nothing": func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		},
		"asking": func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if len(req.Params.InputResponses) == 0 {
				return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"q": &mcp.ElicitParams{Message: "Why?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)}}}, nil
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "because" + req.Params.RequestState}}}, nil
		},
	}
	for name, handler := range tools {
		for _, stored := range []bool{false, true} {
			s := setting{layers: []string{}}
			if stored {
				s.store = machine{store.NewMemory(nil)}
			}
			open, gated := newSite(t, s), newSite(t, s)
			tool := &mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}
			calls := 0
			open.server.AddTool(tool, handler)
			gated.server.AddTool(tool, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				calls++
				return handler(ctx, req)
			})
			_, err := gate.Install(gated.server, gated.rt, nil)
			require.NoError(t, err)
			why := wire.Answers{"gate.approve": yes["approve"], "q": wire.Accept(struct{}{})}
			for _, client := range []*wire.Options{{}, {Version: wire.Legacy}} {
				want := open.call(open.client(client), name, nil, why)
				c := gated.client(client)
				why["elicitation/create"], why["approve"] = wire.Accept(struct{}{}), yes["approve"]
				got := gated.call(c, name, nil, why)
				require.Equal(t, want.Error, got.Error, name)
				require.Len(t, got.Questions, len(want.Questions)+1, name)
				if want.Error == nil {
					require.JSONEq(t, string(want.Result), string(got.Result), name)
				}
				if !stored || client.Version == wire.Legacy {
					continue
				}
				again := gated.send(c, wire.Request{Name: name, Arguments: path{"/a"}, State: got.States[0], Responses: response})
				require.Equal(t, got.Replies[1], again)
				require.Equal(t, got.Rounds-1, calls, name)
			}
		}
	}
}

// So does a result of another type, with all that it has.
func TestAResultOfAnotherType(t *testing.T) {
	type other struct {
		mcp.ResultBase
		ResultType string `json:"resultType"`
		Due        int64  `json:"due"`
	}
	instead := func(mcp.MethodHandler) mcp.MethodHandler {
		return func(_ context.Context, method string, _ mcp.Request) (mcp.Result, error) {
			if method == "tools/list" {
				return &mcp.ListToolsResult{Tools: []*mcp.Tool{{Name: "own"}}}, nil
			}
			return &other{mcp.ResultBase{Meta: mcp.Meta{"a": 1}}, "later", 1 << 60}, nil
		}
	}
	at := setting{store: machine{store.NewMemory(nil)}, layers: []string{}}
	open, gated := newSite(t, at), newSite(t, at)
	for _, s := range []*site{open, gated} {
		s.server.AddReceivingMiddleware(instead)
	}
	_, err := gate.Install(gated.server, gated.rt, nil)
	require.NoError(t, err)
	want, c := open.call(open.client(nil), "own", nil, nil), gated.client(nil)
	require.Contains(t, string(want.Result), `"a":1`)
	got := gated.call(c, "own", nil, yes)
	require.JSONEq(t, string(want.Result), string(got.Result))
	again := gated.send(c, wire.Request{Name: "own", Arguments: path{"/a"}, State: got.States[0], Responses: response})
	require.JSONEq(t, string(want.Result), string(again.Result))
}

// A handler that returns nothing leaves an error.
func TestAToolThatReturnsNothing(t *testing.T) {
	s := newSite(t, setting{})
	s.server.AddTool(&mcp.Tool{Name: "silent", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, nil })
	require.Contains(t, s.call(s.client(nil), "silent", nil, yes).Error.Message, "neither a result nor an error")
}

// A tool that panics or ends its goroutine has had its call.
func TestABrokenToolIsCalledOnce(t *testing.T) {
	for name, end := range map[string]func(){"panic": func() { panic("on purpose") }, "Goexit": runtime.Goexit} {
		calls := 0
		s := newSite(t, setting{during: func(context.Context) { calls++; end() }})
		c := s.client(nil)
		out := s.call(c, "wipe", nil, yes)
		require.True(t, out.IsError, name)
		require.True(t, s.send(c, wire.Request{Name: "wipe", Arguments: path{"/a"}, State: out.States[0], Responses: response}).IsError)
		require.Equal(t, 1, calls)
	}
}

// The tool is the one that the list shows now, on whichever page. One that it hides is not
// called, and nothing is called if it cannot be read.
func TestTheListDecides(t *testing.T) {
	hides, fails := false, false
	server := mcp.NewServer(&mcp.Implementation{Name: "files", Version: "1"}, &mcp.ServerOptions{PageSize: 1})
	s := newSite(t, setting{})
	called := 0
	add := func(name string, readOnly bool) {
		mcp.AddTool(server, &mcp.Tool{Name: name, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: readOnly}}, func(context.Context, *mcp.CallToolRequest, path) (*mcp.CallToolResult, any, error) {
			called++
			return nil, nil, nil
		})
	}
	for _, name := range []string{"a", "b", "c"} {
		add(name, true)
	}
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			switch {
			case method == "tools/list" && fails:
				return nil, errors.New("no list")
			case method == "tools/list" && hides:
				return &mcp.ListToolsResult{}, nil
			}
			return next(ctx, method, req)
		}
	})
	g, err := gate.New(s.rt, nil)
	require.NoError(t, err)
	g.Install(server)
	s.server = server
	c := s.client(nil)
	require.Nil(t, s.call(c, "c", nil, nil).Error)
	add("c", false)
	require.Len(t, s.call(c, "c", nil, no).Questions, 1)
	require.Equal(t, 1, called)
	require.Contains(t, s.call(c, "d", nil, yes).Error.Message, `unknown tool "d"`)
	hides = true
	require.Contains(t, s.call(c, "a", nil, yes).Error.Message, `unknown tool "a"`)
	fails = true
	require.EqualValues(t, jsonrpc.CodeInternalError, s.call(c, "a", nil, yes).Error.Code)
	require.Equal(t, 1, called)
}

func TestOptionsThatCannotBeUsed(t *testing.T) {
	s := newSite(t, setting{layers: []string{}})
	for _, o := range []*gate.Options{{Within: -1}, {Remember: gate.Remember{For: -1}}, {Remember: gate.Remember{For: 1}}, {Remember: gate.Remember{For: 2 * store.MaxTTL}}} {
		_, err := gate.Install(s.server, s.rt, o)
		require.ErrorAs(t, err, new(*mrtr.UsageError))
	}
	_, err := gate.Install(s.server, nil, nil)
	require.ErrorAs(t, err, new(*mrtr.UsageError))
	_, err = gate.Install(nil, s.rt, nil)
	require.ErrorAs(t, err, new(*mrtr.UsageError))
}

// A tool with a policy of its own asks before it is a task. It becomes one then, if the tasks
// are inside the gate; otherwise it may as well go on by round trips.
func TestAToolThatIsATaskByItself(t *testing.T) {
	for _, layers := range [][]string{{"gate", "tasks"}, {"tasks", "gate"}} {
		s := newSite(t, setting{layers: layers, tasks: &tasks.Options{}})
		mcp.AddTool(s.server, &mcp.Tool{Name: "own"}, mrtr.Tool(s.rt, mrtr.Native(func(_ context.Context, c *mrtr.Call, _ path) (*mrtr.IncompleteResult, map[string]string, error) {
			chosen, ok := mrtr.Answer(c, bin)
			if !ok {
				return mrtr.Need(bin), nil, nil
			}
			s.note("own")
			return nil, map[string]string{"bin": chosen}, nil
		}), &mrtr.HandlerOptions{Task: mrtr.TaskPolicy{AtOnce: true}}))
		out := s.call(s.client(ways["task"]), "own", nil, yes)
		require.JSONEq(t, `{"bin":"paper"}`, string(out.Structured))
		require.Len(t, out.Questions, 2)
		require.Empty(t, out.Replies[0].Task)
		if layers[0] == "tasks" {
			require.NotEmpty(t, out.Replies[1].Task)
		}
		require.Equal(t, []string{"own"}, s.called())
	}
}

// A yes that comes ten times at once calls the tool once. With a store all get its result.
func TestOneYesIsOneCall(t *testing.T) {
	for kind, records := range map[string]store.Store{"no store": nil, "memory": store.NewMemory(nil), "shared": machine{store.NewMemory(nil)}} {
		t.Run(kind, func(t *testing.T) {
			const times = 10
			arrived := make(chan struct{}, times)
			s := newSite(t, setting{store: records, during: func(context.Context) {
				arrived <- struct{}{}
				time.Sleep(20 * time.Millisecond) // so that the others come meanwhile
			}})
			c := s.client(nil)
			asked := s.send(c, wire.Request{Name: "wipe", Arguments: path{"/a"}})
			replies := make([]*wire.Reply, times)
			var all sync.WaitGroup
			for i := range replies {
				all.Go(func() {
					replies[i], _ = c.Send(context.Background(), wire.Request{Name: "wipe", Arguments: path{"/a"}, State: asked.State, Responses: response})
				})
			}
			all.Wait()
			require.Equal(t, []string{"wipe /a"}, s.called())
			require.Len(t, arrived, 1)
			done := 0
			for _, reply := range replies {
				require.NotNil(t, reply)
				if reply.Text == "wipe done" {
					done++
				} else {
					require.Contains(t, reply.Text, "do not call the tool again without checking")
				}
			}
			require.Equal(t, map[bool]int{true: times, false: 1}[records != nil], done)
		})
	}
}

// A tool that says it was not begun may be called again with the same approval.
func TestAToolThatWasNotBegun(t *testing.T) {
	s := newSite(t, setting{store: machine{store.NewMemory(nil)}})
	tries := 0
	s.server.AddTool(&mcp.Tool{Name: "busy", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if tries++; tries == 1 {
			return nil, callerror.NotBegun("Later.", "busy")
		}
		return &mcp.CallToolResult{}, nil
	})
	c := s.client(nil)
	out := s.call(c, "busy", nil, yes)
	require.EqualValues(t, callerror.CodeNotBegun, out.Error.Code)
	for range 2 {
		require.Equal(t, "complete", s.send(c, wire.Request{Name: "busy", Arguments: path{"/a"}, State: out.States[0], Responses: response}).ResultType)
		require.Equal(t, 2, tries)
	}
}

// With a store an approved call runs on when its client has left, for as long as Within.
func TestWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var began time.Time
		s := newSite(t, setting{store: store.NewMemory(nil), gate: gate.Options{Within: time.Minute}, during: func(ctx context.Context) {
			began = time.Now()
			<-ctx.Done()
		}})
		c := s.client(nil)
		asked := s.send(c, wire.Request{Name: "wipe", Arguments: path{"/a"}})
		_, err := c.Start(context.Background(), wire.Request{Name: "wipe", Arguments: path{"/a"}, State: asked.State, Responses: response})
		require.NoError(t, err)
		synctest.Wait()
		require.NoError(t, c.Close())
		time.Sleep(59 * time.Second)
		synctest.Wait()
		require.Empty(t, s.called())
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Equal(t, []string{"wipe /a"}, s.called())
		require.Equal(t, 61*time.Second, time.Since(began))
	})
}

// Over HTTP a gate is on both ways to the server, and asks both eras.
func TestOverHTTP(t *testing.T) {
	for _, stock := range []bool{false, true} {
		s := newSite(t, setting{layers: []string{"gate", "boundary"}})
		handler, err := mcphttp.NewHandler(func(*http.Request) *mcp.Server { return s.server }, &mcphttp.HandlerOptions{StockFront: stock})
		require.NoError(t, err)
		web := httptest.NewServer(handler)
		for way, o := range ways {
			c, err := wire.DialHTTP(context.Background(), web.URL, nil, o)
			require.NoError(t, err)
			require.Equal(t, "wipe done", s.call(c, "wipe", nil, yes).Text, way)
			require.True(t, s.call(c, "wipe", nil, saying(wire.Decline)).IsError)
			require.Equal(t, []string{"wipe /a"}, s.called())
			require.NoError(t, c.Close())
		}
		web.Close()
	}
}

// A boundary outside knows a decline from a fault.
func TestABoundaryReadsADecline(t *testing.T) {
	s := newSite(t, setting{layers: []string{"gate", "boundary"}})
	for _, client := range ways {
		require.Contains(t, string(s.call(s.client(client), "wipe", nil, saying(wire.Decline)).Result), `"type":"declined"`)
	}
}

// A question that cannot be asked, and a caller who cannot be identified, end the call.
func TestWithoutAQuestionThereIsNoCall(t *testing.T) {
	for why, message := range map[string]func(*mcp.Tool, json.RawMessage) string{
		"empty": func(*mcp.Tool, json.RawMessage) string { return "" },
		"panic": func(*mcp.Tool, json.RawMessage) string { panic("on purpose") },
	} {
		s := newSite(t, setting{gate: gate.Options{Message: message}})
		require.True(t, s.call(s.client(nil), "wipe", nil, yes).IsError, why)
		require.Empty(t, s.called())
	}
	s := newSite(t, setting{gate: gate.Options{Remember: gate.Remember{For: time.Hour}}}).as("unknown")
	require.Contains(t, s.call(s.client(nil), "wipe", nil, yes).Text, "its sender is not identified")
	require.Empty(t, s.called())
}

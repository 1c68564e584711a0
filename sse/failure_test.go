package sse_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/callerror"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/sse"
	"github.com/mrtr-go/sdk/sse/era"
)

// ask asks one question in every round.
func ask(key string, q mcp.InputRequest) handler {
	return func(string, mcp.InputResponseMap) turn { return turn{questions: mcp.InputRequestMap{key: q}} }
}

func idle(string, mcp.InputResponseMap) turn {
	return turn{questions: mcp.InputRequestMap{}, state: "s"}
}

func two(string, mcp.InputResponseMap) turn {
	return turn{questions: mcp.InputRequestMap{"q": wire.TextForm("q?", "q"), "r": &mcp.ListRootsParams{}}}
}

func then(_ string, answers mcp.InputResponseMap) turn {
	return map[bool]handler{false: asking, true: ask("s", &mcp.CreateMessageParams{})}[len(answers) > 0]("", nil)
}

func half(string, mcp.InputResponseMap) turn { return turn{asking("", nil).questions, "", true} }

var failures = []struct {
	handler handler
	opts    sse.BridgeOptions
	caps    wire.Capabilities
	answer  wire.Answer
	asked   int
	want    string // reason, key and text
}{
	{asking, sse.BridgeOptions{}, wire.FormOnly, wire.Silent, 1, `timed_out q: question "q": not answered within 10m0s`},
	{asking, sse.BridgeOptions{AnswerTimeout: time.Second}, wire.FormOnly, wire.Silent, 1, `timed_out q: question "q": not answered within 1s`},
	{asking, sse.BridgeOptions{}, wire.FormOnly, yes, 9, `endless : the handler asked in more than 9 rounds`},
	{asking, sse.BridgeOptions{MaxRounds: 2}, wire.FormOnly, yes, 2, `endless : the handler asked in more than 2 rounds`},
	{idle, sse.BridgeOptions{}, wire.FormOnly, nil, 0, `endless : the handler asked to be called again without a question more than 2 times`},
	{idle, sse.BridgeOptions{MaxStateRounds: 5}, wire.FormOnly, nil, 0, `endless : the handler asked to be called again without a question more than 5 times`},
	{asking, sse.BridgeOptions{}, wire.URLOnly, nil, 0, `undeclared q: question "q": this client does not support form elicitation`},
	{ask("u", &mcp.ElicitParams{Message: "u", URL: "https://u.example"}), sse.BridgeOptions{}, wire.FormOnly, nil, 0, `undeclared u: question "u": this client does not support url elicitation`},
	{ask("s", &mcp.CreateMessageWithToolsParams{ToolChoice: &mcp.ToolChoice{}}), sse.BridgeOptions{}, `{"sampling":{}}`, nil, 0, `undeclared s: question "s": this client does not support sampling with tools`},
	{two, sse.BridgeOptions{}, wire.FormOnly, yes, 0, `undeclared r: question "r": this client does not support roots`},
	{then, sse.BridgeOptions{}, wire.FormOnly, yes, 1, `undeclared s: question "s": this client does not support sampling`},
	{asking, sse.BridgeOptions{}, "", nil, 0, `unreachable q: question "q": this client cannot be asked: its requests come without a stream that could carry the question`},
	{asking, sse.BridgeOptions{}, wire.FormOnly, wire.Fail(-32603, "no screen"), 1, `failed q: question "q": got no answer: calling "elicitation/create": no screen`},
	{ask("n", nil), sse.BridgeOptions{}, wire.FormOnly, nil, 0, `malformed n: question "n": the handler asked with a <nil> that cannot be sent`},
	{ask("n", (*mcp.ElicitParams)(nil)), sse.BridgeOptions{}, wire.FormOnly, nil, 0, `malformed n: question "n": the handler asked with a *mcp.ElicitParams that cannot be sent`},
	{half, sse.BridgeOptions{}, wire.FormOnly, nil, 0, `malformed : the handler returned content and questions in one result`},
}

// Each failure of a tool is an error result. Prompts and resources have none, and end with a
// JSON-RPC error that has a code of its own. The typed error is there for the middleware.
func TestFailures(t *testing.T) {
	require.NotEmpty(t, failures)
	for _, c := range failures {
		synctest.Test(t, func(t *testing.T) {
			server := serve(&c.opts, c.handler)
			var ended error
			server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
				return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
					res, err := next(ctx, method, req)
					if tool, ok := res.(*mcp.CallToolResult); ok && err == nil {
						ended = tool.GetError()
					} else {
						ended = err
					}
					return res, err
				}
			})
			as := &wire.Options{Version: wire.Legacy, Handshake: true, Capabilities: c.caps, Answers: wire.Answers{"*": c.answer}}
			if c.caps == "" { // a client that go-sdk negotiates down
				as.Version = wire.Modern
			}
			for name, request := range doors {
				client := connect(t, server, as)
				began := time.Now()
				reply, err := client.Send(t.Context(), request)
				require.NoError(t, err)
				var failed *sse.Error
				require.ErrorAs(t, ended, &failed)
				require.Equal(t, c.want, fmt.Sprintf("%s %s: %v", failed.Reason, failed.Key, failed), name)
				require.Equal(t, failed.Timeout(), time.Since(began) == cmp.Or(c.opts.AnswerTimeout, 10*time.Minute))
				require.Equal(t, failed.Reason == sse.TimedOut, failed.Timeout())
				expected, code := true, int64(callerror.CodeStopped)
				if failed.Reason == sse.Endless || failed.Reason == sse.Malformed {
					expected, code = false, jsonrpc.CodeInternalError
				}
				if request.Method == "" {
					require.True(t, reply.IsError && !reply.Incomplete() && reply.State == "" && reply.Structured == nil, c.want)
					require.Equal(t, failed.Error(), reply.Text)
				} else {
					require.NotNil(t, reply.Error, c.want)
					require.Equal(t, failed.Error(), reply.Error.Message)
					require.Equal(t, code, reply.Error.Code)
				}
				require.Len(t, client.Asked(), c.asked, c.want)
				require.Equal(t, expected, failed.ToolErrorExpected())
				require.Equal(t, expected, len(failed.ToolErrorHints()) > 0)
				require.Equal(t, "legacy_"+string(failed.Reason), failed.ToolErrorType())
			}
		})
	}
}

type explosive struct{}

func (explosive) MarshalJSON() ([]byte, error) { panic("boom") }

// A handler's error is the call's. A panic while a question is put surfaces where the handler
// runs, so that what guards the handler guards this too.
func TestErrorsAndPanicsAreTheHandlers(t *testing.T) {
	for _, c := range []struct {
		q    *mcp.ElicitParams
		want string
	}{
		{nil, "no such place, <nil>"},
		{&mcp.ElicitParams{Message: "q?", RequestedSchema: explosive{}}, "<nil>, boom"},
		{&mcp.ElicitParams{Message: "q?", Meta: mcp.Meta{"explodes when it is sent": explosive{}}}, "<nil>, boom"},
	} {
		bridged := sse.BridgeTool(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if c.q == nil {
				return nil, errors.New("no such place")
			}
			return need("", mcp.InputRequestMap{"q": c.q})
		}, nil)
		client := connect(t, rawServer(func(ctx context.Context, req *mcp.CallToolRequest) (res *mcp.CallToolResult, err error) {
			defer func() { res, err = say("%v, %v", err, recover()) }()
			return bridged(ctx, req)
		}), &wire.Options{Version: wire.Legacy})
		out, err := client.Call(t.Context(), "tool", map[string]any{}, wire.Answers{"*": yes})
		require.NoError(t, err)
		require.Equal(t, c.want, out.Text)
	}
}

func TestNegativeOptionsAreMisuse(t *testing.T) {
	for _, o := range []sse.BridgeOptions{{MaxRounds: -1}, {MaxStateRounds: -1}, {AnswerTimeout: -1}, {ProgressInterval: -1}} {
		_, misuse := sse.Ask(t.Context(), nil, nil, &o)
		require.ErrorAs(t, misuse, new(*sse.UsageError), "a running server is not stopped")
		require.PanicsWithError(t, misuse.Error(), func() { serve(&o, asking) })
		require.PanicsWithError(t, misuse.Error(), func() { sse.NewRounds(era.Client{}, nil, &mcp.CallToolParamsRaw{}, &o) })
	}
}

// The end of a call, and the failure of one question, reach the others: the client is told
// that they are moot.
func TestWhatEndsACallCancelsItsQuestions(t *testing.T) {
	for _, hangUp := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			ended := make(chan error, 1)
			bridged := sse.BridgeTool(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return need("", mcp.InputRequestMap{"bad": wire.TextForm("bad?", "bad"), "slow": wire.TextForm("slow?", "slow")})
			}, nil)
			client := connect(t, rawServer(func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				res, err := bridged(ctx, req)
				ended <- res.GetError()
				return res, err
			}), &wire.Options{Version: wire.Legacy, Answers: wire.Answers{"slow": wire.Silent, "bad": func(q wire.Question) any {
				time.Sleep(time.Second)
				return wire.Fail(-1, "no")(q)
			}}})
			p, err := client.Start(t.Context(), doors["BridgeTool"])
			require.NoError(t, err)
			synctest.Wait()
			require.Len(t, client.Asked(), 2)
			require.Empty(t, ended)
			want, moot := sse.Failed, 1
			if hangUp {
				want, moot = sse.Interrupted, 2
				params, err := json.Marshal(map[string]any{"requestId": p.ID.Raw()})
				require.NoError(t, err)
				require.NoError(t, client.Write(t.Context(), &jsonrpc.Request{Method: "notifications/cancelled", Params: params}))
			}
			var failed *sse.Error
			require.ErrorAs(t, <-ended, &failed)
			require.Equal(t, want, failed.Reason)
			require.Equal(t, hangUp, errors.Is(failed, context.Canceled))
			time.Sleep(time.Second)
			require.Len(t, client.Notifications("notifications/cancelled"), moot)
		})
	}
}

// TestMain collects garbage rarely: go-sdk leaves 32 KiB of it for each message.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	m.Run()
}

// turn is what a handler returns in one round. It is done if it asks nothing.
type turn struct {
	questions mcp.InputRequestMap
	state     string
	content   bool // beside the questions
}

// handler is one of any kind: it sees the state and the answers of its request.
type handler func(state string, answers mcp.InputResponseMap) turn

// doors are the requests that reach the handler of serve, one for each Bridge function.
var doors = map[string]wire.Request{
	"BridgeTool":     {Name: "tool", Arguments: map[string]any{"list": []string{"one"}}},
	"Bridge":         {Name: "typed", Arguments: map[string]any{"list": []string{"one"}}},
	"BridgePrompt":   {Method: "prompts/get", Name: "prompt"},
	"BridgeResource": {Method: "resources/read", Name: "r://x"},
}

func serve(opts *sse.BridgeOptions, h handler) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "doors", Version: "1"}, nil)
	tool := func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		// A round that ruins all it was given leaves the next round's untouched.
		if given := fmt.Sprintf("%s %s %s %s", req.Params.Name, req.Params.Arguments, req.Extra.Header, req.Params.Meta["note"]); strings.Contains(given, "ruined") {
			panic(given)
		}
		req.Params.Name = "ruined"
		copy(req.Params.Arguments, "{ruined")
		req.Extra.Header.Set("X", "ruined")
		req.Params.Meta["note"].(map[string]any)["x"] = "ruined"
		next := h(req.Params.RequestState, req.Params.InputResponses)
		res := &mcp.CallToolResult{InputRequests: next.questions, RequestState: next.state}
		if next.questions == nil || next.content {
			res.Content = []mcp.Content{&mcp.TextContent{Text: "done"}}
		}
		return res, nil
	}
	server.AddTool(&mcp.Tool{Name: "tool", InputSchema: map[string]any{"type": "object"}}, sse.BridgeTool(tool, opts))
	mcp.AddTool(server, &mcp.Tool{Name: "typed"}, sse.Bridge(func(ctx context.Context, req *mcp.CallToolRequest, in map[string][]string) (*mcp.CallToolResult, any, error) {
		if in["list"][0] == "ruined" {
			panic(in)
		}
		in["list"][0] = "ruined"
		res, err := tool(ctx, req)
		return res, nil, err
	}, opts))
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if call, ok := req.(*mcp.CallToolRequest); ok {
				call.Extra = &mcp.RequestExtra{Header: http.Header{"X": {"kept"}}}
				if call.Params.Meta == nil {
					call.Params.Meta = mcp.Meta{}
				}
				call.Params.Meta["note"] = map[string]any{"x": "kept"}
			}
			return next(ctx, method, req)
		}
	})
	server.AddPrompt(&mcp.Prompt{Name: "prompt"}, sse.BridgePrompt(func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		next := h(req.Params.RequestState, req.Params.InputResponses)
		res := &mcp.GetPromptResult{InputRequests: next.questions, RequestState: next.state}
		if next.questions == nil || next.content {
			res.Messages = []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "done"}}}
		}
		return res, nil
	}, opts))
	server.AddResource(&mcp.Resource{Name: "resource", URI: "r://x"}, sse.BridgeResource(func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		next := h(req.Params.RequestState, req.Params.InputResponses)
		res := &mcp.ReadResourceResult{InputRequests: next.questions, RequestState: next.state}
		if next.questions == nil || next.content {
			res.Contents = []*mcp.ResourceContents{{URI: "r://x", Text: "done"}}
		}
		return res, nil
	}, opts))
	return server
}

func connect(t testing.TB, server *mcp.Server, opts *wire.Options) *wire.Client {
	t.Helper()
	client, err := wire.Connect(t.Context(), server, opts)
	require.NoError(t, err)
	t.Cleanup(func() { client.Close() })
	return client
}

var yes = wire.Value("yes")

// asking asks for one text in every round.
func asking(string, mcp.InputResponseMap) turn {
	return turn{questions: mcp.InputRequestMap{"q": wire.TextForm("q?", "q")}, state: "s"}
}

// rawServer is a server whose tool "tool" has the handler h.
func rawServer(h mcp.ToolHandler) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "raw", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "tool", InputSchema: map[string]any{"type": "object"}}, h)
	return server
}

func say(format string, args ...any) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}}}, nil
}

func need(state string, questions mcp.InputRequestMap) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{InputRequests: questions, RequestState: state}, nil
}

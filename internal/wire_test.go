package internal_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
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
)

// newTwoRounds has a tool that asks "a", then "b", and returns the answers as it got
// them. It checks nothing, so any check must be the client's.
func newTwoRounds() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
	ask := func(key, state string) *mcp.CallToolResult {
		schema := json.RawMessage(`{"type":"object","properties":{"` + key + `":{"type":"string"}}}`)
		return &mcp.CallToolResult{RequestState: state, InputRequests: mcp.InputRequestMap{
			key: &mcp.ElicitParams{Mode: "form", Message: key + "?", RequestedSchema: schema},
		}}
	}
	server.AddTool(&mcp.Tool{Name: "two", InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		switch req.Params.RequestState {
		case "":
			return ask("a", "1"), nil
		case "1":
			return ask("b", "2"), nil
		}
		said, _ := json.Marshal(req.Params.InputResponses)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(said)}}}, nil
	})
	return server
}

func connect(t *testing.T, opts *wire.Options) *wire.Client {
	client, err := wire.Connect(t.Context(), newTwoRounds(), opts)
	require.NoError(t, err)
	t.Cleanup(func() { client.Close() })
	return client
}

func TestCallGoesThroughTheRounds(t *testing.T) {
	client := connect(t, nil)
	out, err := client.Call(t.Context(), "two", nil, wire.Answers{"a": wire.Value("x"), "*": wire.Raw(`{"action":"banana"}`)})
	require.NoError(t, err)
	require.Equal(t, 3, out.Rounds)
	require.Equal(t, 3, client.Requests("tools/call"))
	require.Equal(t, []string{"1", "2"}, out.States)
	require.Equal(t, "complete", out.ResultType)
	require.Equal(t, `{"b":{"action":"banana"}}`, out.Text, "the last round's answers only, unchecked")
	require.Len(t, out.Questions, 2)
	require.Equal(t, "a?", out.Questions[0].Message)
	require.JSONEq(t, `{"type":"object","properties":{"a":{"type":"string"}}}`, string(out.Questions[0].Schema))
	require.Empty(t, client.Asked())
}

func TestAnswersInTurn(t *testing.T) {
	answer := wire.InTurn(wire.Value(1), wire.Missing, wire.Decline)
	q := wire.Question{Key: "k"}
	require.Equal(t, map[string]any{"action": "accept", "content": map[string]any{"k": 1}}, answer(q))
	require.Nil(t, answer(q))
	require.Equal(t, wire.Decline(q), answer(q))
	require.Equal(t, wire.Decline(q), answer(q))
}

func TestMessagesHoldEverything(t *testing.T) {
	client := connect(t, &wire.Options{Version: wire.Legacy, Capabilities: wire.Nothing})
	_, err := client.Call(t.Context(), "two", nil, nil)
	require.NoError(t, err)
	var sent, received []string
	for _, m := range client.Messages() {
		if m.Sent {
			sent = append(sent, string(m.JSON))
		} else {
			require.Empty(t, m.Method)
			received = append(received, string(m.JSON))
		}
	}
	require.Len(t, sent, 3)
	require.Len(t, received, 2)
	require.True(t, strings.Contains(sent[0], `"capabilities":{}`) && strings.Contains(sent[0], wire.Legacy), sent[0])
	require.Contains(t, sent[1], "notifications/initialized")
	require.Contains(t, sent[2], `"tools/call"`)
}

// byHand connects a client to a server that is played by the test.
func byHand(t *testing.T, opts *wire.Options) (*wire.Client, mcp.Connection) {
	t.Helper()
	there, here := mcp.NewInMemoryTransports()
	server, err := there.Connect(t.Context())
	require.NoError(t, err)
	client, err := wire.Dial(t.Context(), here, opts)
	require.NoError(t, err)
	t.Cleanup(func() { server.Close(); client.Close() })
	return client, server
}

func read(t *testing.T, server mcp.Connection) *jsonrpc.Request {
	t.Helper()
	m, err := server.Read(t.Context())
	require.NoError(t, err)
	return m.(*jsonrpc.Request)
}

func id(t *testing.T, v any) jsonrpc.ID {
	t.Helper()
	id, err := jsonrpc.MakeID(v)
	require.NoError(t, err)
	return id
}

var empty = json.RawMessage(`{}`)

// A response answers the request with its id, the type of the id included, once.
func TestResponsesAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := byHand(t, nil)
		p, err := client.Start(t.Context(), wire.Request{Name: "t"})
		require.NoError(t, err)
		req := read(t, server)
		require.Equal(t, p.ID, req.ID)
		for _, res := range []*jsonrpc.Response{
			{ID: id(t, "1"), Result: empty}, // the text, not the number
			{ID: req.ID, Result: json.RawMessage(`{"first":true}`)},
			{ID: req.ID, Result: empty},
			{ID: id(t, 9.0), Result: empty},
		} {
			require.NoError(t, server.Write(t.Context(), res))
		}
		res, err := p.Wait(t.Context())
		require.NoError(t, err)
		require.JSONEq(t, `{"first":true}`, string(res.Result))
		synctest.Wait()
		require.Equal(t, 2, client.Responses(p.ID))
		require.Equal(t, 1, client.Responses(id(t, "1")))
		require.Equal(t, 3, client.Surplus())
	})
}

func TestALateResponseIsSurplus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := byHand(t, nil)
		go func() {
			req := read(t, server)
			time.Sleep(time.Minute)
			_ = server.Write(context.Background(), &jsonrpc.Response{ID: req.ID, Result: empty})
		}()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := client.Exchange(ctx, wire.Request{Name: "t"})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Zero(t, client.Surplus())
		time.Sleep(time.Hour)
		require.Equal(t, 1, client.Surplus())
	})
}

// A question over the connection is answered as the script says.
func TestQuestionsOverTheConnection(t *testing.T) {
	form := func(properties string) json.RawMessage {
		return json.RawMessage(`{"message":"?","requestedSchema":{"type":"object","properties":{` + properties + `}}}`)
	}
	cases := []struct {
		explanation string
		params      json.RawMessage
		answer      wire.Answer
		key         string
		want        string // empty: none
	}{
		{"an answer, fit or not", form(`"a":{}`), wire.Raw(`{"action":"banana"}`), "a", `{"jsonrpc":"2.0","id":7,"result":{"action":"banana"}}`},
		{"two properties: no key but the method", form(`"a":{},"b":{}`), wire.Decline, "elicitation/create", `{"jsonrpc":"2.0","id":7,"result":{"action":"decline"}}`},
		{"none", form(`"a":{}`), wire.Missing, "a", `{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"no answer"}}`},
		{"an error", form(`"a":{}`), wire.Fail(-5, "no screen"), "a", `{"jsonrpc":"2.0","id":7,"error":{"code":-5,"message":"no screen"}}`},
		{"nothing, ever", form(`"a":{}`), wire.Silent, "a", ""},
	}
	require.NotEmpty(t, cases)
	for _, c := range cases {
		t.Run(c.explanation, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, server := byHand(t, &wire.Options{Answers: wire.Answers{"*": c.answer}})
				answered := make(chan string, 1)
				go func() {
					if m, err := server.Read(context.Background()); err == nil {
						data, _ := jsonrpc.EncodeMessage(m)
						answered <- string(data)
					}
				}()
				require.NoError(t, server.Write(t.Context(), &jsonrpc.Request{ID: id(t, 7.0), Method: "elicitation/create", Params: c.params}))
				synctest.Wait()
				require.Len(t, client.Asked(), 1)
				require.Equal(t, c.key, client.Asked()[0].Key)
				if c.want == "" {
					require.Empty(t, answered)
					return
				}
				require.JSONEq(t, c.want, <-answered)
			})
		})
	}
}

// Params are sent as they are, and so is any other message.
func TestAnythingCanBeSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := byHand(t, nil)
		_, err := client.Start(t.Context(), wire.Request{Method: "x", Params: []int{1}, Name: "ignored"})
		require.NoError(t, err)
		req := read(t, server)
		require.Equal(t, "x", req.Method)
		require.Equal(t, `[1]`, string(req.Params))
		require.NoError(t, client.Write(t.Context(), &jsonrpc.Request{ID: req.ID, Method: "again"}))
		require.Equal(t, req.ID, read(t, server).ID)
		require.Equal(t, 1, client.Requests("again"))

		require.NoError(t, server.Write(t.Context(), &jsonrpc.Request{Method: "note", Params: empty}))
		synctest.Wait()
		require.Equal(t, []json.RawMessage{empty}, client.Notifications("note"))
		require.Empty(t, client.Asked())
	})
}

func TestEitherSideHangsUp(t *testing.T) {
	for name, hangUp := range map[string]func(*wire.Client, mcp.Connection) error{
		"the client": func(c *wire.Client, _ mcp.Connection) error { return c.Close() },
		"the server": func(_ *wire.Client, s mcp.Connection) error { return s.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, server := byHand(t, nil)
				p, err := client.Start(t.Context(), wire.Request{Name: "t"})
				require.NoError(t, err)
				read(t, server)
				require.NoError(t, hangUp(client, server))
				_, err = p.Wait(t.Context())
				require.ErrorContains(t, err, "the connection is gone")
				require.NoError(t, client.Close(), "again is harmless")
			})
		})
	}
}

func TestAHandshakeThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		there, here := mcp.NewInMemoryTransports()
		server, err := there.Connect(t.Context())
		require.NoError(t, err)
		defer server.Close()
		go func() {
			req := read(t, server)
			_ = server.Write(context.Background(), &jsonrpc.Response{ID: req.ID, Error: &jsonrpc.Error{Code: -1, Message: "not you"}})
		}()
		_, err = wire.Dial(t.Context(), here, &wire.Options{Version: wire.Legacy, Capabilities: wire.Omitted})
		require.ErrorContains(t, err, "not you")
	})
}

// respond dials a server that answers every POST in the same way.
func respond(t *testing.T, status int, kind, body string) *wire.Client {
	t.Helper()
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		for i, piece := range strings.SplitAfter(body, "\n\n") {
			if i > 0 {
				time.Sleep(10 * time.Millisecond) // for a client that does not wait
			}
			_, _ = io.WriteString(w, piece)
			_ = http.NewResponseController(w).Flush()
		}
	}))
	t.Cleanup(front.Close)
	client, err := wire.DialHTTP(t.Context(), front.URL, nil, nil)
	require.NoError(t, err)
	t.Cleanup(func() { client.Close() })
	return client
}

const ok = `{"jsonrpc":"2.0","id":1,"result":{"a":1}}`

func TestHTTPResponses(t *testing.T) {
	cases := []struct {
		explanation string
		status      int
		kind, body  string
		fails       string
		surplus     int
	}{
		{"one JSON message", 200, "application/json", ok, "", 0},
		{"an error in the body of an error", 400, "application/json", `{"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"no"}}`, "", 0},
		{"an event over several lines", 200, "text/event-stream; charset=utf-8", "id: 1\ndata: {\"jsonrpc\":\"2.0\",\ndata:\"id\":1,\"result\":{}}\r\n\r\n", "", 0},
		{"events without data, then one without an end", 200, "text/event-stream", "retry: 5\n\nid: 0\ndata:\n\ndata: " + ok + "\n\ndata: " + ok, "", 0},
		{"two answers in one stream", 200, "text/event-stream", "data: " + ok + "\n\ndata: " + ok + "\n\n", "", 1},
		{"an answer to another request", 200, "application/json", strings.Replace(ok, `"id":1`, `"id":"1"`, 1), "without an answer", 1},
		{"a stream without an answer", 200, "text/event-stream", "", "without an answer", 0},
		{"accepted, and nothing more", 202, "", "", "without an answer", 0},
		{"text", 503, "text/plain", "shutting down\n", `HTTP status 503 Service Unavailable, and no JSON-RPC message: "shutting down"`, 0},
		{"an event that is no message", 200, "text/event-stream", "data: {}\n\n", "no JSON-RPC message", 0},
	}
	require.NotEmpty(t, cases)
	for _, c := range cases {
		t.Run(c.explanation, func(t *testing.T) {
			client := respond(t, c.status, c.kind, c.body)
			res, err := client.Exchange(t.Context(), wire.Request{Name: "t"})
			if c.fails != "" {
				require.ErrorContains(t, err, c.fails)
			} else {
				require.NoError(t, err)
				require.Equal(t, 1+c.surplus, client.Responses(res.ID))
				require.Equal(t, c.status, client.Messages()[1].Status)
			}
			require.Equal(t, c.surplus, client.Surplus())
		})
	}
}

// The headers agree with the body.
func TestHTTPHeaders(t *testing.T) {
	var seen []string
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := r.Header
		seen = append(seen, fmt.Sprintf("%s|%s|%s|%s", h.Get("Mcp-Protocol-Version"), h.Get("Mcp-Method"), h.Get("Mcp-Name"), h.Get("Mcp-Session-Id")))
		body, _ := io.ReadAll(r.Body)
		if !strings.Contains(string(body), `"id"`) {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Mcp-Session-Id", "s")
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, strings.Replace(`{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"2025-06-18"}}`, "ID", fmt.Sprint(len(seen)), 1))
	}))
	defer front.Close()
	modern, err := wire.DialHTTP(t.Context(), front.URL, front.Client(), nil)
	require.NoError(t, err)
	defer modern.Close()
	for _, r := range []wire.Request{
		{Name: "t"}, {Method: "resources/read", Name: "r://x"}, {Method: "tools/list"},
		{Method: "tools/call", Params: map[string]any{"name": "t", "_meta": map[string]any{mcp.MetaKeyProtocolVersion: "2025-11-25"}}},
	} {
		_, err := modern.Exchange(t.Context(), r)
		require.NoError(t, err)
	}
	require.Equal(t, []string{
		"2026-07-28|tools/call|t|", "2026-07-28|resources/read|r://x|s", "2026-07-28|tools/list||s", "2025-11-25|||s",
	}, seen)

	seen = nil
	legacy, err := wire.DialHTTP(t.Context(), front.URL, nil, &wire.Options{Version: wire.Legacy})
	require.NoError(t, err)
	defer legacy.Close()
	require.Equal(t, []string{"|||", "2025-06-18|||s"}, seen, "the version that was negotiated")
}

// The end of a request's context, and closing, end the request on the server.
func TestHangingUpOverHTTP(t *testing.T) {
	began, ended := make(chan struct{}, 1), make(chan struct{}, 1)
	front := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the server notices only then
		began <- struct{}{}
		<-r.Context().Done()
		ended <- struct{}{}
	}))
	defer front.Close()
	client, err := wire.DialHTTP(t.Context(), front.URL, nil, nil)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	p, err := client.Start(ctx, wire.Request{Name: "t"})
	require.NoError(t, err)
	receive(t, began)
	cancel()
	receive(t, ended)
	_, err = p.Wait(t.Context())
	require.ErrorIs(t, err, context.Canceled)

	p, err = client.Start(t.Context(), wire.Request{Name: "t"})
	require.NoError(t, err)
	receive(t, began)
	require.NoError(t, client.Close())
	receive(t, ended)
	_, err = p.Wait(t.Context())
	require.Error(t, err)
	_, err = client.Start(t.Context(), wire.Request{Name: "t"})
	require.ErrorContains(t, err, "the connection is gone")
	require.NoError(t, client.Close(), "again is harmless")
}

func receive(t *testing.T, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(30 * time.Second):
		require.FailNow(t, "nothing came")
	}
}

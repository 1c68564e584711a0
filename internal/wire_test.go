package internal_test

import (
	"context"
	"encoding/json"
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

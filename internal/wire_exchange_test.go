package internal_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
)

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

package mrtr_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// everything serves the same question behind two tools, two prompts and two
// resources.
func everything(rt *mrtr.Runtime) *mcp.Server {
	server := kit.NewServer()
	for _, name := range []string{"one", "two"} {
		mcp.AddTool(server, &mcp.Tool{Name: name}, mrtr.Tool(rt, mrtr.Native(kit.Asking(kit.Units, kit.Itself)), nil))
		server.AddPrompt(&mcp.Prompt{Name: name, Arguments: []*mcp.PromptArgument{{Name: "location"}}},
			rt.Prompt(mrtr.Native(kit.Guarded(func(s *kit.Stage, _ map[string]string) (*mcp.GetPromptResult, error) {
				v := kit.Ask(s, kit.Units)
				return &mcp.GetPromptResult{Description: v}, nil
			})), nil))
		server.AddResource(&mcp.Resource{Name: name, URI: "mem://" + name},
			rt.Resource(mrtr.Native(kit.Guarded(func(s *kit.Stage, uri string) (*mcp.ReadResourceResult, error) {
				v := kit.Ask(s, kit.Units)
				return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, Text: v}}}, nil
			})), nil))
	}
	return server
}

// methods are the three requests that can be answered by a question.
var methods = []struct {
	first, other wire.Request
}{
	{wire.Request{Method: "tools/call", Name: "one"}, wire.Request{Method: "tools/call", Name: "two"}},
	{wire.Request{Method: "prompts/get", Name: "one"}, wire.Request{Method: "prompts/get", Name: "two"}},
	{wire.Request{Method: "resources/read", Name: "mem://one"}, wire.Request{Method: "resources/read", Name: "mem://two"}},
}

var metric = map[string]any{"units": map[string]any{"action": "accept", "content": map[string]any{"units": "metric"}}}

// begin runs the first round and returns the request of the second.
func begin(t *testing.T, client *wire.Client, first wire.Request) wire.Request {
	t.Helper()
	reply := kit.Send(t, client, first)
	require.Nil(t, reply.Error)
	require.Equal(t, "input_required", reply.ResultType)
	first.State, first.Responses = reply.State, metric
	return first
}

// requireRefused sends a request whose state must not open.
func requireRefused(t *testing.T, client *wire.Client, seen *kit.Recorder, r wire.Request, reason string) {
	t.Helper()
	entries, refusals := seen.Entries(), len(seen.Of(observe.StateRefused))
	reply := kit.Send(t, client, r)
	require.NotNil(t, reply.Error, "the state opened")
	var response struct{ Error json.RawMessage }
	messages := client.Messages()
	require.NoError(t, json.Unmarshal(messages[len(messages)-1].JSON, &response))
	require.JSONEq(t, `{"code":-32602,"message":"Invalid or expired requestState"}`, string(response.Error))
	require.Equal(t, entries, seen.Entries(), "the handler was entered")
	refused := seen.Of(observe.StateRefused)
	require.Len(t, refused, refusals+1, "the observer was not told")
	require.Equal(t, reason, refused[refusals].Reason)
	require.Empty(t, refused[refusals].Call)
}

func requireOpens(t *testing.T, client *wire.Client, r wire.Request) {
	t.Helper()
	reply := kit.Send(t, client, r)
	require.Nil(t, reply.Error)
	require.Contains(t, string(reply.Result), "metric")
}

// tagChars are the last characters of a token, see statecodec/SPEC.md.
const tagChars = 22

func TestAStateThatWasTamperedWithIsRefused(t *testing.T) {
	for _, m := range methods {
		t.Run(m.first.Method, func(t *testing.T) {
			rt, seen := kit.NewRuntime(t, nil)
			client := kit.Connect(t, everything(rt), nil)
			retry := begin(t, client, m.first)
			token := retry.State
			raw, err := base64.RawURLEncoding.DecodeString(token[:len(token)-tagChars])
			require.NoError(t, err, "the cases below are about base64")
			tag, err := base64.RawURLEncoding.DecodeString(token[len(token)-tagChars:])
			require.NoError(t, err)

			refuse := func(state, reason string) {
				t.Helper()
				r := retry
				r.State = state
				requireRefused(t, client, seen, r, reason)
			}
			refuse("forged", "malformed")
			refuse(strings.Repeat("A", 100_000), "too_large")
			refuse(token[:len(token)-4], "wrong_length")
			refuse(token+"AAAA", "wrong_length")
			refuse(" "+token, "malformed")
			refuse(token+"\n", "wrong_length")
			refuse(token+"=", "wrong_length")
			refuse(base64.RawURLEncoding.EncodeToString(append(bytes.Clone(raw), 0))+token[len(token)-tagChars:], "wrong_length")
			refuse("%"+token[1:], "malformed")
			refused := 0
			for i := 0; i < len(raw)+len(tag); i += 5 {
				head, end := bytes.Clone(raw), bytes.Clone(tag)
				if i < len(raw) {
					head[i] ^= 1
				} else {
					end[i-len(raw)] ^= 1
				}
				r := retry
				r.State = base64.RawURLEncoding.EncodeToString(head) + base64.RawURLEncoding.EncodeToString(end)
				reply := kit.Send(t, client, r)
				kit.RefusedWith(t, reply.Error, -32602)
				refused++
			}
			require.Greater(t, refused, 10)
			require.Equal(t, 1, seen.Entries(), "the first round's, and no other")
			requireOpens(t, client, retry)
		})
	}
}

func TestATransplantedStateIsRefused(t *testing.T) {
	ring := kit.Keys(1)
	user := "ada"
	options := &mrtr.Options{
		State:     &statecodec.Options{Keys: ring},
		Audience:  "here",
		Principal: func(context.Context, mcp.Request) (string, error) { return user, nil },
	}
	for i, m := range methods {
		t.Run(m.first.Method, func(t *testing.T) {
			rt, seen := kit.NewRuntime(t, options)
			server := everything(rt)
			client := kit.Connect(t, server, nil)
			retry := begin(t, client, m.first)
			const transplanted = "forged_or_transplanted"

			t.Run("to another target", func(t *testing.T) {
				r := m.other
				r.State, r.Responses = retry.State, metric
				requireRefused(t, client, seen, r, transplanted)
			})
			t.Run("to another method", func(t *testing.T) {
				r := methods[(i+1)%len(methods)].first
				r.State, r.Responses = retry.State, metric
				requireRefused(t, client, seen, r, transplanted)
			})
			t.Run("to other arguments", func(t *testing.T) {
				if m.first.Method == "resources/read" {
					return // its address is all it has
				}
				r := retry
				r.Arguments = map[string]any{"location": "Lisbon"}
				requireRefused(t, client, seen, r, transplanted)
			})
			t.Run("to another principal", func(t *testing.T) {
				user = "bob"
				defer func() { user = "ada" }()
				requireRefused(t, client, seen, retry, transplanted)
			})
			t.Run("to another server", func(t *testing.T) {
				o := *options
				o.Audience = "there"
				rt, seen := kit.NewRuntime(t, &o)
				requireRefused(t, kit.Connect(t, everything(rt), nil), seen, retry, transplanted)
			})
			t.Run("to another key", func(t *testing.T) {
				o := *options
				o.State = &statecodec.Options{Keys: kit.Keys(1)}
				rt, seen := kit.NewRuntime(t, &o)
				requireRefused(t, kit.Connect(t, everything(rt), nil), seen, retry, "unknown_key")
			})
			t.Run("to the other era", func(t *testing.T) {
				old := kit.Connect(t, server, &wire.Options{Version: wire.Legacy})
				requireRefused(t, old, seen, retry, transplanted)
			})
			require.Equal(t, 1, seen.Entries())
			requireOpens(t, client, retry)
		})
	}
}

func TestAnExpiredStateIsRefused(t *testing.T) {
	for _, m := range methods {
		kit.InBubble(t, m.first.Method, func(t *testing.T) {
			seen := &kit.Recorder{}
			rt, err := mrtr.New(&mrtr.Options{Listener: observe.With(seen), State: &statecodec.Options{Ephemeral: true, TTL: time.Minute, Skew: time.Second}})
			require.NoError(t, err)
			client, err := wire.Connect(context.Background(), everything(rt), nil)
			require.NoError(t, err)
			defer client.Close()
			retry := begin(t, client, m.first)
			time.Sleep(time.Minute)
			requireOpens(t, client, retry)
			time.Sleep(time.Minute + 2*time.Second)
			requireRefused(t, client, seen, retry, "expired")
		})
	}
}

// An object that names a member twice means different things to different
// readers, so no state is bound to it.
func TestArgumentsWithoutCanonicalFormAreRefused(t *testing.T) {
	rt, _ := kit.NewRuntime(t, nil)
	server := kit.NewServer()
	server.AddTool(&mcp.Tool{Name: "raw", InputSchema: map[string]any{"type": "object"}},
		rt.RawTool(mrtr.Native(func(_ context.Context, c *mrtr.Call, _ json.RawMessage) (*mrtr.IncompleteResult, *mcp.CallToolResult, error) {
			t.Error("entered: what it did above its question would have happened")
			return mrtr.Need(kit.Units), nil, nil
		}), nil))
	client := kit.Connect(t, server, nil)
	reply := kit.Send(t, client, wire.Request{Name: "raw", Arguments: json.RawMessage(`{"a":1e9999999999}`)})
	kit.RefusedWith(t, reply.Error, -32602)
	require.Contains(t, reply.Error.Message, "canonical")
}

func TestKeysRotateWithoutRefusingAnybody(t *testing.T) {
	ring := kit.Keys(2)
	older, newer := ring[0], ring[1]
	client := func(keys ...statecodec.Key) (*wire.Client, *kit.Recorder) {
		rt, seen := kit.NewRuntime(t, &mrtr.Options{State: &statecodec.Options{Keys: keys}})
		return kit.Connect(t, everything(rt), nil), seen
	}
	before, _ := client(older)
	retry := begin(t, before, methods[0].first)

	both, _ := client(newer, older)
	requireOpens(t, both, retry)
	after, seen := client(newer)
	requireRefused(t, after, seen, retry, "unknown_key")

	retry = begin(t, both, methods[0].first)
	requireOpens(t, after, retry)
}

// A handler may have a time of its own for its states, shorter or longer than the others'.
// With a store a round is remembered as long; as a task, whose state no client holds, it
// waits no shorter than any other.
func TestAHandlersOwnTimeForItsStates(t *testing.T) {
	const other = 20 * time.Minute // of the runtime
	for _, ttl := range []time.Duration{time.Minute, 3 * time.Hour} {
		for _, way := range []string{"no store", "store", "task"} {
			kit.InBubble(t, fmt.Sprint(ttl, ", ", way), func(t *testing.T) {
				o := &mrtr.Options{State: &statecodec.Options{TTL: other, Keys: []statecodec.Key{kit.SharedKey}}}
				if way == "store" {
					o.Durable = durable.In(kit.Shared{Memory: store.NewMemory(nil)}, nil)
				}
				opens := ttl
				ctx := t.Context()
				h := &mrtr.HandlerOptions{StateTTL: ttl}
				if way == "task" {
					opens = max(ttl, other)
					h.Task = mrtr.TaskPolicy{AtOnce: true}
					r := rendezvous.NewTaskRound()
					r.ReportTo(func(string) {})
					ctx = rendezvous.WithTaskRound(ctx, r)
				}
				var did kit.Deeds
				style := kit.GuardedTrip(func(ctx context.Context, c *mrtr.Call) (string, error) {
					return mrtr.Once(ctx, c, "pay", did.Do("paid"))
				}, "seat")
				tool := &kit.Trip{Handler: mrtr.Tool(kit.TripRuntime(t, o), style, h)}
				begin := func() kit.Reply {
					asked := tool.Round(ctx, "", "", nil)
					if way == "task" { // its first answer is a state alone
						asked = tool.Round(ctx, "", asked.State, nil)
					}
					require.Equal(t, []string{"seat"}, asked.Asks, "%v", asked.Err)
					return asked
				}
				asked := begin()
				time.Sleep(opens - time.Second)
				answered := tool.Round(ctx, "", asked.State, kit.Accepting(asked, "aisle"))
				require.NoError(t, answered.Err)
				if way == "store" {
					require.Equal(t, answered, tool.Round(ctx, "", asked.State, kit.Accepting(asked, "aisle")))
					require.Equal(t, 1, did.Count("paid"))
				}
				asked = begin()
				time.Sleep(opens + statecodec.DefaultSkew + time.Second)
				refused := tool.Round(ctx, "", asked.State, kit.Accepting(asked, "aisle"))
				kit.Code(t, refused.Err, jsonrpc.CodeInvalidParams)
			})
		}
	}
	for _, ttl := range []time.Duration{-1, time.Microsecond} {
		require.Panics(t, func() {
			mrtr.Tool(kit.TripRuntime(t, nil), kit.GuardedTrip(func(context.Context, *mrtr.Call) (string, error) { return "", nil }), &mrtr.HandlerOptions{StateTTL: ttl})
		})
	}
}

// Go reads Amount and amount as one field, and takes the last one. Bound by value,
// the same arguments in another order could show one sum and pay another.
func TestArgumentsThatDifferInCaseAreRefused(t *testing.T) {
	type order struct{ Amount int }
	rt, seen := kit.NewRuntime(t, nil)
	server := kit.NewServer()
	sure := mrtr.Confirm("sure", "Pay?")
	server.AddTool(&mcp.Tool{Name: "raw", InputSchema: map[string]any{"type": "object"}},
		rt.RawTool(mrtr.Native(kit.Guarded(func(s *kit.Stage, raw json.RawMessage) (*mcp.CallToolResult, error) {
			var in struct{ Order json.RawMessage }
			require.NoError(t, json.Unmarshal(raw, &in))
			kit.Ask(s, sure)
			return nil, nil
		})), nil))
	type typed struct {
		Order json.RawMessage `json:"order"` // left as it arrived, for encoding/json
	}
	mcp.AddTool(server, &mcp.Tool{Name: "typed", InputSchema: map[string]any{"type": "object"}}, mrtr.Tool(rt, mrtr.Native(kit.Guarded(func(s *kit.Stage, in typed) (kit.Output, error) {
		kit.Ask(s, sure)
		return kit.Output{}, nil
	})), nil))
	client := kit.Connect(t, server, nil)

	small, large := `{"Amount":1000,"amount":1}`, `{"amount":1,"Amount":1000}`
	var shown, paid order
	require.NoError(t, json.Unmarshal([]byte(small), &shown))
	require.NoError(t, json.Unmarshal([]byte(large), &paid))
	require.NotEqual(t, shown, paid, "the same members, and another sum")

	for _, tool := range []string{"raw", "typed"} {
		for _, text := range []string{`{"order":` + small + `}`, `{"order":{"ſum":1,"sum":2}}`, `{"order":[[` + large + `]]}`} {
			reply := kit.Send(t, client, wire.Request{Name: tool, Arguments: json.RawMessage(text)})
			kit.RefusedWith(t, reply.Error, -32602)
			require.Contains(t, reply.Error.Message, "canonical")
		}
		retry := begin(t, client, wire.Request{Name: tool, Arguments: json.RawMessage(`{"order":{"amount":1}}`)})
		for _, text := range []string{`{"order":` + small + `}`, `{"order":{"Amount":1}}`} {
			retry.Arguments = json.RawMessage(text)
			reply := kit.Send(t, client, retry)
			require.NotNil(t, reply.Error, "%s with %s", tool, text)
		}
	}
	require.Equal(t, 2, seen.Entries(), "the first rounds of the good calls")
}

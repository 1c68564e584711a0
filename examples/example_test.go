package examples_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/examples"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/mrtrtest"
	"github.com/mrtr-go/sdk/statecodec"
)

// run calls a tool of this style. The user answers from the map, by the question's
// property, and declines every other. The effects print themselves.
func run[In, Out any](style mrtr.Style[In, Out], in In, answers map[string]any) {
	ctx := context.Background()
	var asked atomic.Int32 // those of one round at the same time
	rt := must(mrtr.New(nil))
	defer rt.Close()
	server := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
	mrtr.AddTool(server, &mcp.Tool{Name: "tool"}, mrtr.Tool(rt, style, nil))
	here, there := mcp.NewInMemoryTransports()
	must(server.Connect(ctx, here, nil))
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{
			Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}},
			RootsV2:     &mcp.RootCapabilities{}, //lint:ignore SA1019 still legal on the wire
		},
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked.Add(1)
			if req.Params.Mode == "url" {
				if answers["payment"] == nil {
					return &mcp.ElicitResult{Action: "decline"}, nil
				}
				return &mcp.ElicitResult{Action: "accept"}, nil
			}
			content := map[string]any{}
			for property := range req.Params.RequestedSchema.(map[string]any)["properties"].(map[string]any) {
				if v, ok := answers[property]; ok {
					content[property] = v
				}
			}
			if len(content) == 0 {
				return &mcp.ElicitResult{Action: "decline"}, nil
			}
			return &mcp.ElicitResult{Action: "accept", Content: content}, nil
		},
		CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Model: "example", Role: "assistant", Content: &mcp.TextContent{Text: "Hello"}}, nil
		},
	})
	client.AddRoots(&mcp.Root{URI: "file:///home/user/kitchen", Name: "kitchen"}) //lint:ignore SA1019 still legal on the wire
	session := must(client.Connect(ctx, there, nil))
	defer session.Close()
	result := must(session.CallTool(ctx, &mcp.CallToolParams{Name: "tool", Arguments: in}))
	fmt.Printf("  asked %d questions: %s\n", asked.Load(), result.Content[0].(*mcp.TextContent).Text)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

var (
	two    = examples.Order{Items: []string{"chair", "table"}}
	buyer  = map[string]any{"size.0": "S", "size.1": "L", "name": "Ann", "email": "ann@example.org", "payment": true}
	leaver = map[string]any{"size.0": "S", "size.1": "L", "name": "Ann", "email": "ann@example.org", "note": "Hi"}
)

func droppedByHand(w *mrtrtest.World) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "databases", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "drop"}, (&examples.ByHand{Drop: func(name string) error { w.Effect(name); return nil }}).Tool)
	return server
}

func droppedGuarded(w *mrtrtest.World) *mcp.Server {
	rt := must(mrtr.New(&mrtr.Options{State: &statecodec.Options{Keys: []statecodec.Key{must(statecodec.NewKey(w.Key()))}}}))
	w.Cleanup(func() { _ = rt.Close() })
	server := mcp.NewServer(&mcp.Implementation{Name: "databases", Version: "1"}, nil)
	mrtr.Add(server, rt, &mcp.Tool{Name: "drop"}, mrtr.Native((&examples.Guarded{Drop: func(name string) error { w.Effect(name); return nil }}).Tool))
	return server
}

// Both guards drop a database after a yes alone. The one with mrtr does so at two instances and for
// a legacy client too.
func TestAGuardOfOnesOwn(t *testing.T) {
	for answer, want := range map[string]struct {
		answer  mrtrtest.Answer
		text    string
		effects []string
	}{
		"yes":      {mrtrtest.Value(true), `{"Database":"old"}`, []string{"old"}},
		"no":       {mrtrtest.Value(false), "nothing was dropped", nil},
		"declined": {mrtrtest.Decline, "nothing was dropped", nil},
	} {
		script := mrtrtest.Script{Tool: "drop", Arguments: examples.Drop{Database: "old"}, Answers: mrtrtest.Answers{"drop": {want.answer}}}
		check := func(build mrtrtest.Build, opts *mrtrtest.Options) {
			t.Run(fmt.Sprint(answer, opts), func(t *testing.T) {
				out := mrtrtest.Call(t, build, script, opts)
				require.Equal(t, want.text, out.Text)
				require.Equal(t, want.effects, out.Effects)
			})
		}
		check(droppedByHand, nil)
		for _, opts := range []*mrtrtest.Options{nil, {FreshInstances: true}, {Era: mrtrtest.Legacy}} {
			check(droppedGuarded, opts)
		}
	}
}

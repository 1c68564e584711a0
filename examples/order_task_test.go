package examples_test

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/examples"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/mrtrtest"
	"github.com/mrtr-go/sdk/tasks"
)

// The order tool as a task: one option of the tool, and tasks.Install. Its handler is the same.
func ExampleOrderLinear_task() {
	build := func(w *mrtrtest.World) *mcp.Server {
		rt, err := mrtr.New(nil)
		if err != nil {
			panic(err)
		}
		server := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
		mrtr.AddTool(server, &mcp.Tool{Name: "order"}, mrtr.Tool(rt, mrtr.Journal(examples.OrderLinear), &mrtr.HandlerOptions{
			Task: mrtr.TaskPolicy{AtOnce: true},
		}))
		m, err := tasks.Install(server, &tasks.Options{Runtime: rt})
		if err != nil {
			panic(err)
		}
		w.Cleanup(func() { _ = rt.Close() })
		w.Cleanup(func() { _ = m.Close() }) // before the runtime
		return server
	}
	out, err := mrtrtest.Play(context.Background(), build, mrtrtest.Script{
		Tool: "order", Arguments: two,
		Answers: mrtrtest.Answers{
			"size.0":   {mrtrtest.Accept(map[string]any{"size.0": "S"})},
			"size.1":   {mrtrtest.Accept(map[string]any{"size.1": "L"})},
			"address":  {mrtrtest.Accept(map[string]any{"name": "Ann", "email": "ann@example.org"})},
			"payment":  {mrtrtest.Accept(nil)},
			"projects": {mrtrtest.Raw(`{"roots":[{"uri":"file:///home/user/kitchen","name":"kitchen"}]}`)},
			"greeting": {mrtrtest.Raw(`{"model":"example","role":"assistant","content":{"type":"text","text":"Hello"}}`)},
			"*":        {mrtrtest.Decline},
		},
	}, &mrtrtest.Options{Era: mrtrtest.TakesTasks})
	if err != nil {
		panic(err)
	}
	fmt.Println("result:", string(out.Structured))
	// Output:
	// (reserved chair, table)
	// (shipped)
	// result: {"parcel":"Hello Ann: S chair, L table, for kitchen"}
}

package mrtr_test

import (
	"context"
	"fmt"
	"log"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/statecodec"
)

type Order struct {
	Item string `json:"item"`
}

type Receipt struct {
	Summary string `json:"summary"`
}

// howMany is a question that several examples ask.
var howMany = mrtr.Elicit[int]("count", "How many?")

// orders is a linear handler: it asks, and goes on below with the answer.
func orders(ctx context.Context, c *mrtr.Call, in Order) (Receipt, error) {
	count, err := mrtr.Ask(ctx, c, howMany)
	if err != nil {
		return Receipt{}, err
	}
	number, err := mrtr.Once(ctx, c, "order", func(_ context.Context, idem string) (int, error) {
		fmt.Println("ordering", count, in.Item)
		return 4711, nil
	})
	if err != nil {
		return Receipt{}, err
	}
	sure, err := mrtr.Ask(ctx, c, mrtr.Confirm("express", "Send it by express?"))
	if err != nil {
		return Receipt{}, err
	}
	return Receipt{fmt.Sprintf("order %d: %d %s, express: %t", number, count, in.Item, sure)}, nil
}

// The handler's goroutine waits in this process for the answers.
func ExampleCoroutine() {
	order(mrtr.Coroutine(orders))
	// Output:
	// user is asked: How many?
	// ordering 3 chairs
	// user is asked: Send it by express?
	// order 4711: 3 chairs, express: true
}

// Nothing waits: the very same handler runs from its top in each round, and
// its earlier answers and effects are replayed. It still orders once.
func ExampleJournal() {
	order(mrtr.Journal(orders))
	// Output:
	// user is asked: How many?
	// ordering 3 chairs
	// user is asked: Send it by express?
	// order 4711: 3 chairs, express: true
}

// The first two rounds reach one instance and the last another, which knows
// nothing but the key: it replays the call that the first one held.
func ExampleResumable() {
	key := &statecodec.Options{Keys: []statecodec.Key{statecodec.GenerateKey()}}
	var instances []mcp.ToolHandlerFor[Order, Receipt]
	for range 2 {
		rt, err := mrtr.New(&mrtr.Options{State: key})
		if err != nil {
			log.Fatal(err)
		}
		defer rt.Close()
		instances = append(instances, mrtr.Tool(rt, mrtr.Resumable(orders), nil))
	}
	rounds := 0
	callOrder(func(ctx context.Context, req *mcp.CallToolRequest, in Order) (*mcp.CallToolResult, Receipt, error) {
		rounds++
		return instances[rounds/3](ctx, req, in)
	})
	// Output:
	// user is asked: How many?
	// ordering 3 chairs
	// user is asked: Send it by express?
	// order 4711: 3 chairs, express: true
}

// order calls a tool in this style, as a client whose user orders three chairs
// by express.
func order(style mrtr.Style[Order, Receipt]) {
	rt, err := mrtr.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()
	callOrder(mrtr.Tool(rt, style, nil))
}

func callOrder(handler mcp.ToolHandlerFor[Order, Receipt]) {
	ctx := context.Background()
	server := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "order"}, handler)
	client := mcp.NewClient(&mcp.Implementation{Name: "customer", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			fmt.Println("user is asked:", req.Params.Message)
			content := map[string]any{"count": 3}
			if req.Params.Message != "How many?" {
				content = map[string]any{"express": true}
			}
			return &mcp.ElicitResult{Action: "accept", Content: content}, nil
		},
	})
	here, there := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, there, nil); err != nil {
		log.Fatal(err)
	}
	session, err := client.Connect(ctx, here, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "order", Arguments: Order{Item: "chairs"}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Content[0].(*mcp.TextContent).Text)
}

// Text is what people and models read.
func (r Receipt) Text() string { return r.Summary }

// Questions that do not depend on one another go out in one round. Their answers
// are read with Answer.
func ExampleAskAll() {
	order(mrtr.Journal(func(ctx context.Context, c *mrtr.Call, in Order) (Receipt, error) {
		express := mrtr.Confirm("express", "Send it by express?")
		if err := mrtr.AskAll(ctx, c, howMany, express); err != nil {
			return Receipt{}, err
		}
		count, _ := mrtr.Answer(c, howMany)
		sure, _ := mrtr.Answer(c, express)
		return Receipt{fmt.Sprintf("%d %s, express: %t, in round %d", count, in.Item, sure, c.Round())}, nil
	}))
	// Unordered output:
	// user is asked: How many?
	// user is asked: Send it by express?
	// 3 chairs, express: true, in round 2
}

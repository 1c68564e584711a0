package linear_test

import (
	"context"
	"fmt"
	"log"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/internal/shop"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/statecodec"
)

// orders is a linear handler: it asks, and goes on below with the answer.
func orders(ctx context.Context, c *mrtr.Call, in shop.Order) (shop.Receipt, error) {
	count, err := linear.Ask(ctx, c, shop.HowMany)
	if err != nil {
		return shop.Receipt{}, err
	}
	number, err := mrtr.Once(ctx, c, "order", func(_ context.Context, idem string) (int, error) {
		fmt.Println("ordering", count, in.Item)
		return 4711, nil
	})
	if err != nil {
		return shop.Receipt{}, err
	}
	sure, err := linear.Ask(ctx, c, mrtr.Confirm("express", "Send it by express?"))
	if err != nil {
		return shop.Receipt{}, err
	}
	return shop.Receipt{Summary: fmt.Sprintf("order %d: %d %s, express: %t", number, count, in.Item, sure)}, nil
}

// The handler's goroutine waits in this process for the answers.
func ExampleCoroutine() {
	shop.Sell(linear.Coroutine(orders))
	// Output:
	// user is asked: How many?
	// ordering 3 chairs
	// user is asked: Send it by express?
	// order 4711: 3 chairs, express: true
}

// Nothing waits: the very same handler runs from its top in each round, and
// its earlier answers and effects are replayed. It still orders once.
func ExampleJournal() {
	shop.Sell(linear.Journal(orders))
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
	var instances []mcp.ToolHandlerFor[shop.Order, shop.Receipt]
	for range 2 {
		rt, err := mrtr.New(&mrtr.Options{State: key})
		if err != nil {
			log.Fatal(err)
		}
		defer rt.Close()
		instances = append(instances, mrtr.Tool(rt, linear.Resumable(orders), nil))
	}
	rounds := 0
	shop.Call(func(ctx context.Context, req *mcp.CallToolRequest, in shop.Order) (*mcp.CallToolResult, shop.Receipt, error) {
		rounds++
		return instances[rounds/3](ctx, req, in)
	})
	// Output:
	// user is asked: How many?
	// ordering 3 chairs
	// user is asked: Send it by express?
	// order 4711: 3 chairs, express: true
}

// Questions that do not depend on one another go out in one round. Their answers
// are read with Answer.
func ExampleAskAll() {
	shop.Sell(linear.Journal(func(ctx context.Context, c *mrtr.Call, in shop.Order) (shop.Receipt, error) {
		express := mrtr.Confirm("express", "Send it by express?")
		if err := linear.AskAll(ctx, c, shop.HowMany, express); err != nil {
			return shop.Receipt{}, err
		}
		count, _ := mrtr.Answer(c, shop.HowMany)
		sure, _ := mrtr.Answer(c, express)
		return shop.Receipt{Summary: fmt.Sprintf("%d %s, express: %t, in round %d", count, in.Item, sure, c.Round())}, nil
	}))
	// Unordered output:
	// user is asked: How many?
	// user is asked: Send it by express?
	// 3 chairs, express: true, in round 2
}

// Ask waits for the answer.
func ExampleAsk() {
	shop.Sell(linear.Coroutine(func(ctx context.Context, c *mrtr.Call, in shop.Order) (shop.Receipt, error) {
		count, err := linear.Ask(ctx, c, shop.HowMany)
		return shop.Receipt{Summary: fmt.Sprint(count, " ", in.Item)}, err
	}))
	// Output:
	// user is asked: How many?
	// 3 chairs
}

package mrtr_test

import (
	"context"
	"fmt"
	"log"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/given"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/steps"
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
	count, err := linear.Ask(ctx, c, howMany)
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
	sure, err := linear.Ask(ctx, c, mrtr.Confirm("express", "Send it by express?"))
	if err != nil {
		return Receipt{}, err
	}
	return Receipt{fmt.Sprintf("order %d: %d %s, express: %t", number, count, in.Item, sure)}, nil
}

// The handler's goroutine waits in this process for the answers.
func ExampleCoroutine() {
	order(linear.Coroutine(orders))
	// Output:
	// user is asked: How many?
	// ordering 3 chairs
	// user is asked: Send it by express?
	// order 4711: 3 chairs, express: true
}

// Nothing waits: the very same handler runs from its top in each round, and
// its earlier answers and effects are replayed. It still orders once.
func ExampleJournal() {
	order(linear.Journal(orders))
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
		instances = append(instances, mrtr.Tool(rt, linear.Resumable(orders), nil))
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
	mrtr.AddTool(server, &mcp.Tool{Name: "order"}, handler)
	client := mcp.NewClient(&mcp.Implementation{Name: "customer", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			fmt.Println("user is asked:", req.Params.Message)
			content := map[string]any{"count": 3, "express": true, "insured": true}
			for key := range content {
				if _, asked := req.Params.RequestedSchema.(map[string]any)["properties"].(map[string]any)[key]; !asked {
					delete(content, key)
				}
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
	order(linear.Journal(func(ctx context.Context, c *mrtr.Call, in Order) (Receipt, error) {
		express := mrtr.Confirm("express", "Send it by express?")
		if err := linear.AskAll(ctx, c, howMany, express); err != nil {
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

// Three answers that do not depend on one another take two requests: one that asks, and
// one that brings the answers.
func ExampleGiven3() {
	count := given.Always[Order](howMany)
	express := given.Always[Order](mrtr.Confirm("express", "Send it by express?"))
	insured := given.Question("insured", func(_ context.Context, in Order) (mrtr.Question[bool], error) {
		return mrtr.Confirm("insured", "Insure "+mrtr.Quote(in.Item)+"?"), nil
	})
	order(mrtr.Given3(count, express, insured, func(_ context.Context, c *mrtr.Call, in Order, count int, express, insured bool) (Receipt, error) {
		return Receipt{fmt.Sprintf("%d %s, express: %t, insured: %t, in round %d", count, in.Item, express, insured, c.Round())}, nil
	}))
	// Unordered output:
	// user is asked: How many?
	// user is asked: Send it by express?
	// user is asked: Insure "chairs"?
	// 3 chairs, express: true, insured: true, in round 2
}

// A guarded handler is entered in every round. Code above a guard runs each time;
// in Once, the first time only.
func ExampleOnce() {
	order(mrtr.Native(func(ctx context.Context, c *mrtr.Call, in Order) (*mrtr.IncompleteResult, Receipt, error) {
		fmt.Println("entered, round", c.Round())
		number, err := mrtr.Once(ctx, c, "reserve", func(_ context.Context, idem string) (int, error) {
			fmt.Println("reserving", in.Item)
			return 4711, nil
		})
		if err != nil {
			return nil, Receipt{}, err
		}
		count, ok := mrtr.Answer(c, howMany)
		if !ok {
			return mrtr.Need(howMany), Receipt{}, nil
		}
		return nil, Receipt{fmt.Sprintf("reservation %d: %d %s", number, count, in.Item)}, nil
	}))
	// Output:
	// entered, round 1
	// reserving chairs
	// user is asked: How many?
	// entered, round 2
	// reservation 4711: 3 chairs
}

// The steps of a loop are built in a loop, up to the largest number that makes sense.
// Those that are not needed are passed over.
func ExampleErrSkip() {
	var b steps.List[Order, Receipt]
	count := steps.Always(&b, howMany)
	var names []steps.Step[string]
	for i := range 5 {
		key := fmt.Sprintf("name.%d", i)
		names = append(names, steps.Ask(&b, key, func(_ context.Context, at *steps.At[Order]) (mrtr.Question[string], error) {
			if i >= count.Of(at) {
				return mrtr.Question[string]{}, mrtr.ErrSkip
			}
			return mrtr.Known(fmt.Sprintf("guest %d", i+1)), nil
		}))
	}
	b.End(func(_ context.Context, at *steps.At[Order]) (Receipt, error) {
		var guests []string
		for _, name := range names {
			if !name.Skipped(at) {
				guests = append(guests, name.Of(at))
			}
		}
		return Receipt{fmt.Sprintf("%s for %q", at.In.Item, guests)}, nil
	})
	order(b.MustBuild())
	// Output:
	// user is asked: How many?
	// chairs for ["guest 1" "guest 2" "guest 3"]
}

// A call that is declined undoes its effects.
func ExampleCall_OnStop() {
	handler := func(ctx context.Context, c *mrtr.Call, in lookup) (forecast, error) {
		seat, err := mrtr.Once(ctx, c, "hold", func(context.Context, string) (string, error) {
			fmt.Println("holding 12A")
			return "12A", nil
		})
		if err != nil {
			return forecast{}, err
		}
		c.OnStop("hold", func(_ context.Context, idem string, err error) error {
			fmt.Println("releasing", seat)
			return nil
		})
		name, err := linear.Ask(ctx, c, mrtr.Elicit[string]("name", "Who flies to "+mrtr.Quote(in.Location)+"?"))
		return forecast{name + " sits in " + seat}, err
	}
	callWeather(newWeather(linear.Journal(handler)), nil)
	// Output:
	// holding 12A
	// asked: Who flies to "Lisbon"?
	// releasing 12A
	// error: Stopped: "name" was declined.
}

// Each step runs once, and hands its value, with its type, to those after it.
func ExampleSteps() {
	var b steps.List[Order, Receipt]
	price := steps.Do(&b, "price", func(_ context.Context, at *steps.At[Order], idem string) (int, error) {
		fmt.Println("looking up", at.In.Item)
		return 40, nil
	})
	count := steps.Ask(&b, "count", func(context.Context, *steps.At[Order]) (mrtr.Question[int], error) {
		return howMany, nil
	})
	total := steps.Do(&b, "total", func(_ context.Context, at *steps.At[Order], idem string) (int, error) {
		fmt.Println("adding up")
		return price.Of(at) * count.Of(at), nil
	})
	express := steps.Ask(&b, "express", func(_ context.Context, at *steps.At[Order]) (mrtr.Question[bool], error) {
		return mrtr.Confirm("express", fmt.Sprintf("It is %d. Send it by express?", total.Of(at))), nil
	})
	b.End(func(_ context.Context, at *steps.At[Order]) (Receipt, error) {
		return Receipt{fmt.Sprintf("%d %s for %d, express: %t", count.Of(at), at.In.Item, total.Of(at), express.Of(at))}, nil
	})
	style, err := b.Build()
	if err != nil {
		log.Fatal(err)
	}
	order(style)
	// Output:
	// looking up chairs
	// user is asked: How many?
	// adding up
	// user is asked: It is 120. Send it by express?
	// 3 chairs for 120, express: true
}

// A step that is passed over has no value. Later steps can tell.
func ExampleStep_Skipped() {
	var b steps.List[Order, Receipt]
	count := steps.Ask(&b, "count", func(context.Context, *steps.At[Order]) (mrtr.Question[int], error) {
		return howMany, nil
	})
	discount := steps.Do(&b, "discount", func(_ context.Context, at *steps.At[Order], _ string) (int, error) {
		if count.Of(at) < 10 {
			return 0, mrtr.ErrSkip
		}
		return 5, nil
	})
	b.End(func(_ context.Context, at *steps.At[Order]) (Receipt, error) {
		return Receipt{fmt.Sprintf("%d %s, discount skipped: %t", count.Of(at), at.In.Item, discount.Skipped(at))}, nil
	})
	order(b.MustBuild())
	// Output:
	// user is asked: How many?
	// 3 chairs, discount skipped: true
}

// A payment whose answer was lost is asked about before anybody is told that its
// outcome is unknown.
func ExampleDoStep_check() {
	ledger := map[string]int{}
	pay := func(_ context.Context, at *steps.At[Order], idem string) (int, error) {
		ledger[idem] = 40
		return 0, mrtr.ErrIndeterminate // the answer was lost
	}
	check := func(_ context.Context, idem string) (int, bool, error) {
		paid, happened := ledger[idem]
		fmt.Println("the ledger has the payment:", happened)
		return paid, happened, nil
	}
	var b steps.List[Order, Receipt]
	paid := steps.Do(&b, "pay", pay, &mrtr.EffectOptions[int]{Check: check})
	b.End(func(_ context.Context, at *steps.At[Order]) (Receipt, error) {
		return Receipt{fmt.Sprintf("%s for %d", at.In.Item, paid.Of(at))}, nil
	})
	order(b.MustBuild())
	// Output:
	// the ledger has the payment: true
	// chairs for 40
}

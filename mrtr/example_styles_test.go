package mrtr_test

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/internal/shop"
	"github.com/mrtr-go/sdk/mrtr/linear"
)

// A guarded handler is entered in every round. Code above a guard runs each time;
// in Once, the first time only.
func ExampleOnce() {
	shop.Sell(mrtr.Native(func(ctx context.Context, c *mrtr.Call, in shop.Order) (*mrtr.IncompleteResult, shop.Receipt, error) {
		fmt.Println("entered, round", c.Round())
		number, err := mrtr.Once(ctx, c, "reserve", func(_ context.Context, idem string) (int, error) {
			fmt.Println("reserving", in.Item)
			return 4711, nil
		})
		if err != nil {
			return nil, shop.Receipt{}, err
		}
		count, ok := mrtr.Answer(c, shop.HowMany)
		if !ok {
			return mrtr.Need(shop.HowMany), shop.Receipt{}, nil
		}
		return nil, shop.Receipt{Summary: fmt.Sprintf("reservation %d: %d %s", number, count, in.Item)}, nil
	}))
	// Output:
	// entered, round 1
	// reserving chairs
	// user is asked: How many?
	// entered, round 2
	// reservation 4711: 3 chairs
}

// A call that is declined undoes its effects.
func ExampleStyle_OnStop() {
	style := linear.Journal(func(ctx context.Context, c *mrtr.Call, in lookup) (forecast, error) {
		seat, err := mrtr.Once(ctx, c, "hold", func(context.Context, string) (string, error) {
			fmt.Println("holding 12A")
			return "12A", nil
		})
		if err != nil {
			return forecast{}, err
		}
		name, err := linear.Ask(ctx, c, mrtr.Elicit[string]("name", "Who flies to "+mrtr.Quote(in.Location)+"?"))
		return forecast{name + " sits in " + seat}, err
	}).OnStop(mrtr.UndoOf("hold", func(_ context.Context, _ *mrtr.Call, u mrtr.Undo[string]) error {
		fmt.Println("releasing", u.Value)
		return nil
	}))
	callWeather(newWeather(style), nil)
	// Output:
	// holding 12A
	// asked: Who flies to "Lisbon"?
	// releasing 12A
	// error: Stopped: "name" was declined. "hold" was undone.
}

// Stop ends a call as not done with a result: what it did is undone, or the client is told that
// it stands.
func ExampleStop() {
	hold := mrtr.UndoOf("hold", func(_ context.Context, _ *mrtr.Call, u mrtr.Undo[string]) error {
		fmt.Println("releasing", u.Value)
		return nil
	})
	style := mrtr.Native(func(ctx context.Context, c *mrtr.Call, _ lookup) (*mrtr.IncompleteResult, forecast, error) {
		if _, err := mrtr.Once(ctx, c, "hold", func(context.Context, string) (string, error) { return "12A", nil }); err != nil {
			return nil, forecast{}, err
		}
		return nil, forecast{}, mrtr.Stop(forecast{"nobody flies today"})
	}).OnStop(hold)
	rt, err := mrtr.New(nil)
	if err != nil {
		panic(err)
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1"}, nil)
	mrtr.Add(server, rt, &mcp.Tool{Name: "weather"}, style)
	callWeather(server, nil)
	// Output:
	// releasing 12A
	// result: {"summary":"nobody flies today"}
}

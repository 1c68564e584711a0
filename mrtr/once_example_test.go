package mrtr_test

import (
	"context"
	"fmt"

	"github.com/mrtr-go/sdk/mrtr"
)

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

// Do is for an effect that has no value.
func ExampleDo() {
	order(mrtr.Journal(func(ctx context.Context, c *mrtr.Call, in Order) (Receipt, error) {
		if err := mrtr.Do(ctx, c, "announce", func(context.Context, string) error {
			fmt.Println("announcing", in.Item)
			return nil
		}); err != nil {
			return Receipt{}, err
		}
		count, err := mrtr.Ask(ctx, c, howMany)
		return Receipt{fmt.Sprintf("%d %s, in round %d", count, in.Item, c.Round())}, err
	}))
	// Output:
	// announcing chairs
	// user is asked: How many?
	// 3 chairs, in round 2
}

// The steps of a loop are built in a loop, up to the largest number that makes sense.
// Those that are not needed are passed over.
func ExampleErrSkip() {
	var b mrtr.Steps[Order, Receipt]
	count := mrtr.AskQuestion(&b, "count", howMany)
	var names []mrtr.Step[string]
	for i := range 5 {
		key := fmt.Sprintf("name.%d", i)
		names = append(names, mrtr.AskStep(&b, key, func(_ context.Context, at *mrtr.At[Order]) (mrtr.Question[string], error) {
			if i >= count.Of(at) {
				return mrtr.Question[string]{}, mrtr.ErrSkip
			}
			return mrtr.Known(fmt.Sprintf("guest %d", i+1)), nil
		}))
	}
	b.End(func(_ context.Context, at *mrtr.At[Order]) (Receipt, error) {
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
		c.OnStop(func(_ context.Context, err error) { fmt.Println("releasing", seat) })
		name, err := mrtr.Ask(ctx, c, mrtr.Elicit[string]("name", "Who flies to "+in.Location+"?"))
		return forecast{name + " sits in " + seat}, err
	}
	callWeather(newWeather(mrtr.Journal(handler)), nil)
	// Output:
	// holding 12A
	// asked: Who flies to Lisbon?
	// releasing 12A
	// error: Stopped: "name" was declined.
}

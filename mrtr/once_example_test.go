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

package observe_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/internal/shop"
	"github.com/mrtr-go/sdk/mrtr/observe"
)

var buying = mrtr.Native(func(_ context.Context, c *mrtr.Call, in shop.Order) (*mrtr.IncompleteResult, shop.Receipt, error) {
	count, ok := mrtr.Answer(c, shop.HowMany)
	if !ok {
		return mrtr.Need(shop.HowMany), shop.Receipt{}, nil
	}
	return nil, shop.Receipt{Summary: fmt.Sprint(count, " ", in.Item)}, nil
})

func sell(o observe.Observer) {
	rt, err := mrtr.New(&mrtr.Options{Listener: observe.With(o)})
	if err != nil {
		panic(err)
	}
	shop.Call(mrtr.Tool(rt, buying, nil))
}

// tally counts the events of each kind.
type tally map[observe.Kind]int

func (t tally) Observe(_ context.Context, e observe.Event) { t[e.Kind]++ }

// An observer gets every event of every call, and holds up the call meanwhile.
func ExampleWith() {
	seen := tally{}
	sell(seen)
	fmt.Println(seen[observe.RoundStarted], seen[observe.QuestionAnswered], seen[observe.CallCompleted])
	// Output:
	// user is asked: How many?
	// 3 chairs
	// 2 1 1
}

// Nothing in the log is secret: neither answers nor states nor the texts of errors.
func ExampleLog() {
	sell(observe.Log(slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch a.Key { // these differ from run to run
		case slog.TimeKey, "call", "durationMs", "state_bytes":
			return slog.Attr{}
		}
		return a
	}}))))
	// Output:
	// level=INFO msg="questions asked" method=tools/call name=order era=modern revision=2026-07-28 client="customer 1" round=1 questions=[count]
	// user is asked: How many?
	// level=INFO msg="call completed" method=tools/call name=order era=modern revision=2026-07-28 client="customer 1" round=2 answered="[count: accepted]"
	// 3 chairs
}

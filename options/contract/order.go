package contract

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/given"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/mrtrtest"
	"github.com/mrtr-go/sdk/mrtr/steps"
	"github.com/mrtr-go/sdk/sse"
)

// The second tool of the invariant does something between its two questions, and
// its result names the value that this gave. So a style that forgets the value, or
// runs the effect again, gives another result or leaves another line.

// order is the input.
type order struct {
	Item string `json:"item"`
}

// receipt is the output.
type receipt struct {
	Hold string `json:"hold"`
	Gift bool   `json:"gift"`
}

func (r receipt) Text() string { return fmt.Sprintf("Hold %s, wrapped: %t.", r.Hold, r.Gift) }

var (
	count = mrtr.Elicit[int]("count", "How many?")
	gift  = mrtr.Confirm("gift", "Wrap it as a gift?")
)

// holding has the effect, and returns the name of the hold.
type holding func(item string, n int) string

type orderHandler = mcp.ToolHandlerFor[order, receipt]

// OrderStyles are the order tool in every style. Where the effect stands is as in
// package options.
func OrderStyles() []mrtrtest.Subject {
	needs := &mrtr.HandlerOptions{Needs: []mrtr.AnyQuestion{count}}
	tool := func(style func(holding) mrtr.Style[order, receipt]) func(*mrtr.Runtime, holding) orderHandler {
		return func(rt *mrtr.Runtime, hold holding) orderHandler { return mrtr.Tool(rt, style(hold), needs) }
	}
	shim := func(rt *mrtr.Runtime, hold holding) orderHandler {
		return sse.Bridge(mrtr.Tool(rt, mrtr.Native(orderGuarded(hold)), &mrtr.HandlerOptions{Needs: needs.Needs, Legacy: mrtr.LegacyPassThrough}), nil)
	}
	return []mrtrtest.Subject{
		orderSubject("native", tool(func(h holding) mrtr.Style[order, receipt] { return mrtr.Native(orderGuarded(h)) })),
		orderSubject("sse_shim", shim),
		orderSubject("version_branch", tool(func(h holding) mrtr.Style[order, receipt] { return mrtr.Native(orderBranching(h)) })),
		orderSubject("two_handlers", tool(func(h holding) mrtr.Style[order, receipt] {
			return mrtr.ByVersion(mrtr.Native(orderGuarded(h)), mrtr.Native(orderWaiting(h)))
		})),
		orderSubject("once", tool(func(h holding) mrtr.Style[order, receipt] { return mrtr.Native(orderRemembering(h)) })),
		orderSubject("steps", tool(orderStepwise)),
		orderSubject("coroutine", tool(func(h holding) mrtr.Style[order, receipt] { return linear.Coroutine(orderLinear(h)) })),
		orderSubject("journal", tool(func(h holding) mrtr.Style[order, receipt] { return linear.Journal(orderLinear(h)) })),
		orderSubject("given", tool(orderGiven)),
		orderSubject("resumable", tool(func(h holding) mrtr.Style[order, receipt] { return linear.Resumable(orderLinear(h)) })),
		orderSubject("sequence", tool(func(h holding) mrtr.Style[order, receipt] { return orderSequence(h).Style() })),
		orderSubject("exceptions", tool(func(h holding) mrtr.Style[order, receipt] { return orderRaising(h).Style() })),
	}
}

func orderSubject(name string, handler func(*mrtr.Runtime, holding) orderHandler) mrtrtest.Subject {
	early, listed := ChargesEarly[name]
	return mrtrtest.Subject{Name: name, Early: early || !listed, Build: func(w *mrtrtest.World) *mcp.Server {
		rt := runtimeOf(w, &mrtr.Options{})
		server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, &mcp.ServerOptions{SchemaCache: schemas})
		mrtr.AddTool(server, &mcp.Tool{Name: "order"}, handler(rt, func(item string, n int) string {
			w.Effect(fmt.Sprintf("held %d %s", n, item))
			return fmt.Sprintf("%s-%d", item, n)
		}))
		installTasks(w, server, rt, "order")
		return server
	}}
}

func orderGuarded(hold holding) mrtr.GuardedFunc[order, receipt] {
	return func(ctx context.Context, c *mrtr.Call, o order) (*mrtr.IncompleteResult, receipt, error) {
		n, ok := mrtr.Answer(c, count)
		if !ok {
			return mrtr.Need(count), receipt{}, nil
		}
		wrapped, ok := mrtr.Answer(c, gift)
		if !ok {
			return mrtr.Need(gift), receipt{}, nil
		}
		return nil, receipt{hold(o.Item, n), wrapped}, nil
	}
}

func orderGiven(hold holding) mrtr.Style[order, receipt] {
	n := given.Question("count", func(context.Context, order) (mrtr.Question[int], error) { return count, nil })
	wrapped := given.After(n, "gift", func(context.Context, order, int) (mrtr.Question[bool], error) { return gift, nil })
	return given.Handler2(n, wrapped, func(_ context.Context, _ *mrtr.Call, o order, n int, wrapped bool) (receipt, error) {
		return receipt{hold(o.Item, n), wrapped}, nil
	})
}

func orderWaiting(hold holding) mrtr.GuardedFunc[order, receipt] {
	return func(ctx context.Context, c *mrtr.Call, o order) (*mrtr.IncompleteResult, receipt, error) {
		n, err := count.AskOver(ctx, c.Session())
		if err != nil {
			return nil, receipt{}, err
		}
		wrapped, err := gift.AskOver(ctx, c.Session())
		if err != nil {
			return nil, receipt{}, err
		}
		return nil, receipt{hold(o.Item, n), wrapped}, nil
	}
}

func orderBranching(hold holding) mrtr.GuardedFunc[order, receipt] {
	return func(ctx context.Context, c *mrtr.Call, o order) (*mrtr.IncompleteResult, receipt, error) {
		if c.Modern() {
			return orderGuarded(hold)(ctx, c, o)
		}
		return orderWaiting(hold)(ctx, c, o)
	}
}

func orderRemembering(hold holding) mrtr.GuardedFunc[order, receipt] {
	return func(ctx context.Context, c *mrtr.Call, o order) (*mrtr.IncompleteResult, receipt, error) {
		n, ok := mrtr.Answer(c, count)
		if !ok {
			return mrtr.Need(count), receipt{}, nil
		}
		held, err := mrtr.Once(ctx, c, "hold", func(context.Context, string) (string, error) { return hold(o.Item, n), nil })
		if err != nil {
			return nil, receipt{}, err
		}
		wrapped, ok := mrtr.Answer(c, gift)
		if !ok {
			return mrtr.Need(gift), receipt{}, nil
		}
		return nil, receipt{held, wrapped}, nil
	}
}

func orderStepwise(hold holding) mrtr.Style[order, receipt] {
	var b steps.List[order, receipt]
	n := steps.Always(&b, count)
	held := steps.Do(&b, "hold", func(_ context.Context, at *steps.At[order], _ string) (string, error) {
		return hold(at.In.Item, n.Of(at)), nil
	})
	wrapped := steps.Always(&b, gift)
	b.End(func(_ context.Context, at *steps.At[order]) (receipt, error) {
		return receipt{held.Of(at), wrapped.Of(at)}, nil
	})
	return b.MustBuild()
}

func orderLinear(hold holding) linear.Func[order, receipt] {
	return func(ctx context.Context, c *mrtr.Call, o order) (receipt, error) {
		n, err := linear.Ask(ctx, c, count)
		if err != nil {
			return receipt{}, err
		}
		held, err := mrtr.Once(ctx, c, "hold", func(context.Context, string) (string, error) { return hold(o.Item, n), nil })
		if err != nil {
			return receipt{}, err
		}
		wrapped, err := linear.Ask(ctx, c, gift)
		if err != nil {
			return receipt{}, err
		}
		return receipt{held, wrapped}, nil
	}
}

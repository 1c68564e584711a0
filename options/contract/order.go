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

// The third tool takes the same order, and asks both questions in one round.
// A legacy client is not among its callers: it gets both at once, in either order.

// TogetherStyles are that tool in every style. All have the effect once all is answered.
func TogetherStyles() []mrtrtest.Subject {
	options := &mrtr.HandlerOptions{Needs: []mrtr.AnyQuestion{count}}
	subject := func(name string, style func(holding) mrtr.Style[order, receipt]) mrtrtest.Subject {
		s := orderSubject(name, func(rt *mrtr.Runtime, hold holding) orderHandler { return mrtr.Tool(rt, style(hold), options) })
		s.Early = false
		return s
	}
	shim := orderSubject("sse_shim", func(rt *mrtr.Runtime, hold holding) orderHandler {
		return sse.Bridge(mrtr.Tool(rt, mrtr.Native(togetherGuarded(hold)), &mrtr.HandlerOptions{Needs: options.Needs, Legacy: mrtr.LegacyPassThrough}), nil)
	})
	return []mrtrtest.Subject{
		subject("native", func(h holding) mrtr.Style[order, receipt] { return mrtr.Native(togetherGuarded(h)) }),
		shim,
		subject("version_branch", func(h holding) mrtr.Style[order, receipt] {
			return mrtr.Native(func(ctx context.Context, c *mrtr.Call, o order) (*mrtr.IncompleteResult, receipt, error) {
				if c.Modern() {
					return togetherGuarded(h)(ctx, c, o)
				}
				return orderWaiting(h)(ctx, c, o)
			})
		}),
		subject("two_handlers", func(h holding) mrtr.Style[order, receipt] {
			return mrtr.ByVersion(mrtr.Native(togetherGuarded(h)), mrtr.Native(orderWaiting(h)))
		}),
		subject("once", func(h holding) mrtr.Style[order, receipt] { return mrtr.Native(togetherRemembering(h)) }),
		subject("steps", togetherStepwise),
		subject("coroutine", func(h holding) mrtr.Style[order, receipt] { return linear.Coroutine(togetherLinear(h)) }),
		subject("journal", func(h holding) mrtr.Style[order, receipt] { return linear.Journal(togetherLinear(h)) }),
		subject("given", togetherGiven),
		subject("resumable", func(h holding) mrtr.Style[order, receipt] { return linear.Resumable(togetherLinear(h)) }),
	}
}

func togetherGuarded(hold holding) mrtr.GuardedFunc[order, receipt] {
	return func(_ context.Context, c *mrtr.Call, o order) (*mrtr.IncompleteResult, receipt, error) {
		n, counted := mrtr.Answer(c, count)
		wrapped, told := mrtr.Answer(c, gift)
		if !counted || !told {
			return mrtr.Need(count, gift), receipt{}, nil
		}
		return nil, receipt{hold(o.Item, n), wrapped}, nil
	}
}

func togetherRemembering(hold holding) mrtr.GuardedFunc[order, receipt] {
	return func(ctx context.Context, c *mrtr.Call, o order) (*mrtr.IncompleteResult, receipt, error) {
		n, counted := mrtr.Answer(c, count)
		wrapped, told := mrtr.Answer(c, gift)
		if !counted || !told {
			return mrtr.Need(count, gift), receipt{}, nil
		}
		held, err := mrtr.Once(ctx, c, "hold", func(context.Context, string) (string, error) { return hold(o.Item, n), nil })
		return nil, receipt{held, wrapped}, err
	}
}

func togetherStepwise(hold holding) mrtr.Style[order, receipt] {
	var b steps.List[order, receipt]
	n := steps.Always(&b, count)
	wrapped := steps.Ask(&b, "gift", func(context.Context, *steps.At[order]) (mrtr.Question[bool], error) { return gift, nil }).Together()
	held := steps.Do(&b, "hold", func(_ context.Context, at *steps.At[order], _ string) (string, error) {
		return hold(at.In.Item, n.Of(at)), nil
	})
	b.End(func(_ context.Context, at *steps.At[order]) (receipt, error) {
		return receipt{held.Of(at), wrapped.Of(at)}, nil
	})
	return b.MustBuild()
}

func togetherLinear(hold holding) linear.Func[order, receipt] {
	return func(ctx context.Context, c *mrtr.Call, o order) (receipt, error) {
		if err := linear.AskAll(ctx, c, count, gift); err != nil {
			return receipt{}, err
		}
		n, _ := mrtr.Answer(c, count)
		wrapped, _ := mrtr.Answer(c, gift)
		held, err := mrtr.Once(ctx, c, "hold", func(context.Context, string) (string, error) { return hold(o.Item, n), nil })
		return receipt{held, wrapped}, err
	}
}

func togetherGiven(hold holding) mrtr.Style[order, receipt] {
	n := given.Question("count", func(context.Context, order) (mrtr.Question[int], error) { return count, nil })
	wrapped := given.Question("gift", func(context.Context, order) (mrtr.Question[bool], error) { return gift, nil })
	return given.Handler2(n, wrapped, func(_ context.Context, _ *mrtr.Call, o order, n int, wrapped bool) (receipt, error) {
		return receipt{hold(o.Item, n), wrapped}, nil
	})
}

// TogetherContracts are its calls by clients of 2026-07-28. Only what has no answer yet is
// asked again.
func TogetherContracts() []mrtrtest.Contract {
	two, yes, no := mrtrtest.Value(2), mrtrtest.Value(true), mrtrtest.Value(false)
	contract := func(name string, answers script, asks []mrtrtest.Question, requests int, ends mrtrtest.Ending, had effects) mrtrtest.Contract {
		c := orderContract(name, answers, asks, ends, had)
		c.Requests = requests
		return c
	}
	both := asking(countAsk, giftAsk)
	return []mrtrtest.Contract{
		contract("wrapped", script{"count": {two}, "gift": {yes}}, both, 2, wrapped, heldOnce),
		contract("not wrapped", script{"count": {two}, "gift": {no}}, both, 2, unwrapped, heldOnce),
		contract("gift declined", script{"count": {two}, "gift": {mrtrtest.Decline}}, both, 2, unwrapped, heldOnce),
		contract("count declined", script{"count": {mrtrtest.Decline}, "gift": {yes}}, both, 2, stopped(`Stopped: "count" was declined.`), nothing),
		contract("count missing first", script{"count": {mrtrtest.Missing, two}, "gift": {yes}}, append(both, countAsk), 3, wrapped, heldOnce),
		contract("gift missing first", script{"count": {two}, "gift": {mrtrtest.Missing, yes}}, append(both, giftAsk), 3, wrapped, heldOnce),
		contract("both of another type first", script{"count": {mrtrtest.Value("two"), two}, "gift": {mrtrtest.Value("yes"), no}},
			append(both, asAgain(countAsk, countMisfit), asAgain(giftAsk, giftMisfit)), 3, unwrapped, heldOnce),
	}
}

//go:build unix

package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math/rand/v2"
	"os"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/tasks"
)

// ToolName is that of a server with one tool.
const ToolName = "pay"

// Job is what a process serves, from a store.
type Job struct {
	Backend string
	Address string // of the records
	Ledger  Ledger
	Key     string // that seals states
	Row     string // of its only tool; if empty, all of [Styles] are tools
	Lease   time.Duration
	TTL     time.Duration // of the states: their user is not waited for any longer; an hour if zero
	Tries   int           // MaxAttempts
	// Takers is a file in which a process notes that it has taken a round over and kills
	// itself in it, as every second one does; "" where none does.
	Takers Ledger

	Point    Point
	Stop     bool          // rather than kill
	Holds    bool          // there is an effect in the first round too
	HoldTime time.Duration // that it takes
	Keyed    bool          // an order is the key of its call
	Tasks    bool          // every call is one, and has a question behind its effect
	Unsteady bool          // the store stops now and then

	// Bell is where its rounds ring. A process with one serves over HTTP too.
	Bell string
}

// EffectTime is how long an effect takes where many kills are to hit one.
const EffectTime = 100 * time.Millisecond

// DrainTime bounds the drain of a process whose input has ended.
const DrainTime = 30 * time.Second

// Serve serves the tool over standard input and output until the input ends.
func (j Job) Serve(ctx context.Context, s store.Store) error {
	trap := &trap{point: j.Point, stop: j.Stop}
	shop := &Shop{Ledger: j.Ledger, Mails: j.Tasks, Holds: j.Holds, Reach: func(order, place string) {
		if place != EffectEnds {
			ring(j.Bell, order, place)
		}
		if place == Held {
			time.Sleep(j.HoldTime)
		}
		trap.reach(place)
	}}
	tools := Styles()
	switch j.Row {
	case "":
	case Plain:
		tools = nil
	default:
		row := Find(j.Row)
		row.Opts.Task.AtOnce = j.Tasks
		tools = map[string]Row{ToolName: row}
	}
	if j.Unsteady {
		s = Tapped{Store: s, Around: unsteady}
	}
	opts := &mrtr.Options{Durable: durable.In(Tapped{Store: s, Around: trap.around}, &durable.Options{Lease: j.Lease, MaxAttempts: j.Tries, LookEvery: j.TTL / 8})}
	if j.TTL != 0 {
		opts.State = &statecodec.Options{TTL: j.TTL, Skew: j.TTL / 16}
	}
	if j.Keyed {
		opts.SameKey = func(_ context.Context, req mcp.Request) string {
			call, _ := req.GetParams().(*mcp.CallToolParamsRaw)
			return string(call.Arguments)
		}
	}
	if j.Takers != "" {
		opts.Listener = observe.With(taker(j.Takers))
	}
	rt, server, err := newServer(opts, j.Key, shop, tools)
	if err != nil {
		return err
	}
	mrtr.AddTool(server, &mcp.Tool{Name: haltTool}, trap.halt)
	server.AddReceivingMiddleware(trap.serves)
	var policy map[string]tasks.Policy
	if j.Row == Plain {
		policy = map[string]tasks.Policy{ToolName: {AtOnce: true}}
		server.AddTool(&mcp.Tool{Name: ToolName, InputSchema: json.RawMessage(`{"type":"object"}`)}, shop.plain)
	}
	if j.Tasks {
		m, err := tasks.Install(server, &tasks.Options{Runtime: rt, Policy: policy})
		if err != nil {
			return err
		}
		_ = server.Run(ctx, &mcp.StdioTransport{}) // the end of the input is its error
		return errors.Join(m.Close(), rt.Close())
	}
	flush := func(context.Context) error { return nil }
	if j.Bell != "" {
		if flush, err = listen(server, j.Bell); err != nil {
			return err
		}
	}
	_ = server.Run(ctx, &mcp.StdioTransport{})
	ring(j.Bell, "", Draining)
	ctx, cancel := context.WithTimeout(ctx, DrainTime)
	defer cancel()
	return errors.Join(rt.Drain(ctx), flush(ctx))
}

// Plain is the row of a tool that is go-sdk's alone. It asks whether to pay, and pays.
const Plain = "plain"

func (s *Shop) plain(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if req.Params.RequestState == "" {
		asks := &mcp.ElicitParams{Message: "Pay?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"pay":{"type":"boolean"}}}`)}
		return &mcp.CallToolResult{RequestState: "pays", InputRequests: mcp.InputRequestMap{"pay": asks}}, nil
	}
	var o Order
	if err := json.Unmarshal(req.Params.Arguments, &o); err != nil {
		return nil, err
	}
	receipt, err := s.Pay(ctx, o.Order, Plain+o.Order)
	return &mcp.CallToolResult{StructuredContent: receipt, Content: []mcp.Content{}}, err
}

// taker kills its process in a round that it has taken over, before the effect, in it or
// after it.
type taker Ledger

func (k taker) Observe(_ context.Context, e observe.Event) {
	if e.Kind != observe.RoundTakenOver || rand.IntN(2) == 0 {
		return
	}
	time.AfterFunc(rand.N(EffectTime+EffectTime/2), func() {
		_ = Ledger(k).Enter("killed", e.Call)
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	})
}

// unsteady is a tap that fails for 0.2 seconds of each second, at all processes at once. Of
// the operations that fail then, one in three was not run, one has been, and one will be.
func unsteady(_ context.Context, _ Operation, run, late func() error) error {
	if time.Now().UnixMilli()%1000 >= 200 {
		return run()
	}
	switch rand.IntN(3) {
	case 0:
		_ = run()
	case 1:
		if late != nil {
			time.AfterFunc(rand.N(100*time.Millisecond), func() { _ = late() })
		}
	}
	return ErrCut
}

func newServer(opts *mrtr.Options, key string, shop *Shop, tools map[string]Row) (*mrtr.Runtime, *mcp.Server, error) {
	seal, err := statecodec.ParseKey(key)
	if err != nil {
		return nil, nil, err
	}
	if opts.State == nil {
		opts.State = &statecodec.Options{}
	}
	opts.State.Keys = []statecodec.Key{seal}
	rt, err := mrtr.New(opts)
	if err != nil {
		return nil, nil, err
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
	for name, row := range tools {
		row.Opts.Name = name // an instance that was asked nothing yet has to find the tool
		mrtr.AddTool(server, &mcp.Tool{Name: name}, mrtr.Tool(rt, row.Style(shop), &row.Opts))
	}
	// The boundary names the type of an error.
	return rt, server, boundary.Install(server, &boundary.Options{Logger: slog.New(slog.DiscardHandler)})
}

// Styles are the rows that pay once, by the name of their tools.
func Styles() map[string]Row {
	tools := map[string]Row{}
	for _, name := range []string{"once", "steps", "coroutine", "journal", "resumable"} {
		tools[name] = Find(name)
	}
	return tools
}

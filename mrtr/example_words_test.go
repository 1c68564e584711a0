package mrtr_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// round makes one request of the weather tool, with an answer to "units" if there is one.
func round(handler mcp.ToolHandlerFor[lookup, forecast], state, units string) (next, said string) {
	req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{
		Meta: mcp.Meta{
			mcp.MetaKeyProtocolVersion:    "2026-07-28",
			mcp.MetaKeyClientCapabilities: map[string]any{"elicitation": map[string]any{"form": map[string]any{}}},
		},
		Name: "weather", Arguments: []byte(`{"location":"Lisbon"}`), RequestState: state,
	}}
	if units != "" {
		req.Params.InputResponses = mcp.InputResponseMap{"units": &mcp.ElicitResult{Action: "accept", Content: map[string]any{"units": units}}}
	}
	result, out, err := handler(context.Background(), req, lookup{"Lisbon"})
	switch {
	case err != nil:
		return "", err.Error()
	case result != nil && result.InputRequests != nil:
		return result.RequestState, "a question"
	}
	return "", out.Summary
}

func unitsOnly() mrtr.Style[lookup, forecast] {
	return oneQuestion(kit.Units, func(unit string) string { return unit })
}

// Instances that share a key serve each other's rounds.
func ExampleNew() {
	key := statecodec.GenerateKey()
	instance := func() mcp.ToolHandlerFor[lookup, forecast] {
		rt, err := mrtr.New(&mrtr.Options{State: &statecodec.Options{Keys: []statecodec.Key{key}}})
		if err != nil {
			panic(err)
		}
		return mrtr.Tool(rt, unitsOnly(), nil)
	}
	state, said := round(instance(), "", "")
	fmt.Println(said)
	_, said = round(instance(), state, "metric")
	fmt.Println(said)
	// Output:
	// a question
	// metric
}

// Tool makes a handler for go-sdk's own AddTool, which keeps the schemas of In and Out.
func ExampleTool() {
	rt, err := mrtr.New(nil)
	if err != nil {
		panic(err)
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1"}, nil)
	mrtr.AddTool(server, &mcp.Tool{Name: "weather"}, mrtr.Tool(rt, unitsOnly(), nil))
	callWeather(server, map[string]any{"units": "metric"})
	// Output:
	// asked: Which units?
	// result: {"summary":"metric"}
}

// Where there is no answer yet, the handler returns its question.
func ExampleAnswer() {
	handler := func(_ context.Context, c *mrtr.Call, _ lookup) (*mrtr.IncompleteResult, forecast, error) {
		unit, ok := mrtr.Answer(c, kit.Units)
		fmt.Printf("%q %t\n", unit, ok)
		if !ok {
			return mrtr.Need(kit.Units), forecast{}, nil
		}
		return nil, forecast{unit}, nil
	}
	callWeather(newWeather(mrtr.Native(handler)), map[string]any{"units": "metric"})
	// Output:
	// "" false
	// asked: Which units?
	// "metric" true
	// result: {"summary":"metric"}
}

// With a store, a request that arrives twice runs once.
func ExampleOptions() {
	rt, err := mrtr.New(&mrtr.Options{Durable: durable.In(store.NewMemory(nil), nil)})
	if err != nil {
		panic(err)
	}
	handler := mrtr.Tool(rt, oneQuestion(kit.Units, func(unit string) string {
		fmt.Println("looking it up")
		return unit
	}), nil)
	state, _ := round(handler, "", "")
	for range 2 {
		_, said := round(handler, state, "metric")
		fmt.Println(said)
	}
	// Output:
	// looking it up
	// metric
	// metric
}

// A question is a value. A malformed one ends the call that asks it, and says why at once.
func ExampleQuestion() {
	fmt.Println(kit.Units.Key(), kit.Units.Err())
	fmt.Println(mrtr.Choose("units", "Which units?").Err())
	// Output:
	// units <nil>
	// mrtr: question "units": there is nothing to choose from
}

// heldUnits asks in linear code, and is held meanwhile.
func heldUnits() mrtr.Style[lookup, forecast] {
	return linear.Coroutine(func(ctx context.Context, c *mrtr.Call, _ lookup) (forecast, error) {
		unit, err := linear.Ask(ctx, c, kit.Units)
		return forecast{unit}, err
	})
}

// Text of a model or a user is quoted, so that it can't pose as the question.
func ExampleQuote() {
	place := "Lisbon?\nApproved by your administrator."
	fmt.Println("Delete the alarm of " + mrtr.Quote(place) + "?")
	// Output:
	// Delete the alarm of "Lisbon?\u000aApproved by your administrator."?
}

// A handler says no in its own words. No log shows a fault.
func ExampleError_declined() {
	style := mrtr.Native(func(context.Context, *mrtr.Call, lookup) (*mrtr.IncompleteResult, forecast, error) {
		return nil, forecast{}, &mrtr.Error{Reason: mrtr.Declined, Detail: "Lisbon has no forecast today."}
	})
	callWeather(newWeather(style), nil)
	// Output:
	// error: Stopped: Lisbon has no forecast today.
}

// A mistake in the program is found when the program starts, if possible.
func ExampleUsageError() {
	_, err := mrtr.New(&mrtr.Options{Limits: mrtr.Limits{MaxRounds: -1}})
	var mistake *mrtr.UsageError
	fmt.Println(errors.As(err, &mistake), err)
	// Output:
	// true mrtr: Options.Limits.MaxRounds is negative: -1
}

// A panic ends its own call. The client learns nothing of the cause, and the log does.
func ExamplePanicError() {
	style := mrtr.Native(func(context.Context, *mrtr.Call, lookup) (*mrtr.IncompleteResult, forecast, error) {
		panic("no weather")
	})
	rt, err := mrtr.New(nil)
	if err != nil {
		panic(err)
	}
	_, said := round(mrtr.Tool(rt, style, nil), "", "")
	fmt.Println(said)
	// Output:
	// The tool failed unexpectedly.
}

// A handler that asks without an end is stopped.
func ExampleLimits() {
	rt, err := mrtr.New(&mrtr.Options{Limits: mrtr.Limits{MaxRounds: 2}})
	if err != nil {
		panic(err)
	}
	style := linear.Coroutine(func(ctx context.Context, c *mrtr.Call, _ lookup) (forecast, error) {
		for turn := 1; ; turn++ {
			if _, err := linear.Ask(ctx, c, mrtr.Elicit[string](fmt.Sprint("q", turn), "And then?")); err != nil {
				return forecast{}, err
			}
		}
	})
	server := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1"}, nil)
	mrtr.AddTool(server, &mcp.Tool{Name: "weather"}, mrtr.Tool(rt, style, nil))
	callWeather(server, map[string]any{"q1": "rain", "q2": "sun", "q3": "rain"})
	// Output:
	// asked: And then?
	// asked: And then?
	// error: Stopped: more than 2 rounds of questions in one call.
}

// Options of one tool: its user has ten minutes, and a client that cannot be asked is refused
// before the handler runs.
func ExampleHandlerOptions() {
	rt, err := mrtr.New(nil)
	if err != nil {
		panic(err)
	}
	style := mrtr.Native(func(_ context.Context, c *mrtr.Call, _ lookup) (*mrtr.IncompleteResult, forecast, error) {
		fmt.Println("entered")
		return mrtr.Need(kit.Units), forecast{}, nil
	})
	handler := mrtr.Tool(rt, style, &mrtr.HandlerOptions{StateTTL: 10 * time.Minute, Needs: []mrtr.AnyQuestion{kit.Units}})
	mute := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "weather", Meta: mcp.Meta{
		mcp.MetaKeyProtocolVersion: "2026-07-28", mcp.MetaKeyClientCapabilities: map[string]any{},
	}}}
	_, _, err = handler(context.Background(), mute, lookup{})
	fmt.Println(err)
	// Output:
	// Missing required client capability: "weather" asks "units"
}

// Drain waits for the handlers that are held. New calls that would be held are refused
// meanwhile, and their clients may call again: another instance takes them.
func ExampleRuntime_Drain() {
	rt, err := mrtr.New(nil)
	if err != nil {
		panic(err)
	}
	handler := mrtr.Tool(rt, heldUnits(), nil)
	state, _ := round(handler, "", "")
	drained := make(chan error)
	go func() { drained <- rt.Drain(context.Background()) }()
	for !rt.Stats().Draining {
		runtime.Gosched()
	}
	_, said := round(handler, "", "")
	fmt.Println(said)
	_, said = round(handler, state, "metric")
	fmt.Println(said, <-drained)
	// Output:
	// This server is shutting down and has not begun this request: send it again as it is.
	// metric <nil>
}

// lastCall is an observer that remembers which call it saw last.
type lastCall struct{ id string }

func (l *lastCall) Observe(_ context.Context, e observe.Event) { l.id = e.Call }

// Erase empties the records of a call. A repeat still runs nothing, and its result is gone.
func ExampleRuntime_Erase() {
	var last lastCall
	rt, err := mrtr.New(&mrtr.Options{Durable: durable.In(store.NewMemory(nil), nil), Listener: observe.With(&last)})
	if err != nil {
		panic(err)
	}
	handler := mrtr.Tool(rt, unitsOnly(), nil)
	state, _ := round(handler, "", "")
	round(handler, state, "metric")
	fmt.Println(rt.Erase(context.Background(), "", last.id))
	_, said := round(handler, state, "metric")
	fmt.Println(said)
	// Output:
	// 2 <nil>
	// This round was completed before, and its result was not kept: do not call the tool again without checking.
}

// Work that takes long reports progress, so that a client which waits knows that it goes on.
func ExampleCall_Session() {
	style := mrtr.Native(func(ctx context.Context, c *mrtr.Call, _ lookup) (*mrtr.IncompleteResult, forecast, error) {
		token := c.Request().GetParams().(mcp.RequestParams).GetProgressToken() // nil if the client wants none
		for day := range 3 {
			if token != nil {
				// An error says only that the client has left.
				_ = c.Session().NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(day + 1), Total: 3})
			}
		}
		return nil, forecast{"three days"}, nil
	})
	progress := make(chan float64, 3)
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) { progress <- req.Params.Progress },
	})
	serverSide, clientSide := mcp.NewInMemoryTransports()
	if _, err := newWeather(style).Connect(context.Background(), serverSide, nil); err != nil {
		panic(err)
	}
	session, err := client.Connect(context.Background(), clientSide, nil)
	if err != nil {
		panic(err)
	}
	defer session.Close()
	params := &mcp.CallToolParams{Name: "weather", Arguments: lookup{"Lisbon"}}
	params.SetProgressToken("forecast")
	if _, err := session.CallTool(context.Background(), params); err != nil {
		panic(err)
	}
	fmt.Println(<-progress, <-progress, <-progress)
	// Output:
	// 1 2 3
}

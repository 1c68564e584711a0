package mrtr_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/internal/shop"
	"github.com/mrtr-go/sdk/mrtr/linear"
)

// A guarded handler reads its answers and asks for the missing ones. It runs
// from its top in every round.
func ExampleNative() {
	unit := mrtr.Choose("units", "Which units?", mrtr.Choices("metric", "imperial")...)
	handler := func(_ context.Context, c *mrtr.Call, in lookup) (*mrtr.IncompleteResult, forecast, error) {
		fmt.Println("round", c.Round())
		answer, ok := mrtr.Answer(c, unit)
		if !ok {
			return mrtr.Need(unit), forecast{}, nil
		}
		return nil, forecast{in.Location + " in " + answer + " units"}, nil
	}
	rt, err := mrtr.New(nil)
	if err != nil {
		panic(err)
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1"}, nil)
	mrtr.AddTool(server, &mcp.Tool{Name: "weather"}, mrtr.Tool(rt, mrtr.Native(handler), nil))

	callTool(server, "weather", map[string]any{"units": "metric"})
	// Output:
	// round 1
	// asked: Which units?
	// round 2
	// result: {"summary":"Lisbon in metric units"}
}

// The same tool written for go-sdk alone, and its client sees no difference.
// But its state is not checked, its answer is not validated, it does not look
// whether the client can be asked, and legacy clients get one round.
func Example_sideBySide() {
	schema := map[string]any{
		"type":       "object",
		"properties": map[string]any{"units": map[string]any{"type": "string", "enum": []string{"metric", "imperial"}}},
		"required":   []string{"units"},
	}
	bare := func(_ context.Context, req *mcp.CallToolRequest, in lookup) (*mcp.CallToolResult, forecast, error) {
		answer, ok := req.Params.InputResponses["units"].(*mcp.ElicitResult)
		if !ok {
			return &mcp.CallToolResult{
				InputRequests: mcp.InputRequestMap{"units": &mcp.ElicitParams{Mode: "form", Message: "Which units?", RequestedSchema: schema}},
				RequestState:  "anybody could write this",
			}, forecast{}, nil
		}
		if answer.Action != "accept" {
			return nil, forecast{}, fmt.Errorf("Stopped: %q was declined.", "units")
		}
		return nil, forecast{fmt.Sprintf("%s in %s units", in.Location, answer.Content["units"])}, nil
	}
	unit := mrtr.Choose("units", "Which units?", mrtr.Choices("metric", "imperial")...)
	ours := func(_ context.Context, c *mrtr.Call, in lookup) (*mrtr.IncompleteResult, forecast, error) {
		answer, ok := mrtr.Answer(c, unit)
		if !ok {
			return mrtr.Need(unit), forecast{}, nil
		}
		return nil, forecast{fmt.Sprintf("%s in %s units", in.Location, answer)}, nil
	}
	rt, err := mrtr.New(nil)
	if err != nil {
		panic(err)
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1"}, nil)
	mrtr.AddTool(server, &mcp.Tool{Name: "bare"}, bare)
	mrtr.AddTool(server, &mcp.Tool{Name: "ours"}, mrtr.Tool(rt, mrtr.Native(ours), nil))

	for _, name := range []string{"bare", "ours"} {
		fmt.Println(name)
		callTool(server, name, map[string]any{"units": "metric"})
		callTool(server, name, nil)
	}
	// Output:
	// bare
	// asked: Which units?
	// result: {"summary":"Lisbon in metric units"}
	// asked: Which units?
	// error: Stopped: "units" was declined.
	// ours
	// asked: Which units?
	// result: {"summary":"Lisbon in metric units"}
	// asked: Which units?
	// error: Stopped: "units" was declined.
}

// A confirmation is true only when a person said yes. A decline does not end the
// call; the handler decides how to go on.
func ExampleConfirm() {
	sure := mrtr.Confirm("sure", "Really delete everything?")
	handler := func(_ context.Context, c *mrtr.Call, _ lookup) (*mrtr.IncompleteResult, forecast, error) {
		yes, ok := mrtr.Answer(c, sure)
		switch {
		case !ok:
			return mrtr.Need(sure), forecast{}, nil
		case !yes:
			return nil, forecast{"Nothing was deleted."}, nil
		}
		return nil, forecast{"Everything is gone."}, nil
	}
	server := newWeather(mrtr.Native(handler))
	callWeather(server, map[string]any{"sure": true})
	callWeather(server, nil)
	// Output:
	// asked: Really delete everything?
	// result: {"summary":"Everything is gone."}
	// asked: Really delete everything?
	// result: {"summary":"Nothing was deleted."}
}

// Questions that do not depend on one another go out in one round.
func ExampleNeed() {
	from := mrtr.Elicit[string]("from", "Where from?")
	seats := mrtr.Elicit[int]("seats", "How many seats?")
	handler := func(_ context.Context, c *mrtr.Call, in lookup) (*mrtr.IncompleteResult, forecast, error) {
		start, ok1 := mrtr.Answer(c, from)
		n, ok2 := mrtr.Answer(c, seats)
		if !ok1 || !ok2 {
			return mrtr.Need(from, seats), forecast{}, nil
		}
		return nil, forecast{fmt.Sprintf("%d seats from %s to %s, in round %d", n, start, in.Location, c.Round())}, nil
	}
	callWeather(newWeather(mrtr.Native(handler)), map[string]any{"from": "Porto", "seats": 2})
	// Unordered output:
	// asked: Where from?
	// asked: How many seats?
	// result: {"summary":"2 seats from Porto to Lisbon, in round 2"}
}

// A prompt asks as a tool does.
func ExampleRuntime_Prompt() {
	handler := func(_ context.Context, c *mrtr.Call, arguments map[string]string) (*mrtr.IncompleteResult, *mcp.GetPromptResult, error) {
		unit, ok := mrtr.Answer(c, kit.Units)
		if !ok {
			return mrtr.Need(kit.Units), nil, nil
		}
		text := &mcp.TextContent{Text: "Describe " + arguments["place"] + " in " + unit + " units."}
		return nil, &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: text}}}, nil
	}
	rt, err := mrtr.New(nil)
	if err != nil {
		panic(err)
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1"}, nil)
	server.AddPrompt(&mcp.Prompt{Name: "describe", Arguments: []*mcp.PromptArgument{{Name: "place"}}}, rt.Prompt(mrtr.Native(handler), nil))

	session := connectUser(server, map[string]any{"units": "metric"}, "")
	defer session.Close()
	result, err := session.GetPrompt(context.Background(), &mcp.GetPromptParams{Name: "describe", Arguments: map[string]string{"place": "Lisbon"}})
	if err != nil {
		panic(err)
	}
	fmt.Println(result.Messages[0].Content.(*mcp.TextContent).Text)
	// Output:
	// asked: Which units?
	// Describe Lisbon in metric units.
}

// A resource asks as a tool does. Its input is the address.
func ExampleRuntime_Resource() {
	handler := func(_ context.Context, c *mrtr.Call, uri string) (*mrtr.IncompleteResult, *mcp.ReadResourceResult, error) {
		unit, ok := mrtr.Answer(c, kit.Units)
		if !ok {
			return mrtr.Need(kit.Units), nil, nil
		}
		return nil, &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, Text: "22 degrees, " + unit}}}, nil
	}
	rt, err := mrtr.New(nil)
	if err != nil {
		panic(err)
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1"}, nil)
	server.AddResource(&mcp.Resource{Name: "lisbon", URI: "weather://lisbon"}, rt.Resource(mrtr.Native(handler), nil))

	session := connectUser(server, map[string]any{"units": "metric"}, "")
	defer session.Close()
	result, err := session.ReadResource(context.Background(), &mcp.ReadResourceParams{URI: "weather://lisbon"})
	if err != nil {
		panic(err)
	}
	fmt.Println(result.Contents[0].URI, result.Contents[0].Text)
	// Output:
	// asked: Which units?
	// weather://lisbon 22 degrees, metric
}

// A raw tool has a schema made at run time, and reads its arguments itself.
func ExampleRuntime_RawTool() {
	handler := func(_ context.Context, c *mrtr.Call, arguments json.RawMessage) (*mrtr.IncompleteResult, *mcp.CallToolResult, error) {
		unit, ok := mrtr.Answer(c, kit.Units)
		if !ok {
			return mrtr.Need(kit.Units), nil, nil
		}
		text := &mcp.TextContent{Text: string(arguments) + " " + unit}
		return nil, &mcp.CallToolResult{Content: []mcp.Content{text}}, nil
	}
	rt, err := mrtr.New(nil)
	if err != nil {
		panic(err)
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1"}, nil)
	schema := json.RawMessage(`{"type":"object","properties":{"location":{"type":"string"}}}`)
	server.AddTool(&mcp.Tool{Name: "raw", InputSchema: schema}, rt.RawTool(mrtr.Native(handler), nil))

	session := connectUser(server, map[string]any{"units": "metric"}, "")
	defer session.Close()
	result, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "raw", Arguments: lookup{"Lisbon"}})
	if err != nil {
		panic(err)
	}
	fmt.Println(result.Content[0].(*mcp.TextContent).Text)
	// Output:
	// asked: Which units?
	// {"location":"Lisbon"} metric
}

// The modern arm returns its question. The legacy arm waits for the answer in
// place, which only the session of a legacy client can carry.
func ExampleByVersion() {
	modern := oneQuestion(kit.Units, func(unit string) string { return unit + ", from a round" })
	legacy := mrtr.Native(func(ctx context.Context, c *mrtr.Call, _ lookup) (*mrtr.IncompleteResult, forecast, error) {
		unit, err := kit.Units.AskOver(ctx, c.Session())
		if err != nil {
			return nil, forecast{}, err
		}
		return nil, forecast{unit + ", over the session"}, nil
	})
	server := newWeather(mrtr.ByVersion(modern, legacy))
	for _, version := range []string{"2026-07-28", "2025-11-25"} {
		session := connectUser(server, map[string]any{"units": "metric"}, version)
		result, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "weather", Arguments: lookup{"Lisbon"}})
		if err != nil {
			panic(err)
		}
		fmt.Println(version, result.StructuredContent)
		session.Close()
	}
	// Output:
	// asked: Which units?
	// 2026-07-28 map[summary:metric, from a round]
	// asked: Which units?
	// 2025-11-25 map[summary:metric, over the session]
}

// Middleware tells outcomes apart by their reason.
func ExampleError() {
	server := newWeather(oneQuestion(kit.Units, func(unit string) string { return unit }))
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			result, err := next(ctx, method, req)
			var ended *mrtr.Error
			if tool, ok := result.(*mcp.CallToolResult); ok && errors.As(tool.GetError(), &ended) {
				fmt.Println(ended.Reason, ended.Key, ended.Reason == mrtr.Declined)
			}
			return result, err
		}
	})
	callWeather(server, nil)
	// Output:
	// asked: Which units?
	// declined units true
	// error: Stopped: "units" was declined.
}

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

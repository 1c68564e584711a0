package mrtr_test

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
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
	mcp.AddTool(server, &mcp.Tool{Name: "weather"}, mrtr.Tool(rt, mrtr.Native(handler), nil))

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
	mcp.AddTool(server, &mcp.Tool{Name: "bare"}, bare)
	mcp.AddTool(server, &mcp.Tool{Name: "ours"}, mrtr.Tool(rt, mrtr.Native(ours), nil))

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

// A value of the author's own travels in the sealed state, typed at both ends.
func ExampleIncompleteResult_Carry() {
	type quote struct{ Price int }
	accept := mrtr.Confirm("accept", "Is 42 all right?")
	handler := func(_ context.Context, c *mrtr.Call, _ lookup) (*mrtr.IncompleteResult, forecast, error) {
		offer, ok := mrtr.Carried[quote](c)
		if !ok {
			offer = quote{Price: 42} // asked of the market, in the first round only
		}
		yes, ok := mrtr.Answer(c, accept)
		if !ok {
			return mrtr.Need(accept).Carry(offer), forecast{}, nil
		}
		return nil, forecast{fmt.Sprintf("price %d, accepted %t", offer.Price, yes)}, nil
	}
	callWeather(newWeather(mrtr.Native(handler)), map[string]any{"accept": true})
	// Output:
	// asked: Is 42 all right?
	// result: {"summary":"price 42, accepted true"}
}

package mrtr_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
)

// oneQuestion is a guarded handler that asks one question and reports its answer.
func oneQuestion[T any](q mrtr.Question[T], report func(T) string) mrtr.Style[lookup, forecast] {
	return mrtr.Native(func(_ context.Context, c *mrtr.Call, _ lookup) (*mrtr.IncompleteResult, forecast, error) {
		answer, ok := mrtr.Answer(c, q)
		if !ok {
			return mrtr.Need(q), forecast{}, nil
		}
		return nil, forecast{report(answer)}, nil
	})
}

// A struct is a form of several fields. A pointer is a field that may stay empty.
func ExampleElicit() {
	type trip struct {
		To    string  `json:"to" jsonschema:"where to go"`
		Seats int     `json:"seats"`
		Note  *string `json:"note"`
	}
	q := mrtr.Elicit[trip]("trip", "Where to, and for how many?")
	style := oneQuestion(q, func(t trip) string { return fmt.Sprintf("%d seats to %s, note: %t", t.Seats, t.To, t.Note != nil) })
	callWeather(newWeather(style), map[string]any{"to": "Porto", "seats": 2, "note": "window"})
	// Output:
	// asked: Where to, and for how many?
	// result: {"summary":"2 seats to Porto, note: true"}
}

// Tags limit the values of a field. The fields of an embedded struct are fields of the
// form.
func ExampleElicit_limits() {
	type contact struct {
		Email string `json:"email" format:"email" jsonschema:"where the receipt goes"`
	}
	type order struct {
		contact
		Count int `json:"count" title:"How many" minimum:"1" maximum:"9" default:"1"`
	}
	q := mrtr.Elicit[order]("order", "How many, and whose?").Prefill(order{contact: contact{"ann@example.org"}})
	style := oneQuestion(q, func(o order) string { return fmt.Sprintf("%d for %s", o.Count, o.Email) })
	callWeather(newWeather(style), map[string]any{"email": "bob@example.org", "count": 3})
	// Output:
	// asked: How many, and whose?
	// result: {"summary":"3 for bob@example.org"}
}

// The choices are made at run time. Each may have a title for people.
func ExampleChoose() {
	q := mrtr.Choose("place", "Which Springfield?",
		mrtr.Choice{Value: "US-IL", Title: "Springfield, Illinois"},
		mrtr.Choice{Value: "US-MO", Title: "Springfield, Missouri"})
	callWeather(newWeather(oneQuestion(q, func(place string) string { return place })), map[string]any{"place": "US-MO"})
	// Output:
	// asked: Which Springfield?
	// result: {"summary":"US-MO"}
}

// A schema that no Go type of the program has. The answer holds the properties
// that it names.
func ExampleElicitSchema() {
	q := mrtr.ElicitSchema("filter", "Which days?", json.RawMessage(`{
		"type": "object",
		"properties": {"from": {"type": "string", "format": "date"}, "days": {"type": "integer", "minimum": 1}},
		"required": ["from"]
	}`))
	style := oneQuestion(q, func(filter map[string]any) string {
		return fmt.Sprintf("%v days from %v", filter["days"], filter["from"])
	})
	callWeather(newWeather(style), map[string]any{"from": "2026-07-28", "days": 3})
	// Output:
	// asked: Which days?
	// result: {"summary":"3 days from 2026-07-28"}
}

// The schema is made at run time, and the answer has a type all the same.
func ExampleElicitAs() {
	type seat struct {
		Row   int      `json:"row"`
		Meals []string `json:"meals"`
	}
	q := mrtr.ElicitAs[seat]("seat", "Which seat?", json.RawMessage(`{
		"type": "object",
		"properties": {
			"row": {"type": "integer", "minimum": 1, "maximum": 32},
			"meals": {"type": "array", "items": {"type": "string", "enum": ["fish", "soup"]}}
		},
		"required": ["row"]
	}`))
	style := oneQuestion(q, func(s seat) string { return fmt.Sprintf("row %d with %v", s.Row, s.Meals) })
	callWeather(newWeather(style), map[string]any{"row": 12, "meals": []string{"soup"}})
	// Output:
	// asked: Which seat?
	// result: {"summary":"row 12 with [soup]"}
}

// Code that asked with ServerSession.Elicit keeps its params, and its use of the
// result.
func ExampleElicitRaw() {
	params := &mcp.ElicitParams{Message: "How many?", RequestedSchema: json.RawMessage(
		`{"type":"object","properties":{"count":{"type":"integer"}},"required":["count"]}`)}
	style := oneQuestion(mrtr.ElicitRaw("count", params), func(res *mcp.ElicitResult) string {
		if res.Action != "accept" {
			return "none"
		}
		return fmt.Sprint(res.Content["count"])
	})
	callWeather(newWeather(style), map[string]any{"count": 3})
	callWeather(newWeather(style), nil)
	// Output:
	// asked: How many?
	// result: {"summary":"3"}
	// asked: How many?
	// result: {"summary":"none"}
}

// An accept says that the user went to the address, not that they are done there.
func ExampleElicitURL() {
	q := mrtr.ElicitURL("login", "Please log in.", "https://example.org/login")
	callWeather(newWeather(oneQuestion(q, func(struct{}) string { return "on the way" })), map[string]any{})
	// Output:
	// asked: Please log in.
	// visited: https://example.org/login
	// result: {"summary":"on the way"}
}

// The client's model is asked, rather than its user.
func ExampleSample() {
	q := mrtr.Sample("mood", &mcp.CreateMessageWithToolsParams{
		MaxTokens: 10,
		Messages:  []*mcp.SamplingMessageV2{{Role: "user", Content: []mcp.Content{&mcp.TextContent{Text: "Is it warm?"}}}},
	})
	style := oneQuestion(q, func(m *mcp.CreateMessageWithToolsResult) string {
		for _, content := range m.Content {
			if text, ok := content.(*mcp.TextContent); ok { // a model may answer with an image, or with nothing
				return text.Text
			}
		}
		return "no answer in words"
	})
	callWeather(newWeather(style), nil)
	// Output:
	// result: {"summary":"Yes."}
}

// The client itself is asked, for the folders that it works in.
func ExampleRoots() {
	style := oneQuestion(mrtr.Roots("roots"), func(r *mcp.ListRootsResult) string {
		if len(r.Roots) == 0 {
			return "nowhere"
		}
		return r.Roots[0].URI
	})
	callWeather(newWeather(style), nil)
	// Output:
	// result: {"summary":"file:///home/user/trips"}
}

// A decline is nil here, and the call goes on.
func ExampleOptional() {
	q := mrtr.Optional(mrtr.Choose("units", "Which units?", mrtr.Choices("metric", "imperial")...))
	style := oneQuestion(q, func(units *string) string {
		if units == nil {
			return "both units"
		}
		return *units
	})
	callWeather(newWeather(style), nil)
	callWeather(newWeather(style), map[string]any{"units": "metric"})
	// Output:
	// asked: Which units?
	// result: {"summary":"both units"}
	// asked: Which units?
	// result: {"summary":"metric"}
}

// Where it matters why there is no answer, Reply tells.
func ExampleReply() {
	q := mrtr.Reply(mrtr.Choose("units", "Which units?", mrtr.Choices("metric", "imperial")...))
	style := oneQuestion(q, func(r mrtr.Replied[string]) string {
		switch r.Reason {
		case mrtr.Declined:
			return "no units, as the user wishes"
		case mrtr.Cancelled, mrtr.CannotBeAsked:
			return "both units"
		}
		return r.Value
	})
	callWeather(newWeather(style), nil)
	callWeather(newWeather(style), map[string]any{"units": "metric"})
	// Output:
	// asked: Which units?
	// result: {"summary":"no units, as the user wishes"}
	// asked: Which units?
	// result: {"summary":"metric"}
}

// Only an ambiguous name needs the user. Known takes the same path otherwise.
func ExampleKnown() {
	which := func(name string) mrtr.Question[string] {
		if name == "Lisbon" {
			return mrtr.Known("Lisbon, Portugal")
		}
		return mrtr.Choose("place", "Which one?", mrtr.Choices(name+", Illinois", name+", Missouri")...)
	}
	handler := func(_ context.Context, c *mrtr.Call, in lookup) (*mrtr.IncompleteResult, forecast, error) {
		q := which(in.Location)
		place, ok := mrtr.Answer(c, q)
		if !ok {
			return mrtr.Need(q), forecast{}, nil
		}
		return nil, forecast{place}, nil
	}
	callWeather(newWeather(mrtr.Native(handler)), nil)
	// Output:
	// result: {"summary":"Lisbon, Portugal"}
}

// A default is for clients that cannot be asked, where the policy says so.
func ExampleQuestion_Default() {
	units := mrtr.Choose("units", "Which units?", mrtr.Choices("metric", "imperial")...).Default("metric")
	rt, err := mrtr.New(&mrtr.Options{Legacy: mrtr.LegacyDefaults})
	if err != nil {
		panic(err)
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "weather"}, mrtr.Tool(rt, oneQuestion(units, func(u string) string { return u }), nil))
	for _, version := range []string{"2026-07-28", "2025-11-25"} {
		session := connectUser(server, map[string]any{"units": "imperial"}, version)
		result, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "weather", Arguments: lookup{"Lisbon"}})
		if err != nil {
			panic(err)
		}
		fmt.Println(version, result.StructuredContent)
		session.Close()
	}
	// Output:
	// asked: Which units?
	// 2026-07-28 map[summary:imperial]
	// 2025-11-25 map[summary:metric]
}

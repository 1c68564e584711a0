package mrtr_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/linear"
)

type lookup struct {
	Location string `json:"location"`
}

type forecast struct {
	Summary string `json:"summary"`
}

// newWeather is a server with one tool, in the given style.
func newWeather(style mrtr.Style[lookup, forecast]) *mcp.Server {
	rt, err := mrtr.New(nil)
	if err != nil {
		panic(err)
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1"}, nil)
	mrtr.AddTool(server, &mcp.Tool{Name: "weather"}, mrtr.Tool(rt, style, nil))
	return server
}

// callWeather calls that tool about Lisbon, and prints its questions and its result.
func callWeather(server *mcp.Server, answers map[string]any) { callTool(server, "weather", answers) }

// callTool calls a tool about Lisbon with go-sdk's own client.
func callTool(server *mcp.Server, name string, answers map[string]any) {
	session := connectUser(server, answers, "")
	defer session.Close()
	result, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: name, Arguments: map[string]any{"location": "Lisbon"}})
	if err != nil {
		panic(err)
	}
	if result.IsError {
		fmt.Println("error:", result.Content[0].(*mcp.TextContent).Text)
		return
	}
	structured, err := json.Marshal(result.StructuredContent)
	if err != nil {
		panic(err)
	}
	fmt.Println("result:", string(structured))
}

// connectUser connects a client of a revision, the newest if "". Its user answers
// from the map, by the name of the form's property, and declines where it is nil.
// Its model says yes to everything, and it has one root.
func connectUser(server *mcp.Server, answers map[string]any, version string) *mcp.ClientSession {
	ctx := context.Background()
	serverSide, clientSide := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, serverSide, nil); err != nil {
		panic(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{
			Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}},
			RootsV2:     &mcp.RootCapabilities{}, //lint:ignore SA1019 still legal on the wire
		},
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			fmt.Println("asked:", req.Params.Message)
			switch {
			case answers == nil:
				return &mcp.ElicitResult{Action: "decline"}, nil
			case req.Params.Mode == "url":
				fmt.Println("visited:", req.Params.URL)
				return &mcp.ElicitResult{Action: "accept"}, nil
			}
			content := map[string]any{}
			for property := range req.Params.RequestedSchema.(map[string]any)["properties"].(map[string]any) {
				content[property] = answers[property]
			}
			return &mcp.ElicitResult{Action: "accept", Content: content}, nil
		},
		CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Model: "example", Role: "assistant", Content: &mcp.TextContent{Text: "Yes."}}, nil
		},
	})
	client.AddRoots(&mcp.Root{URI: "file:///home/user/trips", Name: "trips"}) //lint:ignore SA1019 still legal on the wire
	session, err := client.Connect(ctx, clientSide, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		panic(err)
	}
	return session
}

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
func ExampleElicitAs_map() {
	q := mrtr.ElicitAs[map[string]any]("filter", "Which days?", json.RawMessage(`{
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
	rt, err := mrtr.New(&mrtr.Options{Legacy: mrtr.LegacyNever, Unaskable: mrtr.UnaskableLegacyDefaults})
	if err != nil {
		panic(err)
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1"}, nil)
	mrtr.AddTool(server, &mcp.Tool{Name: "weather"}, mrtr.Tool(rt, oneQuestion(units, func(u string) string { return u }), nil))
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

// A user who takes longer than a question allows has not answered it, whatever still comes.
func ExampleQuestion_Within() {
	sure := mrtr.Reply(mrtr.Confirm("sure", "Cancel the booking?").Within(20 * time.Millisecond))
	server := newWeather(linear.Journal(func(ctx context.Context, c *mrtr.Call, in lookup) (forecast, error) {
		said, err := linear.Ask(ctx, c, sure)
		switch {
		case err != nil:
			return forecast{}, err
		case said.Reason == mrtr.Unanswered:
			return forecast{"nobody answered, so it stands"}, nil
		case !said.Value:
			return forecast{"it stands"}, nil
		}
		return forecast{"it is cancelled"}, nil
	}))
	session := connectSlowly(server, 50*time.Millisecond)
	defer session.Close()
	result, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "weather", Arguments: lookup{"Lisbon"}})
	if err != nil {
		panic(err)
	}
	fmt.Println(result.StructuredContent)
	// Output:
	// map[summary:nobody answered, so it stands]
}

// connectSlowly connects a client whose user says yes after a while.
func connectSlowly(server *mcp.Server, after time.Duration) *mcp.ClientSession {
	serverSide, clientSide := mcp.NewInMemoryTransports()
	if _, err := server.Connect(context.Background(), serverSide, nil); err != nil {
		panic(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			time.Sleep(after)
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"sure": true}}, nil
		},
	})
	session, err := client.Connect(context.Background(), clientSide, nil)
	if err != nil {
		panic(err)
	}
	return session
}

// Forecast is an output with a text, an image and metadata of its own, beside its
// structure.
type Forecast struct {
	Degrees int    `json:"degrees"`
	Unit    string `json:"unit"`
}

func (f Forecast) Text() string { return fmt.Sprintf("%d degrees, %s", f.Degrees, f.Unit) }

func (f Forecast) Content() []mcp.Content {
	return []mcp.Content{&mcp.ImageContent{MIMEType: "image/png", Data: []byte("a chart")}}
}

func (f Forecast) Meta() mcp.Meta { return mcp.Meta{"example.org/station": "Lisbon"} }

func ExampleAdd_content() {
	rt, err := mrtr.New(nil)
	if err != nil {
		panic(err)
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1"}, nil)
	mrtr.AddTool(server, &mcp.Tool{Name: "forecast"}, mrtr.Tool(rt, mrtr.Native(func(_ context.Context, c *mrtr.Call, _ struct{}) (*mrtr.IncompleteResult, Forecast, error) {
		unit, ok := mrtr.Answer(c, kit.Units)
		if !ok {
			return mrtr.Need(kit.Units), Forecast{}, nil
		}
		return nil, Forecast{22, unit}, nil
	}), nil))

	session := connectUser(server, map[string]any{"units": "metric"}, "")
	defer session.Close()
	result, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "forecast"})
	if err != nil {
		panic(err)
	}
	structured, err := json.Marshal(result.StructuredContent)
	if err != nil {
		panic(err)
	}
	fmt.Println(result.Content[0].(*mcp.TextContent).Text)
	fmt.Println(result.Content[1].(*mcp.ImageContent).MIMEType)
	fmt.Println(string(structured), result.Meta["example.org/station"])
	// Output:
	// asked: Which units?
	// 22 degrees, metric
	// image/png
	// {"degrees":22,"unit":"metric"} Lisbon
}

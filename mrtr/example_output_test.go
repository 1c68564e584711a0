package mrtr_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
)

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

func ExampleContentProvider() {
	rt, err := mrtr.New(nil)
	if err != nil {
		panic(err)
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "forecast"}, mrtr.Tool(rt, mrtr.Native(func(_ context.Context, c *mrtr.Call, _ struct{}) (*mrtr.IncompleteResult, Forecast, error) {
		unit, ok := mrtr.Answer(c, units)
		if !ok {
			return mrtr.Need(units), Forecast{}, nil
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

package boundary_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/options"
)

type placesWanted struct {
	Locations []string `json:"locations" jsonschema:"the names of places"`
}

// forecasts looks the places up four at a time. One that is unknown, or fits several, fails
// alone, and the agent repeats it alone.
func forecasts(ctx context.Context, _ *mcp.CallToolRequest, in placesWanted) (*mcp.CallToolResult, boundary.Batch[options.Report], error) {
	itself := func(location string) string { return location }
	batch, err := boundary.Each(ctx, in.Locations, itself, forecast, &boundary.BatchOptions{Parallel: 4})
	return nil, batch, err
}

func forecast(_ context.Context, location string) (options.Report, error) {
	found, err := options.Find(location)
	if err != nil {
		return options.Report{}, err
	}
	if len(found) > 1 {
		return options.Report{}, &boundary.Selector{Kind: boundary.Ambiguous, Selector: "locations", Candidates: found}
	}
	return options.NewReport(found[0], "metric"), nil
}

// Many items in one call: some may fail. A call fails only if all of them do.
func ExampleEach() {
	server := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "forecasts", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, forecasts)
	if err := boundary.Install(server, &boundary.Options{Logger: slog.New(slog.DiscardHandler)}); err != nil {
		panic(err)
	}
	for _, locations := range [][]string{{"Lisbon", "Lisbonn", "Tokyo", "Springfield", "Reykjavik"}, {"Lisbonn", "Springfield"}} {
		fmt.Println("forecasts", locations)
		res := exampleCall(context.Background(), server, "forecasts", placesWanted{locations})
		if res.IsError {
			for _, block := range res.Content {
				fmt.Println(block.(*mcp.TextContent).Text)
			}
			continue
		}
		var out boundary.Batch[options.Report]
		raw, err := json.Marshal(res.StructuredContent)
		if err == nil {
			err = json.Unmarshal(raw, &out)
		}
		if err != nil {
			panic(err)
		}
		fmt.Println(out.Summary)
		for _, item := range out.Items {
			if item.Error != nil {
				fmt.Printf("  %-12s failed, %s: %s\n", item.ID, item.Error.Type, item.Error.Text)
			} else {
				fmt.Printf("  %-12s %d°%s\n", item.ID, item.Value.Temperature, item.Value.Unit)
			}
		}
	}
	// Output:
	// forecasts [Lisbon Lisbonn Tokyo Springfield Reykjavik]
	// 2 of 5 failed
	//   Lisbon       22°C
	//   Lisbonn      failed, not_found: Unknown place. Nearest: Lisbon, Tokyo, Reykjavik.
	//   Tokyo        26°C
	//   Springfield  failed, ambiguous: "locations" fits more than one. Candidates: Springfield, Illinois; Springfield, Massachusetts; Springfield, Missouri.
	//   Reykjavik    4°C
	// forecasts [Lisbonn Springfield]
	// All 2 items failed.
	// Lisbonn: Unknown place. Nearest: Lisbon, Tokyo, Reykjavik.
	// Springfield: "locations" fits more than one. Candidates: Springfield, Illinois; Springfield, Massachusetts; Springfield, Missouri.
	// Call again with one of the nearest places.
}

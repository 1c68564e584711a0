package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
)

// The measured call asks for the weather in Lisbon, and the tool asks for the
// units: two requests. It must end in this text:
const weatherText = "Weather in Lisbon: 22°C, partly cloudy."

var (
	unitsSchema = json.RawMessage(`{"type":"object","properties":{"units":{"type":"string","enum":["metric","imperial"]}},"required":["units"]}`)
	arguments   = map[string]any{"location": "Lisbon"}
)

// named is one handler of the call. All of them are served by the same go-sdk
// server and called by the same go-sdk client.
type named struct {
	name    string
	handler options.Handler
}

// handlers are our styles and their contenders: bare, which is written by hand and
// protects nothing; padded, which is bare with a state as long as ours, which it
// does not read; and idle, which returns prepared results, so that its cost is
// go-sdk's.
func handlers(b *testing.B) []named {
	var styles []named
	for _, style := range options.All {
		rt, err := mrtr.New(nil)
		require.NoError(b, err)
		b.Cleanup(func() { require.NoError(b, rt.Close()) })
		styles = append(styles, named{style.Name, style.New(rt, audit())})
	}
	require.Equal(b, "native", styles[0].name)
	length := len(playRound(b, styles[0].handler, "Lisbon", "", nil))
	return append([]named{{"bare", bare()}, {"padded", padded(length)}, {"idle", idle()}}, styles...)
}

// audit keeps nothing, since a growing log would be measured too.
func audit() *options.Audit { return &options.Audit{Out: func(string) {}} }

func bare() options.Handler {
	log := audit()
	return func(_ context.Context, req *mcp.CallToolRequest, q options.Query) (*mcp.CallToolResult, options.Report, error) {
		place := req.Params.RequestState
		if place == "" {
			found, err := options.Find(q.Location)
			if err != nil {
				return nil, options.Report{}, err
			}
			return &mcp.CallToolResult{InputRequests: askUnits(), RequestState: found[0]}, options.Report{}, nil
		}
		answer, ok := req.Params.InputResponses["units"].(*mcp.ElicitResult)
		if !ok || answer.Action != "accept" {
			return nil, options.Report{}, errors.New("no units")
		}
		units, ok := answer.Content["units"].(string)
		if !ok || units != "metric" && units != "imperial" {
			return nil, options.Report{}, errors.New("not units")
		}
		log.Record(place)
		report := options.NewReport(place, units)
		return textResult(report.Text()), report, nil
	}
}

func padded(length int) options.Handler {
	handler := bare()
	padding := strings.Repeat("x", length-len("Lisbon"))
	return func(ctx context.Context, req *mcp.CallToolRequest, q options.Query) (*mcp.CallToolResult, options.Report, error) {
		req.Params.RequestState = strings.TrimSuffix(req.Params.RequestState, padding)
		res, report, err := handler(ctx, req, q)
		if err == nil && res.RequestState != "" {
			res.RequestState += padding
		}
		return res, report, err
	}
}

func idle() options.Handler {
	ask := askUnits()
	report := options.NewReport("Lisbon", "metric")
	return func(_ context.Context, req *mcp.CallToolRequest, _ options.Query) (*mcp.CallToolResult, options.Report, error) {
		if req.Params.RequestState == "" {
			return &mcp.CallToolResult{InputRequests: ask, RequestState: "Lisbon"}, options.Report{}, nil
		}
		return textResult(weatherText), report, nil
	}
}

func askUnits() mcp.InputRequestMap {
	return mcp.InputRequestMap{"units": &mcp.ElicitParams{Mode: "form", Message: "Which units?", RequestedSchema: unitsSchema}}
}

func textResult(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

func serve(h options.Handler) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "weather"}, h)
	return server
}

// dial connects go-sdk's client, and returns a function that makes one call.
func dial(b *testing.B, transport mcp.Transport) (call func()) {
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"units": "metric"}}, nil
		},
	})
	session, err := client.Connect(context.Background(), transport, nil)
	require.NoError(b, err)
	b.Cleanup(func() { session.Close() })
	return func() {
		res, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "weather", Arguments: arguments})
		if err != nil {
			b.Error(err)
			return
		}
		if text, ok := res.Content[0].(*mcp.TextContent); !ok || text.Text != weatherText {
			b.Errorf("the call came to %v", res)
		}
	}
}

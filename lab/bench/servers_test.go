//go:build linux

package bench

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"

	foreign "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/otelmrtr"
	"github.com/mrtr-go/sdk/serve"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/transport/mcphttp"
	"github.com/mrtr-go/sdk/transport/stdio"
	"github.com/mrtr-go/sdk/transport/wstransport"
)

// The servers, by the transports that they are measured over.
var (
	httpServers = map[string]func(tools int) (http.Handler, error){
		"ours":                ourHTTP,
		"ours over WebSocket": ourWebSocket,
		"ours on go-sdk":      oursOnGoSDK,
		"go-sdk":              goSDK,
		"mcp-go":              mcpGo(),
		"mcp-go, validating":  mcpGo(validating...),
		"floor":               floor,
	}
	stdioServers = map[string]func(tools int) error{"ours": ourStdio, "mcp-go": mcpGoStdio}
)

func ourServer(tools int, opts *mrtr.Options) (*mcp.Server, *mrtr.Runtime, error) {
	rt, err := mrtr.New(opts)
	if err != nil {
		return nil, nil, err
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
	addTools(server, rt, tools)
	return server, rt, nil
}

// addTools adds ours.
func addTools(server *mcp.Server, rt *mrtr.Runtime, tools int) {
	units := mrtr.Choose("units", whichUnits, mrtr.Choices("metric", "imperial")...)
	weather := mrtr.Tool(rt, mrtr.Native(func(_ context.Context, c *mrtr.Call, q query) (*mrtr.IncompleteResult, report, error) {
		place, err := find(q)
		if err != nil {
			return nil, report{}, err
		}
		chosen, ok := mrtr.Answer(c, units)
		if !ok {
			return mrtr.Need(units), report{}, nil
		}
		place, err = place.in(chosen)
		return nil, place, err
	}), nil)
	sky := mrtr.Tool(rt, mrtr.Native(func(_ context.Context, _ *mrtr.Call, q query) (*mrtr.IncompleteResult, report, error) {
		place, err := find(q)
		return nil, place, err
	}), nil)
	mrtr.AddTool(server, &mcp.Tool{Name: "weather"}, weather)
	for _, name := range append(others(tools), "sky") {
		mrtr.AddTool(server, &mcp.Tool{Name: name}, sky)
	}
}

// served is ours as operators run it: a boundary in front, whose log goes to a file. Observed, it
// has metrics, spans that nobody exports, and a line of the log for each round; stored, it
// remembers its rounds in memory.
func served(layers string, tools int) error {
	file, err := os.CreateTemp("", "bench")
	if err == nil {
		err = os.Remove(file.Name()) // it goes with the process
	}
	if err != nil {
		return err
	}
	logger := slog.New(slog.NewJSONHandler(file, nil))
	var opts mrtr.Options
	if strings.Contains(layers, "observed") {
		observer, err := otelmrtr.New(&otelmrtr.Options{
			MeterProvider:  metric.NewMeterProvider(metric.WithReader(metric.NewManualReader())),
			TracerProvider: trace.NewTracerProvider(), Next: observe.Log(logger),
		})
		if err != nil {
			return err
		}
		opts.Listener = observe.With(observer)
	}
	if strings.Contains(layers, "stored") {
		opts.Durable = durable.In(store.NewMemory(nil), nil)
	}
	server, rt, err := ourServer(tools, &opts)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		defer stop()
		_, _ = io.Copy(io.Discard, os.Stdin)
	}()
	return serve.HTTP(ctx, "127.0.0.1:0", server, &serve.Options{Runtime: rt, Logger: logger, Listening: func(at net.Addr) { fmt.Println(at) }})
}

func ourHTTP(tools int) (http.Handler, error) {
	server, _, err := ourServer(tools, nil)
	if err != nil {
		return nil, err
	}
	return mcphttp.NewHandler(func(*http.Request) *mcp.Server { return server }, nil)
}

// oursOnGoSDK serves legacy clients with the same handlers behind go-sdk's own front.
func oursOnGoSDK(tools int) (http.Handler, error) {
	server, _, err := ourServer(tools, nil)
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil), err
}

func ourWebSocket(tools int) (http.Handler, error) {
	server, _, err := ourServer(tools, nil)
	if err != nil {
		return nil, err
	}
	return wstransport.NewHandler(func(*http.Request) *mcp.Server { return server }, nil)
}

func ourStdio(tools int) error {
	server, _, err := ourServer(tools, nil)
	if err != nil {
		return err
	}
	transport, err := stdio.New(nil)
	if err != nil {
		return err
	}
	return server.Run(context.Background(), transport)
}

// mcpGoServer serves the same tools with mcp-go, written by hand. As it comes mcp-go checks
// neither arguments nor output against their schemas, and its state is not protected.
func mcpGoServer(tools int, opts ...server.ServerOption) *server.MCPServer {
	s := server.NewMCPServer("server", "1", append(opts, server.WithToolCapabilities(false), server.WithElicitation())...)
	add := func(name string, handler foreign.TypedToolHandlerFunc[query]) {
		s.AddTool(foreign.NewTool(name, foreign.WithInputSchema[query](), foreign.WithOutputSchema[report]()), foreign.NewTypedToolHandler(handler))
	}
	sky := func(_ context.Context, _ foreign.CallToolRequest, q query) (*foreign.CallToolResult, error) {
		place, err := find(q)
		return foreign.NewToolResultStructured(place, place.Text()), err
	}
	add("weather", func(_ context.Context, req foreign.CallToolRequest, q query) (*foreign.CallToolResult, error) {
		place, err := find(q)
		if err != nil {
			return nil, err
		}
		answer := server.ElicitationResponse(req.Params.InputResponses, "units")
		if answer == nil {
			return server.NewInputRequestBuilder(place.Location).Elicit("units", foreign.ElicitationParams{
				Mode: foreign.ElicitationModeForm, Message: whichUnits, RequestedSchema: json.RawMessage(unitsSchema),
			}).ToolResult(), nil
		}
		said, _ := answer.Content.(map[string]any)
		units, _ := said["units"].(string)
		if place, err = place.in(units); err != nil || answer.Action != foreign.ElicitationResponseActionAccept {
			return foreign.NewToolResultError("no units"), nil
		}
		return foreign.NewToolResultStructured(place, place.Text()), nil
	})
	add("sky", sky)
	for _, name := range others(tools) {
		add(name, sky)
	}
	return s
}

// validating is mcp-go as we would set it.
var validating = []server.ServerOption{server.WithInputSchemaValidation(), server.WithOutputSchemaValidation()}

func mcpGo(opts ...server.ServerOption) func(tools int) (http.Handler, error) {
	return func(tools int) (http.Handler, error) {
		return server.NewStreamableHTTPServer(mcpGoServer(tools, opts...), server.WithStateLess(true)), nil
	}
}

func mcpGoStdio(tools int) error {
	return server.NewStdioServer(mcpGoServer(tools)).Listen(context.Background(), os.Stdin, os.Stdout)
}

// The state of these servers is signed by hand, for its tool and its arguments: the least
// that the specification asks for.

var key = []byte(rand.Text())

func sign(state string, arguments []byte) string {
	return state + "." + base64.RawURLEncoding.EncodeToString(tag(state, arguments))
}

func tag(state string, arguments []byte) []byte {
	mac := hmac.New(sha256.New, key)
	io.WriteString(mac, "weather\x00"+state+"\x00")
	mac.Write(arguments)
	return mac.Sum(nil)
}

func verify(signed string, arguments []byte) error {
	state, text, _ := strings.Cut(signed, ".")
	claimed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || !hmac.Equal(claimed, tag(state, arguments)) {
		return errors.New("invalid state")
	}
	return nil
}

// goSDK is go-sdk's own front with a handler written by hand.
func goSDK(tools int) (http.Handler, error) {
	server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "weather"}, func(_ context.Context, req *mcp.CallToolRequest, q query) (*mcp.CallToolResult, report, error) {
		place, err := find(q)
		if err != nil {
			return nil, report{}, err
		}
		if req.Params.RequestState == "" {
			return &mcp.CallToolResult{
				InputRequests: mcp.InputRequestMap{"units": &mcp.ElicitParams{Mode: "form", Message: whichUnits, RequestedSchema: json.RawMessage(unitsSchema)}},
				RequestState:  sign(place.Location, req.Params.Arguments),
			}, report{}, nil
		}
		if err := verify(req.Params.RequestState, req.Params.Arguments); err != nil {
			return nil, report{}, err
		}
		answer, ok := req.Params.InputResponses["units"].(*mcp.ElicitResult)
		if !ok || answer.Action != "accept" {
			return nil, report{}, errors.New("no units")
		}
		units, _ := answer.Content["units"].(string)
		place, err = place.in(units)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: place.Text()}}}, place, err
	})
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true}), nil
}

// floor is as little as a server can do: net/http, encoding/json, and a signed state.
func floor(int) (http.Handler, error) {
	type result struct {
		ResultType        string         `json:"resultType"`
		Content           []content      `json:"content,omitempty"`
		StructuredContent *report        `json:"structuredContent,omitempty"`
		InputRequests     map[string]any `json:"inputRequests,omitempty"`
		RequestState      string         `json:"requestState,omitempty"`
	}
	question := map[string]any{"units": map[string]any{
		"method": "elicitation/create",
		"params": map[string]any{"mode": "form", "message": whichUnits, "requestedSchema": json.RawMessage(unitsSchema)},
	}}
	call := func(m *message) (*result, error) {
		var q query
		if err := json.Unmarshal(m.Params.Arguments, &q); err != nil {
			return nil, err
		}
		place, err := find(q)
		if err != nil {
			return nil, err
		}
		if m.Params.RequestState == "" {
			return &result{ResultType: "input_required", InputRequests: question, RequestState: sign(place.Location, m.Params.Arguments)}, nil
		}
		if err := verify(m.Params.RequestState, m.Params.Arguments); err != nil {
			return nil, err
		}
		if place, err = place.in(m.Params.InputResponses["units"].Content["units"]); err != nil {
			return nil, err
		}
		return &result{ResultType: "complete", Content: []content{{"text", place.Text()}}, StructuredContent: &place}, nil
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var m message
		if err == nil {
			err = json.Unmarshal(body, &m)
		}
		var done *result
		if err == nil {
			done, err = call(&m)
		}
		var text []byte
		if err == nil {
			text, err = json.Marshal(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": done})
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text) // who is gone hears nothing
	}), nil
}

type content struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// message is a request as a server has to know it.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Meta           map[string]any  `json:"_meta"`
		Name           string          `json:"name"`
		Arguments      json.RawMessage `json:"arguments"`
		RequestState   string          `json:"requestState"`
		InputResponses map[string]struct {
			Action  string            `json:"action"`
			Content map[string]string `json:"content"`
		} `json:"inputResponses"`
	} `json:"params"`
}

// The tool weather asks for the units, so it takes two requests. The tool sky asks nothing.
// Both are the same for every server. Any other tools are there to be listed.

type query struct {
	Location string `json:"location" jsonschema:"the name of a place"`
	Notes    string `json:"notes,omitempty" jsonschema:"anything else"`
}

type report struct {
	Location    string `json:"location"`
	Temperature int    `json:"temperature"`
	Unit        string `json:"unit"`
	Conditions  string `json:"conditions"`
}

func (r report) Text() string {
	return fmt.Sprintf("Weather in %s: %d°%s, %s.", r.Location, r.Temperature, r.Unit, r.Conditions)
}

var places = map[string]report{"Lisbon": {"Lisbon", 22, "C", "partly cloudy"}}

func find(q query) (report, error) {
	place, ok := places[q.Location]
	if !ok {
		return report{}, errors.New("no such place")
	}
	return place, nil
}

// in is the report in the units that the user chose.
func (r report) in(units string) (report, error) {
	switch units {
	case "metric":
	case "imperial":
		r.Temperature, r.Unit = r.Temperature*9/5+32, "F"
	default:
		return report{}, errors.New("not units")
	}
	return r, nil
}

const whichUnits = "Which units?"

var unitsSchema = []byte(`{"type":"object","properties":{"units":{"type":"string","enum":["metric","imperial"]}},"required":["units"]}`)

// others are the names of the tools that are only listed.
func others(tools int) (names []string) {
	for i := 2; i < tools; i++ {
		names = append(names, fmt.Sprintf("tool-%d", i))
	}
	return names
}

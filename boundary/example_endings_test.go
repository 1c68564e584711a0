package boundary_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
)

// A call ends in one of these ways, and the client and the log each get their end of it. The
// cause of a fault is for the log alone.
func Example_endings() {
	rt, err := mrtr.New(nil)
	if err != nil {
		panic(err)
	}
	defer rt.Close()
	var log bytes.Buffer
	client := endingsClient(rt, &log)
	defer client.Close()
	fmt.Println("the call                client gets           expected log gets")
	for _, c := range []struct {
		name, tool, arguments string
		answers               map[string]any // of a second request
		state                 string         // in place of the call's own
		secret                string         // in the cause
	}{
		{name: "completes", tool: "weather", arguments: `{"location":"Lisbon"}`, answers: map[string]any{"units": wire.Value("metric")(wire.Question{Key: "units"})}},
		{name: "asks its user", tool: "weather", arguments: `{"location":"Lisbon"}`},
		{name: "is declined", tool: "weather", arguments: `{"location":"Lisbon"}`, answers: map[string]any{"units": wire.Decline(wire.Question{})}},
		{name: "names no known place", tool: "weather", arguments: `{"location":"Lisbonn"}`},
		{name: "has a wrong argument", tool: "weather", arguments: `{"locaton":"Lisbon"}`},
		{name: "is of a denied tier", tool: "resolve", arguments: `{}`},
		{name: "brings a forged state", tool: "weather", arguments: `{"location":"Lisbon"}`, state: "forged", answers: map[string]any{}},
		{name: "names no known tool", tool: "wether", arguments: `{}`},
		{name: "returns no JSON", tool: "unsendable", arguments: `{}`, secret: "NaN"},
		{name: "does not return in time", tool: "hangs", arguments: `{}`},
		{name: "panics", tool: "panics", arguments: `{}`, secret: "a secret that belongs in the log"},
	} {
		log.Reset()
		request := wire.Request{Name: c.tool, Arguments: json.RawMessage(c.arguments)}
		reply, err := client.Send(context.Background(), request)
		if err == nil && c.answers != nil {
			log.Reset()
			request.State, request.Responses = reply.State, c.answers
			if c.state != "" {
				request.State = c.state
			}
			reply, err = client.Send(context.Background(), request)
		}
		if err != nil {
			panic(err)
		}
		kind, expected := gotByClient(reply)
		var record struct{ Level, Msg string }
		if err := json.Unmarshal(log.Bytes(), &record); err != nil {
			panic(err)
		}
		fmt.Printf("%-24s%-22s%-9s%-6s%s\n", c.name, kind, expected, record.Level, record.Msg)
		if c.secret != "" {
			fmt.Printf("  its cause reaches the client: %t, the log: %t\n",
				strings.Contains(string(reply.Result), c.secret), strings.Contains(log.String(), c.secret))
		}
	}
	// Output:
	// the call                client gets           expected log gets
	// completes               the result            -        INFO  tool call
	// asks its user           the question          -        INFO  tool asks
	// is declined             error, declined       true     INFO  tool call stopped
	// names no known place    error, not_found      true     WARN  tool call failed
	// has a wrong argument    error, validation     true     WARN  tool call failed
	// is of a denied tier     error, denied         true     WARN  tool call failed
	// brings a forged state   JSON-RPC error -32602 -        WARN  tool call refused
	// names no known tool     JSON-RPC error -32602 -        WARN  tool call refused
	// returns no JSON         error, invalid_output false    ERROR tool call failed
	//   its cause reaches the client: false, the log: true
	// does not return in time error, timeout        false    ERROR tool call failed
	// panics                  error, internal       false    ERROR tool call failed
	//   its cause reaches the client: false, the log: true
}

// endingsClient is a client of a server whose tools can end in all of these ways.
func endingsClient(rt *mrtr.Runtime, log *bytes.Buffer) *wire.Client {
	server := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1"}, nil)
	readOnly := &mcp.ToolAnnotations{ReadOnlyHint: true}
	mrtr.AddTool(server, &mcp.Tool{Name: "weather", Annotations: readOnly}, options.Native(rt, &options.Card{}))
	mrtr.AddTool(server, &mcp.Tool{Name: "resolve", Annotations: &mcp.ToolAnnotations{DestructiveHint: new(bool)}}, options.MultiRound(rt))
	for name, body := range map[string]func() float64{
		"panics":     func() float64 { panic("a secret that belongs in the log") },
		"hangs":      func() float64 { select {} }, // not even when its context ends
		"unsendable": math.NaN,
	} {
		mcp.AddTool(server, &mcp.Tool{Name: name, Annotations: readOnly}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return nil, map[string]float64{"value": body()}, nil
		})
	}
	err := boundary.Install(server, &boundary.Options{
		Logger: slog.New(slog.NewJSONHandler(log, nil)), Deny: []boundary.Tier{boundary.Write},
		ToolDeadlines: map[string]time.Duration{"hangs": 50 * time.Millisecond},
	})
	if err != nil {
		panic(err)
	}
	client, err := wire.Connect(context.Background(), server, nil)
	if err != nil {
		panic(err)
	}
	return client
}

// gotByClient is the kind of a reply and, of an error result, whether the agent can correct
// it.
func gotByClient(reply *wire.Reply) (kind, expected string) {
	switch {
	case reply.Error != nil:
		return fmt.Sprintf("JSON-RPC error %d", reply.Error.Code), "-"
	case reply.Incomplete():
		return "the question", "-"
	case !reply.IsError:
		return "the result", "-"
	}
	var result mcp.CallToolResult
	if err := json.Unmarshal(reply.Result, &result); err != nil {
		panic(err)
	}
	report, _ := boundary.ReportOf(&result)
	return "error, " + report.Type, fmt.Sprint(*report.Expected)
}

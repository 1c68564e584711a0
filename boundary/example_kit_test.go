package boundary_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
)

// exampleServer is the server of the examples: the weather tool in three styles, a tool that
// writes, three broken ones, and a boundary. Its client is modern and declares every
// capability, unless an example says otherwise.
type exampleServer struct {
	runtime  mrtr.Options
	boundary boundary.Options
	client   wire.Options
	steps    func(*mrtr.Runtime, *options.Card) options.Handler // the style steps, if nil
}

// exampleAct is the client's part: it makes requests, and returns the last reply.
type exampleAct func(*wire.Client) (*wire.Reply, error)

// play has a client act.
func (s exampleServer) play(act exampleAct) *wire.Reply {
	ctx := context.Background()
	rt, err := mrtr.New(&s.runtime)
	if err != nil {
		panic(err)
	}
	defer rt.Close()
	server := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1"}, nil)
	card, readOnly := &options.Card{}, &mcp.ToolAnnotations{ReadOnlyHint: true}
	mrtr.AddTool(server, &mcp.Tool{Name: "weather", Annotations: readOnly}, options.Native(rt, card))
	mrtr.AddTool(server, &mcp.Tool{Name: "weather_coroutine", Annotations: readOnly}, options.Coroutine(rt, card))
	if s.steps == nil {
		s.steps = options.Steps
	}
	mrtr.AddTool(server, &mcp.Tool{Name: "weather_steps", Annotations: readOnly}, s.steps(rt, card))
	mrtr.AddTool(server, &mcp.Tool{Name: "resolve", Annotations: &mcp.ToolAnnotations{DestructiveHint: new(bool)}}, options.MultiRound(rt))
	mcp.AddTool(server, &mcp.Tool{Name: "panics", Annotations: readOnly}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, measured, error) {
		panic("a secret that belongs in the log")
	})
	mcp.AddTool(server, &mcp.Tool{Name: "unsendable", Annotations: readOnly}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, measured, error) {
		return nil, measured{math.NaN()}, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "hangs", Annotations: readOnly}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, measured, error) {
		select {} // not even when its context ends
	})
	if s.boundary.Logger == nil {
		s.boundary.Logger = slog.New(slog.DiscardHandler)
	}
	if err := boundary.Install(server, &s.boundary); err != nil {
		panic(err)
	}
	client, err := wire.Connect(ctx, server, &s.client)
	if err != nil {
		panic(err)
	}
	defer client.Close()
	reply, err := act(client)
	if err != nil {
		panic(err)
	}
	return reply
}

type measured struct {
	Value float64 `json:"value"`
}

const (
	lisbon      = `{"location":"Lisbon"}`
	springfield = `{"location":"Springfield"}`
)

// calls makes a call with all of its rounds.
func calls(tool, arguments string, answers wire.Answers) exampleAct {
	return func(c *wire.Client) (*wire.Reply, error) {
		out, err := c.Call(context.Background(), tool, json.RawMessage(arguments), answers)
		if err != nil {
			return nil, err
		}
		return &out.Reply, nil
	}
}

// requests makes the first request of a call.
func requests(tool, arguments string) exampleAct {
	return func(c *wire.Client) (*wire.Reply, error) {
		return c.Send(context.Background(), wire.Request{Name: tool, Arguments: json.RawMessage(arguments)})
	}
}

// answersAfter makes a call of two rounds, whose second request is altered.
func answersAfter(tool, arguments string, alter func(*wire.Request)) exampleAct {
	return func(c *wire.Client) (*wire.Reply, error) {
		first, err := requests(tool, arguments)(c)
		if err != nil {
			return nil, err
		}
		choice := map[string]string{"place": "Springfield, Illinois", "units": "metric"}[first.Asks[0].Key]
		request := wire.Request{Name: tool, Arguments: json.RawMessage(arguments), State: first.State}
		request.Responses = map[string]any{first.Asks[0].Key: wire.Value(choice)(first.Asks[0])}
		alter(&request)
		return c.Send(context.Background(), request)
	}
}

// exampleReport reads a result with the report that the boundary adds to it.
func exampleReport(reply *wire.Reply) (texts []string, report boundary.Report) {
	var result mcp.CallToolResult
	if err := json.Unmarshal(reply.Result, &result); err != nil {
		panic(err)
	}
	for _, block := range result.Content {
		texts = append(texts, block.(*mcp.TextContent).Text)
	}
	report, _ = boundary.ReportOf(&result)
	return texts, report
}

// printFailure prints an error as an agent gets it: a protocol error, or the text that its
// model reads below the type of the report. An expected error is one that it can correct.
func printFailure(title string, reply *wire.Reply) {
	fmt.Println(title)
	if reply.Error != nil {
		message, _, _ := strings.Cut(reply.Error.Message, ": unmarshaling ") // what follows repeats the request
		fmt.Println(strings.TrimRight(fmt.Sprintf("  protocol error %d: %s %s", reply.Error.Code, message, reply.Error.Data), " "))
		return
	}
	texts, report := exampleReport(reply)
	effect := ""
	if report.Effect != "" {
		effect = ", effect " + report.Effect
	}
	fmt.Printf("  %s, expected %t%s:\n    %s\n", report.Type, *report.Expected, effect, strings.Join(texts, "\n    "))
}

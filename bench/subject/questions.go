package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
)

// The tool questions asks as many questions as its argument says, one in each
// round. It shows the cost of a call with many rounds.

type many struct {
	Questions int `json:"questions"`
}

type answered struct {
	Answered int `json:"answered"`
}

func (a answered) Text() string { return fmt.Sprintf("Answered %d.", a.Answered) }

const mostQuestions = 9

func questionKey(i int) string { return "q" + strconv.Itoa(i) }

// oursOf asks with the engine.
func oursOf() (mcp.ToolHandlerFor[many, answered], error) {
	rt, err := mrtr.New(nil)
	if err != nil {
		return nil, err
	}
	var questions []mrtr.Question[string]
	for i := range mostQuestions {
		questions = append(questions, mrtr.Choose(questionKey(i), "Which one?", mrtr.Choices("this", "that")...))
	}
	return mrtr.Tool(rt, mrtr.Native(func(_ context.Context, c *mrtr.Call, in many) (*mrtr.IncompleteResult, answered, error) {
		for _, q := range questions[:in.Questions] {
			if _, ok := mrtr.Answer(c, q); !ok {
				return mrtr.Need(q), answered{}, nil
			}
		}
		return nil, answered{in.Questions}, nil
	}), nil), nil
}

// bareOf asks by hand; its state is the number of answers so far.
func bareOf(_ context.Context, req *mcp.CallToolRequest, in many) (*mcp.CallToolResult, answered, error) {
	n := 0
	if req.Params.RequestState != "" {
		asked, err := strconv.Atoi(req.Params.RequestState)
		if err != nil {
			return nil, answered{}, err
		}
		answer, ok := req.Params.InputResponses[questionKey(asked)].(*mcp.ElicitResult)
		if !ok || answer.Action != "accept" {
			return nil, answered{}, errors.New("no answer")
		}
		n = asked + 1
	}
	if n < in.Questions {
		return &mcp.CallToolResult{RequestState: strconv.Itoa(n), InputRequests: mcp.InputRequestMap{
			questionKey(n): &mcp.ElicitParams{Mode: "form", Message: "Which one?", RequestedSchema: schemaOf(n)},
		}}, answered{}, nil
	}
	out := answered{n}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: out.Text()}}}, out, nil
}

func schemaOf(i int) map[string]any {
	key := questionKey(i)
	return map[string]any{
		"type":       "object",
		"properties": map[string]any{key: map[string]any{"type": "string", "enum": []string{"this", "that"}}},
		"required":   []string{key},
	}
}

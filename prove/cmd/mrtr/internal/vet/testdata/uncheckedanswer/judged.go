package uncheckedanswer

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/steps"
)

var errDeclined = errors.New("declined")

func seatParams() *mcp.ElicitParams {
	return &mcp.ElicitParams{Message: "Which seat?"}
}

var seatQuestion = mrtr.ElicitRaw("seat", seatParams())

// No form judges these.

func asItCame(_ context.Context, c *mrtr.Call, req *mcp.CallToolRequest) string {
	answer, ok := req.Params.InputResponses["seat"].(*mcp.ElicitResult)
	if !ok || answer.Action != "accept" {
		return ""
	}
	return answer.Content["seat"].(string) // want `the content of an answer is asserted to be string`
}

func eitherValue(ctx context.Context, c *mrtr.Call, req *mcp.CallToolRequest) {
	res, _ := mrtr.Answer(c, seatQuestion)
	if res.Action != "accept" {
		return
	}
	var value any = res.Content["seat"]
	if len(req.Params.InputResponses) > 0 {
		value = req.Params.InputResponses["seat"]
	}
	_ = value.(string) // want `asserted to be string`
}

func sampledByMrtr(ctx context.Context, c *mrtr.Call) (string, error) {
	res, err := linear.Ask(ctx, c, mrtr.Sample("words", &mcp.CreateMessageWithToolsParams{}))
	if err != nil {
		return "", err
	}
	return res.Content[0].(*mcp.TextContent).Text, nil // want `the content of an answer is asserted`
}

func repliedByMrtr(ctx context.Context, c *mrtr.Call) (string, error) {
	res, err := linear.Ask(ctx, c, mrtr.Reply(mrtr.Sample("words", &mcp.CreateMessageWithToolsParams{})))
	if err != nil || !res.Accepted() {
		return "", err
	}
	return res.Value.Content[0].(*mcp.TextContent).Text, nil // want `the content of an answer is asserted`
}

// From here on, mrtr has judged the answer by its form.

func afterAnswer(c *mrtr.Call) string {
	res, ok := mrtr.Answer(c, seatQuestion)
	if ok && res.Action == "accept" {
		for _, extra := range res.Content["extras"].([]any) {
			_ = extra.(string)
		}
		if res.Content["window"].(bool) && res.Content["row"].(float64) > 1 {
			return res.Content["seat"].(string)
		}
	}
	return ""
}

func inEffect(ctx context.Context, c *mrtr.Call) (string, error) {
	res, err := linear.Ask(ctx, c, seatQuestion)
	if err != nil || res.Action != "accept" {
		return "", err
	}
	return mrtr.Once(ctx, c, "book", func(context.Context, string) (string, error) {
		return res.Content["seat"].(string), nil
	})
}

func inSteps(b *steps.List[string, string]) {
	seat := steps.Always(b, seatQuestion)
	b.End(func(_ context.Context, at *steps.At[string]) (string, error) {
		res := seat.Of(at)
		if res.Action != "accept" {
			return "", errDeclined
		}
		return res.Content["seat"].(string), nil
	})
}

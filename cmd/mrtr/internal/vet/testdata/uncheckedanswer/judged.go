package uncheckedanswer

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
)

var errDeclined = errors.New("declined")

func seatParams() *mcp.ElicitParams {
	return &mcp.ElicitParams{Message: "Which seat?"}
}

var seatQuestion = mrtr.ElicitRaw("seat", seatParams())

// An answer that mrtr judged is still one that the user may have declined.

func notCompared(ctx context.Context, c *mrtr.Call) string {
	res, _ := mrtr.Answer(c, mrtr.ElicitRaw("seat", seatParams()))
	return res.Content["seat"].(string) // want `the content of an answer is asserted to be string`
}

func comparedOtherwise(ctx context.Context, c *mrtr.Call) string {
	res, _ := mrtr.Answer(c, seatQuestion)
	if res.Action != "accept" {
		return res.Content["seat"].(string) // want `the content of an answer is asserted to be string`
	}
	return ""
}

func cancelForgotten(ctx context.Context, c *mrtr.Call) string {
	res, _ := mrtr.Answer(c, seatQuestion)
	if res.Action == "decline" {
		return ""
	}
	return res.Content["seat"].(string) // want `the content of an answer is asserted to be string`
}

func theOtherCompared(ctx context.Context, c *mrtr.Call) string {
	first, _ := mrtr.Answer(c, seatQuestion)
	second, _ := mrtr.Answer(c, mrtr.ElicitRaw("second", seatParams()))
	if first.Action != "accept" {
		return ""
	}
	return second.Content["seat"].(string) // want `the content of an answer is asserted to be string`
}

func comparedByNoCaller(ctx context.Context, c *mrtr.Call) string {
	res, _ := mrtr.Answer(c, seatQuestion)
	if res.Action == "accept" {
		return seatOfAny(res)
	}
	return seatOfAny(res)
}

func seatOfAny(res *mcp.ElicitResult) string {
	return res.Content["seat"].(string) // want `the content of an answer is asserted to be string`
}

// A form gives text, booleans, numbers and lists of text.
func anotherType(c *mrtr.Call) {
	res, _ := mrtr.Answer(c, seatQuestion)
	if res.Action == "accept" {
		_ = res.Content["row"].(int)         // want `asserted to be int`
		_ = res.Content["extras"].([]string) // want `asserted to be \[\]string`
	}
}

// No form judges these.

func asItCame(_ context.Context, c *mrtr.Call, req *mcp.CallToolRequest) string {
	answer, ok := req.Params.InputResponses["seat"].(*mcp.ElicitResult)
	if !ok || answer.Action != "accept" {
		return ""
	}
	return answer.Content["seat"].(string) // want `the content of an answer is asserted to be string`
}

func oneOfTwo(ctx context.Context, c *mrtr.Call, req *mcp.CallToolRequest) string {
	answer, ok := req.Params.InputResponses["seat"].(*mcp.ElicitResult)
	if !ok {
		answer, _ = mrtr.Answer(c, seatQuestion)
	}
	if answer.Action != "accept" {
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

func overTheSession(ctx context.Context, req *mcp.GetPromptRequest) string {
	answer, err := req.Session.Elicit(ctx, seatParams())
	if err != nil || answer.Action != "accept" {
		return ""
	}
	return answer.Content["seat"].(string) // want `the content of an answer is asserted to be string`
}

func sampledByMrtr(ctx context.Context, c *mrtr.Call) (string, error) {
	res, err := mrtr.Ask(ctx, c, mrtr.Sample("words", &mcp.CreateMessageWithToolsParams{}))
	if err != nil {
		return "", err
	}
	return res.Content[0].(*mcp.TextContent).Text, nil // want `the content of an answer is asserted`
}

func repliedByMrtr(ctx context.Context, c *mrtr.Call) (string, error) {
	res, err := mrtr.Ask(ctx, c, mrtr.Reply(mrtr.Sample("words", &mcp.CreateMessageWithToolsParams{})))
	if err != nil || !res.Accepted() {
		return "", err
	}
	return res.Value.Content[0].(*mcp.TextContent).Text, nil // want `the content of an answer is asserted`
}

func doneInStep(b *mrtr.Steps[string, string], held *mcp.ElicitResult) {
	seat := mrtr.DoStep(b, "seat", func(context.Context, *mrtr.At[string], string) (*mcp.ElicitResult, error) { return held, nil })
	b.End(func(_ context.Context, at *mrtr.At[string]) (string, error) {
		if res := seat.Of(at); res.Action == "accept" {
			return res.Content["seat"].(string), nil // want `asserted to be string`
		}
		return "", nil
	})
}

// From here on, an accepted answer fits its form.

func afterAsk(ctx context.Context, c *mrtr.Call) (string, error) {
	res, err := mrtr.Ask(ctx, c, mrtr.ElicitRaw("seat", seatParams()))
	if err != nil {
		return "", err
	}
	if res.Action != "accept" {
		return "", errDeclined
	}
	return res.Content["seat"].(string), nil
}

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

func switchedByAction(ctx context.Context, c *mrtr.Call) string {
	res, _ := mrtr.Answer(c, seatQuestion)
	switch res.Action {
	case "accept":
		return res.Content["seat"].(string)
	case "decline":
		return "declined"
	}
	return ""
}

func neitherDeclinedNorCancelled(ctx context.Context, c *mrtr.Call) string {
	res, _ := mrtr.Answer(c, seatQuestion)
	if res.Action == "decline" || "cancel" == res.Action {
		return ""
	}
	return res.Content["seat"].(string)
}

func overOne(ctx context.Context, session *mcp.ServerSession) (string, error) {
	if session.InitializeParams().ProtocolVersion >= "2026-07-28" {
		return "", errDeclined
	}
	res, err := seatQuestion.AskOver(ctx, session)
	if err != nil || res.Action != "accept" {
		return "", err
	}
	return res.Content["seat"].(string), nil
}

func present(ctx context.Context, c *mrtr.Call) {
	res, _ := mrtr.Answer(c, seatQuestion)
	if meal, ok := res.Content["meal"]; ok {
		_ = meal.(string)
	}
	if meal := res.Content["meal"]; meal != nil {
		_ = meal.(string)
	}
	one, _ := mrtr.Answer(c, mrtr.ElicitRaw("one", seatParams()))
	for _, value := range one.Content {
		_ = value.(string)
	}
}

func inEffect(ctx context.Context, c *mrtr.Call) (string, error) {
	res, err := mrtr.Ask(ctx, c, seatQuestion)
	if err != nil || res.Action != "accept" {
		return "", err
	}
	return mrtr.Once(ctx, c, "book", func(context.Context, string) (string, error) {
		return res.Content["seat"].(string), nil
	})
}

func inEffectOfHelper(ctx context.Context, c *mrtr.Call) (string, error) {
	res, err := askSeat(ctx, c)
	if err != nil {
		return "", err
	}
	return mrtr.Once(ctx, c, "book", func(context.Context, string) (string, error) {
		return res.Content["seat"].(string), nil
	})
}

func passedOn(ctx context.Context, c *mrtr.Call) string {
	res, _ := mrtr.Answer(c, seatQuestion)
	if res.Action == "accept" {
		return seatOf(res)
	}
	return ""
}

func seatOf(res *mcp.ElicitResult) string { return res.Content["seat"].(string) }

func returned(ctx context.Context, c *mrtr.Call) string {
	res, err := askSeat(ctx, c)
	if err != nil {
		return ""
	}
	return res.Content["seat"].(string)
}

func askSeat(ctx context.Context, c *mrtr.Call) (*mcp.ElicitResult, error) {
	res, err := mrtr.Ask(ctx, c, seatQuestion)
	if err != nil {
		return nil, err
	}
	if res.Action != "accept" {
		return nil, errDeclined
	}
	return res, nil
}

func returnedAlone(c *mrtr.Call) string {
	if res := answeredSeat(c); res != nil {
		return res.Content["seat"].(string)
	}
	return ""
}

func answeredSeat(c *mrtr.Call) *mcp.ElicitResult {
	if res, ok := mrtr.Answer(c, seatQuestion); ok && res.Action == "accept" {
		return res
	}
	return nil
}

func inSteps(b *mrtr.Steps[string, string]) {
	seat := mrtr.AskQuestion(b, "seat", seatQuestion)
	b.End(func(_ context.Context, at *mrtr.At[string]) (string, error) {
		res := seat.Of(at)
		if res.Action != "accept" {
			return "", errDeclined
		}
		return res.Content["seat"].(string), nil
	})
}

func inStepOfFunction(b *mrtr.Steps[string, string]) {
	ask := func(context.Context, *mrtr.At[string]) (mrtr.Question[*mcp.ElicitResult], error) {
		return seatQuestion, nil
	}
	seat, second := mrtr.AskStep(b, "seat", ask), mrtr.AskAlso(b, "second", ask)
	b.End(func(_ context.Context, at *mrtr.At[string]) (string, error) {
		one, other := seat.Of(at), second.Of(at)
		if one.Action != "accept" || other.Action != "accept" {
			return "", errDeclined
		}
		return one.Content["seat"].(string) + other.Content["seat"].(string), nil
	})
}

// Package uncheckedanswer reads answers in safe ways and in others.
package uncheckedanswer

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func direct(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	answer := req.Params.InputResponses["name"].(*mcp.ElicitResult) // want `an input response is asserted to be \*mcp.ElicitResult without a check`
	return text(answer.Action), nil
}

func chained(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	name := req.Params.InputResponses["name"].(*mcp.ElicitResult).Content["name"].(string) // want `an input response is asserted` `the content of an answer is asserted to be string`
	return text(name), nil
}

func throughVariables(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	answers := req.Params.InputResponses
	found, ok := answers["roots"]
	if !ok {
		return ask(), nil
	}
	var any any = found
	roots := any.(*mcp.ListRootsResult) // want `an input response is asserted to be \*mcp.ListRootsResult`
	return text(fmt.Sprint(len(roots.Roots))), nil
}

func inHelper(answer mcp.InputResponse) string {
	return answer.(*mcp.ElicitResult).Action // want `an input response is asserted`
}

func captured(req *mcp.CallToolRequest) func() string {
	var found any = req.Params.InputResponses["name"]
	return func() string {
		return found.(*mcp.ElicitResult).Action // want `an input response is asserted`
	}
}

func resource(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	answer, ok := req.Params.InputResponses["name"].(*mcp.ElicitResult)
	if !ok {
		return &mcp.ReadResourceResult{InputRequests: mcp.InputRequestMap{}}, nil
	}
	name := answer.Content["name"].(string) // want `the content of an answer is asserted to be string`
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{Text: name}}}, nil
}

func nested(answer *mcp.ElicitResult) string {
	address := answer.Content["address"].(map[string]any) // want `the content of an answer is asserted to be map\[string\]any`
	lines, ok := address["lines"].([]any)
	if !ok {
		return ""
	}
	return lines[0].(string) // want `the content of an answer is asserted to be string`
}

func sampled(ctx context.Context, session *mcp.ServerSession) (string, error) {
	answer, err := session.CreateMessage(ctx, &mcp.CreateMessageParams{})
	if err != nil {
		return "", err
	}
	return answer.Content.(*mcp.TextContent).Text, nil // want `the content of an answer is asserted to be \*mcp.TextContent`
}

func discarded(req *mcp.CallToolRequest) string {
	answer, _ := req.Params.InputResponses["name"].(*mcp.ElicitResult)
	return answer.Action // want `an input response may not be \*mcp.ElicitResult, the check on line \d+ is discarded, and the nil pointer is used here`
}

// From here on, nothing can panic.

func checked(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	answer, ok := req.Params.InputResponses["name"].(*mcp.ElicitResult)
	if !ok || answer.Action != "accept" {
		return ask(), nil
	}
	name, ok := answer.Content["name"].(string)
	if !ok {
		return ask(), nil
	}
	return text(name), nil
}

func switched(answer mcp.InputResponse) string {
	switch answer := answer.(type) {
	case *mcp.ElicitResult:
		return answer.Action
	case *mcp.ListRootsResult:
		return "roots"
	}
	return ""
}

func shownBefore(answer mcp.InputResponse) string {
	if _, ok := answer.(*mcp.ElicitResult); ok {
		return answer.(*mcp.ElicitResult).Action
	}
	return ""
}

func comparedWithNil(req *mcp.CallToolRequest) string {
	answer, _ := req.Params.InputResponses["name"].(*mcp.ElicitResult)
	if answer == nil || answer.Action != "accept" {
		return ""
	}
	name, _ := answer.Content["name"].(string)
	return name
}

func notAnAnswer(v any) string { return v.(*mcp.ElicitResult).Action }

func ownResult() string {
	var made mcp.InputResponse = &mcp.ElicitResult{Action: "accept"}
	return made.(*mcp.ElicitResult).Action
}

// A client reads a result, and answers questions: neither is an answer to the
// server.
func client(ctx context.Context, session *mcp.ClientSession) (string, error) {
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "greet"})
	if err != nil {
		return "", err
	}
	return result.Content[0].(*mcp.TextContent).Text, nil
}

func form(req *mcp.ElicitRequest) map[string]any {
	return req.Params.RequestedSchema.(map[string]any)
}

func accepted(req *mcp.CallToolRequest) {
	//mcp:other comments are not ours
	_ = req.Params.InputResponses["a"].(*mcp.ElicitResult) // want `an input response is asserted`
	//mrtr:allow uncheckedanswer a middleware of ours has checked all answers
	_ = req.Params.InputResponses["b"].(*mcp.ElicitResult)
	_ = req.Params.InputResponses["c"].(*mcp.ElicitResult) //mrtr:allow uncheckedanswer as above
	//mrtr:allow unsealedstate another analyzer's
	_ = req.Params.InputResponses["d"].(*mcp.ElicitResult) // want `an input response is asserted`
	//mrtr:allow uncheckedanswer
	_ = req.Params.InputResponses["e"].(*mcp.ElicitResult) // want `the //mrtr:allow comment here is not heeded, because it gives no reason`
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

func ask() *mcp.CallToolResult {
	return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"name": &mcp.ElicitParams{Message: "Who?"}}}
}

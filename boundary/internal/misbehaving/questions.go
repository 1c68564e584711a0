package misbehaving

import (
	"context"
	"math"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/probe"
)

// questions are the tools that ask the client's user.
func questions() []Case {
	return []Case{
		{Name: "asks", Asks: true, Explanation: "a good question passes; one to a client from before, which cannot be asked, ends in an error", Raw: func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if req.Params.InputResponses == nil {
				return Asking(), nil
			}
			return Text("answered"), nil
		}, Want: probe.InputRequired, Legacy: probe.ErrorResult, Type: "execution"},
		{Name: "asks_and_fails", Asks: true, Explanation: "an error and a question at once", Raw: Returns(&mcp.CallToolResult{IsError: true, InputRequests: Asking().InputRequests}), Want: probe.ErrorResult, Legacy: probe.ErrorResult},
		{Name: "asks_and_answers", Asks: true, Explanation: "content and a question at once", Raw: Returns(&mcp.CallToolResult{Content: Text("hello").Content, InputRequests: Asking().InputRequests}), Want: probe.ErrorResult, Type: "malformed_result"},
		{Name: "asks_nil", Asks: true, Explanation: "a nil question", Raw: Returns(&mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"q": nil}}), Want: probe.ErrorResult, Legacy: probe.ErrorResult},
		{Name: "asks_typed_nil", Asks: true, Explanation: "a question that is a nil pointer", Raw: Returns(&mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"q": (*mcp.ElicitParams)(nil)}}), Want: probe.ErrorResult, Legacy: probe.ErrorResult},
		{Name: "asks_nothing", Asks: true, Explanation: "no question and no state: there is nothing to come again with", Raw: Returns(&mcp.CallToolResult{InputRequests: mcp.InputRequestMap{}}), Want: probe.ErrorResult, Legacy: probe.ErrorResult},
		{Name: "asks_nan", Asks: true, Explanation: "a schema that cannot be marshalled", Raw: Returns(&mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"q": &mcp.ElicitParams{Message: "?", RequestedSchema: map[string]any{"x": math.NaN()}}}}), Want: probe.ErrorResult, Legacy: probe.ErrorResult},
		{Name: "state_only", Explanation: "state without questions goes out as an empty success", Raw: Returns(&mcp.CallToolResult{RequestState: "s"}), Want: probe.ErrorResult, Type: "malformed_result"},
	}
}

// Asking is a result that asks for the units.
func Asking() *mcp.CallToolResult {
	return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"units": &mcp.ElicitParams{Message: "Which units?",
		RequestedSchema: &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{"units": {Type: "string"}}}}}}
}

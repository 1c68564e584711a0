package uncheckedanswer

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Example_documentation has the shape of go-sdk's own documentation example,
// which a decline ends, and the process with it.
func Example_documentation() {
	server := mcp.NewServer(&mcp.Implementation{Name: "greeter"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "greet"}, func(_ context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		if len(req.Params.InputResponses) == 0 {
			result := ask()
			result.RequestState = "asked" // a constant that nothing reads
			return result, nil, nil
		}
		name := req.Params.InputResponses["name"].(*mcp.ElicitResult).Content["name"].(string) // want `an input response is asserted` `the content of an answer is asserted`
		return text("Hello, " + name), nil, nil
	})
}

// A test is not judged.
func TestPanics(t *testing.T) {
	req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{}}
	defer func() { _ = recover() }()
	_ = req.Params.InputResponses["name"].(*mcp.ElicitResult)
}

package misbehaving

import (
	"context"
	"errors"
	"runtime"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/probe"
)

// unreturned are the tools that do not return: they panic, end their goroutine,
// or hang until release is closed.
func unreturned(release <-chan struct{}) []Case {
	return []Case{
		{Name: "panic_string", Explanation: "nothing in the SDK recovers", Raw: Panics("boom"), Want: probe.ErrorResult, Type: "internal"},
		{Name: "panic_error", Explanation: "an error as the panic's value", Raw: Panics(errors.New("boom")), Want: probe.ErrorResult, Type: "internal"},
		{Name: "panic_struct", Explanation: "a value that formats badly", Raw: Panics(struct{ F func() }{}), Want: probe.ErrorResult, Type: "internal"},
		{Name: "panic_cyclic_value", Explanation: "printing this value would overflow the stack", Raw: Panics(cyclicMap()), Want: probe.ErrorResult, Type: "internal"},
		{Name: "panic_nil_map", Explanation: "a write to a nil map", Raw: func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			unmade()["inner"] = 1
			return nil, nil
		}, Want: probe.ErrorResult, Type: "internal"},
		{Name: "panic_assertion", Explanation: "the assertion in the SDK's own documentation, on an answer that is not there", Raw: func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			_ = req.Params.InputResponses["user_name"].(*mcp.ElicitResult)
			return nil, nil
		}, Want: probe.ErrorResult, Type: "internal"},
		{Name: "panic_typed", Explanation: "a typed handler is no better off", Typed: func(context.Context, *mcp.CallToolRequest, Input) (*mcp.CallToolResult, any, error) {
			panic("boom")
		}, Want: probe.ErrorResult, Type: "internal"},
		{Name: "panic_in_defer", Explanation: "a deferred function panics while another panic unwinds", Raw: func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			defer func() { panic("second") }()
			panic("first")
		}, Want: probe.ErrorResult, Type: "internal"},
		{Name: "goexit", Explanation: "runs deferred functions and returns nothing", Raw: func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			runtime.Goexit()
			return nil, nil
		}, Want: probe.ErrorResult, Type: "internal"},
		{Name: "goexit_typed", Explanation: "a t.FailNow left in a typed handler does this", Typed: func(context.Context, *mcp.CallToolRequest, Input) (*mcp.CallToolResult, any, error) {
			runtime.Goexit()
			return nil, nil, nil
		}, Want: probe.ErrorResult, Type: "internal"},
		{Name: "hang_deaf", Explanation: "never returns and minds no context", Raw: func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			<-release
			return Text("late"), nil
		}, Want: probe.ErrorResult, Type: "timeout"},
		{Name: "hang_minding", Explanation: "returns when its context ends", Raw: func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-release:
				return Text("late"), nil
			}
		}, Want: probe.ErrorResult, Type: "timeout"},
		{Name: "hang_in_marshal", Explanation: "the result's own MarshalJSON never returns", Raw: Returns(&mcp.CallToolResult{StructuredContent: marshaler(func() ([]byte, error) {
			<-release
			return nil, errors.New("late")
		})}), Want: probe.ErrorResult, Type: "timeout"},
	}
}

func unmade() map[string]int { return nil }

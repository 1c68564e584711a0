package misbehaving

import (
	"github.com/mrtr-go/sdk/internal/probe"
)

// misused are calls with a wrong request, and calls that the server's middleware
// breaks.
func misused() []Case {
	return []Case{
		{Name: "no_such_tool", Explanation: "unknown to the server", Want: probe.ProtocolError},
		{Name: "arguments_wrong", Explanation: "two things wrong at once", Typed: Outputs("fine"), Arguments: map[string]any{"place": 3, "days": "many"}, Want: probe.ErrorResult, Type: "validation"},
		{Name: "arguments_unknown", Explanation: "an argument that the tool does not have", Typed: Outputs("fine"), Arguments: map[string]any{"palce": "Lisbon"}, Want: probe.ErrorResult, Type: "validation"},
		{Name: "arguments_array", Explanation: "no object", Typed: Outputs("fine"), Wire: `[1]`, Want: probe.ErrorResult, Type: "validation"},
		{Name: "arguments_null", Explanation: "null stands for none", Typed: Outputs("fine"), Wire: `null`, Want: probe.Complete},

		{Name: "middleware_panic", Explanation: "panics on the way in", Want: probe.ErrorResult, Type: "internal"},
		{Name: "middleware_goexit", Explanation: "ends the goroutine", Want: probe.ErrorResult, Type: "internal"},
		{Name: "middleware_nil", Explanation: "returns nothing", Want: probe.ErrorResult, Type: "no_result"},
		{Name: "middleware_typed_nil", Explanation: "returns a nil pointer", Want: probe.ErrorResult, Type: "no_result"},
		{Name: "middleware_other_result", Explanation: "returns the result of another method", Want: probe.ErrorResult, Type: "no_result"},
		{Name: "middleware_unstamped", Explanation: "makes a result of its own, which lacks resultType", Want: probe.Complete},
	}
}

package misbehaving

import (
	"encoding/json"
	"math"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/probe"
)

// unmarshallable are the tools whose result cannot be marshalled, or breaks the
// tool's own promise.
func unmarshallable() []Case {
	return []Case{
		{Name: "structured_nan", Explanation: "JSON has no NaN", Raw: Returns(Structured(map[string]any{"v": math.NaN()})), Want: probe.ErrorResult, Type: "malformed_result"},
		{Name: "structured_infinity", Explanation: "nor infinity", Raw: Returns(Structured(map[string]any{"v": math.Inf(1)})), Want: probe.ErrorResult, Type: "malformed_result"},
		{Name: "structured_func", Explanation: "nor functions", Raw: Returns(Structured(map[string]any{"v": func() {}})), Want: probe.ErrorResult, Type: "malformed_result"},
		{Name: "structured_chan", Explanation: "nor channels", Raw: Returns(Structured(make(chan int))), Want: probe.ErrorResult, Type: "malformed_result"},
		{Name: "structured_cyclic", Explanation: "a map that holds itself", Raw: Returns(Structured(cyclicMap())), Want: probe.ErrorResult, Type: "malformed_result"},
		{Name: "structured_bad_raw", Explanation: "a json.RawMessage that is no JSON", Raw: Returns(Structured(json.RawMessage(`{"a":`))), Want: probe.ErrorResult, Type: "malformed_result"},
		{Name: "structured_empty_raw", Explanation: "an empty one", Raw: Returns(Structured(json.RawMessage{})), Want: probe.ErrorResult, Type: "malformed_result"},
		{Name: "structured_too_deep", Explanation: "nested deeper than encoding/json goes", Raw: Returns(Structured(json.RawMessage(strings.Repeat("[", 20000) + strings.Repeat("]", 20000)))), Want: probe.ErrorResult, Type: "malformed_result"},
		{Name: "structured_panic", Explanation: "a MarshalJSON that panics", Raw: Returns(Structured(marshaler(func() ([]byte, error) { panic("boom") }))), Want: probe.ErrorResult, Type: "internal"},
		{Name: "typed_nan", Explanation: "a typed handler's output that does not marshal", Typed: Outputs(map[string]any{"v": math.NaN()}), Want: probe.ErrorResult, Type: "invalid_output"},
		{Name: "typed_func", Explanation: "the same with a function", Typed: Outputs(map[string]any{"v": func() {}}), Want: probe.ErrorResult, Type: "invalid_output"},
		{Name: "meta_nan", Explanation: "_meta is marshalled too", Raw: Returns(&mcp.CallToolResult{Meta: mcp.Meta{"x": math.NaN()}}), Want: probe.ErrorResult, Type: "malformed_result"},
		{Name: "meta_func", Explanation: "with anything in it", Raw: Returns(&mcp.CallToolResult{Meta: mcp.Meta{"x": func() {}}}), Want: probe.ErrorResult, Type: "malformed_result"},
		{Name: "block_meta_nan", Explanation: "and that of each block", Raw: Returns(Content(&mcp.TextContent{Text: "a", Meta: mcp.Meta{"x": math.NaN()}})), Want: probe.ErrorResult, Type: "malformed_result"},
		{Name: "annotation_nan", Explanation: "an annotation's priority is a float", Raw: Returns(Content(&mcp.TextContent{Text: "a", Annotations: &mcp.Annotations{Priority: math.NaN()}})), NoResource: true, Want: probe.ErrorResult, Type: "malformed_result"},
		{Name: "output_missing", Explanation: "an output schema, and no structured content", Raw: Returns(Text("hello")), Output: Celsius, Want: probe.ErrorResult, Type: "invalid_output"},
		{Name: "output_wrong_type", Explanation: "structured content of another type", Raw: Returns(Structured(map[string]any{"celsius": "warm"})), Output: Celsius, Want: probe.ErrorResult, Type: "invalid_output"},
		{Name: "output_wrong_raw", Explanation: "the same as raw JSON", Raw: Returns(Structured(json.RawMessage(`{"celsius":"warm"}`))), Output: Celsius, Want: probe.ErrorResult, Type: "invalid_output"},
		{Name: "output_typed", Explanation: "a typed handler: the SDK notices and sends an error without a code", Typed: Outputs(map[string]any{"celsius": "warm"}), Output: Celsius, Want: probe.ErrorResult, Type: "invalid_output"},
	}
}

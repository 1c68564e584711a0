package boundary

import (
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// sdkProblem recognises what go-sdk's typed handlers say when they refuse their
// own input or output. Those errors have no type, only these words, and they echo
// values.
func sdkProblem(p *problem, err error) {
	switch text := err.Error(); {
	case strings.HasPrefix(text, `validating "arguments": `):
		p.kind, p.expected = "validation", true
		p.text = "The arguments do not satisfy the tool's input schema."
		p.fields = []FieldError{{Problem: "do not satisfy the tool's input schema"}}
	case strings.HasPrefix(text, "validating tool output: "), strings.HasPrefix(text, "marshaling output: "):
		p.kind, p.undelivered = "invalid_output", true
		p.text = undeliverableText
	}
}

// sdkBugReport recognises the SDK's own verdict on a result that holds content and
// questions at once. It is about the tool, so the model should get to read it.
func sdkBugReport(wire *jsonrpc.Error) bool {
	return wire.Code == jsonrpc.CodeInternalError && strings.HasPrefix(wire.Message, "server bug: ")
}

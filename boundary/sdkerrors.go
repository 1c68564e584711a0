package boundary

import (
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// readSDKError recognizes the errors with which go-sdk's typed handlers refuse
// their input or output. They have no type, only these words, and they quote
// values.
func readSDKError(f *failure, err error) {
	switch text := err.Error(); {
	case strings.HasPrefix(text, `validating "arguments": `):
		f.kind, f.expected = "validation", true
		f.text = "The arguments do not satisfy the tool's input schema."
		f.fields = []FieldError{{Problem: "do not satisfy the tool's input schema"}}
	case strings.HasPrefix(text, "validating tool output: "), strings.HasPrefix(text, "marshaling output: "):
		f.kind, f.undelivered = "invalid_output", true
		f.text = undeliverableText
	}
}

// isSDKBugReport recognizes go-sdk's error for a result that holds content and
// questions at once. The tool is at fault, so the model should read it as an error
// result.
func isSDKBugReport(wire *jsonrpc.Error) bool {
	return wire.Code == jsonrpc.CodeInternalError && strings.HasPrefix(wire.Message, "server bug: ")
}

package boundary

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// readSDKError recognizes the errors with which go-sdk's typed handlers refuse
// their input or output. They have no type, only these words, and they quote
// values.
func readSDKError(f *failure, c *call, err error) {
	switch text := err.Error(); {
	case strings.HasPrefix(text, `validating "arguments": `):
		f.kind, f.expected, f.beforeHandler = "validation", true, true
		f.text = "The arguments do not satisfy the tool's input schema."
		f.fields = []FieldError{{Problem: "do not satisfy the tool's input schema"}}
	case strings.HasPrefix(text, "validating tool output: "), strings.HasPrefix(text, "marshaling output: "):
		f.kind, f.undelivered = "invalid_output", true
		f.text = undeliverableText
	}
	if misread, ok := err.(*json.UnmarshalTypeError); ok && c.misread(misread) {
		refused := &Validation{Fields: []FieldError{{Pointer: "/" + strings.ReplaceAll(misread.Field, ".", "/"), Problem: demand(misread.Type)}}}
		f.kind, f.expected, f.beforeHandler = "validation", true, true
		f.text, f.fields = refused.Error(), refused.Fields
	}
}

// misread reports whether go-sdk made the error when it decoded the call's arguments:
// of a time that is no string of the right form, or a number that the type cannot
// hold, none of which a schema made from the type refuses. A tool that decodes
// something else may return such an error too, so this one must be of an argument.
func (c *call) misread(err *json.UnmarshalTypeError) bool {
	c.mu.Lock()
	ran := c.ran
	c.mu.Unlock()
	if ran || err.Struct == "" {
		return false
	}
	var args map[string]json.RawMessage
	if json.Unmarshal(c.arguments, &args) != nil {
		return false
	}
	name, _, _ := strings.Cut(err.Field, ".")
	_, sent := args[name]
	return sent
}

// demand describes the argument that a Go type wants, without naming the type.
func demand(t reflect.Type) string {
	if t == nil {
		return "has the wrong form"
	}
	if t == reflect.TypeFor[time.Time]() {
		return "must be a time such as 2006-01-02T15:04:05Z"
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		last := int64(1)<<(t.Bits()-1) - 1
		return fmt.Sprintf("must be an integer from %d to %d", -last-1, last)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return fmt.Sprintf("must be an integer from 0 to %d", ^uint64(0)>>(64-t.Bits()))
	case reflect.Float32, reflect.Float64:
		return "must be a number that is not so large"
	}
	return "has the wrong form"
}

// isSDKBugReport recognizes go-sdk's error for a result that holds content and
// questions at once. The tool is at fault, so the model should read it as an error
// result.
func isSDKBugReport(wire *jsonrpc.Error) bool {
	return wire.Code == jsonrpc.CodeInternalError && strings.HasPrefix(wire.Message, "server bug: ")
}

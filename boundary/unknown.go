package boundary

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// isClosed reports whether arguments that the schema does not name are to be
// refused. A schema that names some arguments and is silent on others is taken to
// know only those: a typed handler would drop the others without a word. One that
// says "additionalProperties": true, or has any other way to allow more, means it.
func isClosed(s *jsonschema.Schema) bool {
	if isFalse(s.AdditionalProperties) {
		return len(s.PatternProperties) == 0
	}
	return len(s.Properties) > 0 && s.AdditionalProperties == nil &&
		len(s.PatternProperties) == 0 && s.UnevaluatedProperties == nil &&
		s.Ref == "" && s.DynamicRef == "" && len(s.AllOf) == 0 && len(s.AnyOf) == 0 &&
		len(s.OneOf) == 0 && s.If == nil && len(s.DependentSchemas) == 0
}

// unknown are the arguments, sorted, that a closed schema does not name.
func (j *judge) unknown(args map[string]any) []string {
	if !j.closed {
		return nil
	}
	var names []string
	for name := range args {
		if j.schema.Properties[name] == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// isFalse recognises the schema that nothing satisfies, which is how this library
// reads "additionalProperties": false.
func isFalse(schema *jsonschema.Schema) bool {
	if schema == nil || schema.Not == nil {
		return false
	}
	data, err := json.Marshal(schema)
	return err == nil && string(data) == "false"
}

// schedulingFlag is an argument that some agents' runtimes let slip from their
// own scheduling of calls into the calls.
const schedulingFlag = "wait_for_previous"

func unknownArgument(schema *jsonschema.Schema, name, client string) FieldError {
	f := FieldError{Pointer: pointer("", name), Problem: "is not an argument of this tool"}
	if name == schedulingFlag {
		f.Hint = fmt.Sprintf("%q is a scheduling flag of the agent's own runtime and was sent to the tool by mistake: leave it out.", schedulingFlag)
		return f
	}
	if client != "" {
		f.Problem += ", though " + client + " sent it"
	}
	valid := slices.Sorted(maps.Keys(schema.Properties))
	switch near := nearest(name, valid, 1); {
	case len(valid) == 0:
		f.Hint = "This tool takes no arguments."
	case len(near) > 0:
		f.Hint = fmt.Sprintf("Did you mean %q? Valid arguments: %s.", near[0], strings.Join(valid, ", "))
	default:
		f.Hint = fmt.Sprintf("Valid arguments: %s.", strings.Join(valid, ", "))
	}
	return f
}

const maxClientName = 64

// clientName is the client as it calls itself in this request, made fit for
// display. Nothing is decided by it.
func clientName(req *mcp.CallToolRequest) string {
	info := req.ClientInfo()
	if info == nil {
		return ""
	}
	return shown(strings.TrimSpace(info.Name), maxClientName)
}

// shown is foreign text cut to a length and quoted when it is not plain.
func shown(text string, most int) string {
	runes := []rune(text)
	cut := len(runes) > most
	if cut {
		runes = runes[:most]
	}
	for _, r := range runes {
		plain := r == ' ' || r == '-' || r == '_' || r == '.' || r == '/' ||
			'0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !plain {
			text = fmt.Sprintf("%q", string(runes))
			return text
		}
	}
	if cut {
		return string(runes) + "..."
	}
	return string(runes)
}

// unknownTool is the SDK's own error for a name that no tool has, word for word.
func (c *call) unknownTool() *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown tool %q", c.tool)}
}

// withSuggestions adds the nearest tool names to the data of the SDK's own
// "unknown tool" error. Every other protocol error stays what it is.
func (b *boundary) withSuggestions(ctx context.Context, c *call, wire *jsonrpc.Error) *jsonrpc.Error {
	if wire.Code != jsonrpc.CodeInvalidParams || len(wire.Data) > 0 || wire.Message != c.unknownTool().Message {
		return wire
	}
	s, err := b.catalog.read(ctx, c)
	if err != nil || s.tools[c.tool] != nil {
		return wire
	}
	var names []string
	for name, def := range s.tools {
		if !b.denied(def.tool) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	near := nearest(c.tool, names, 3)
	if len(near) == 0 {
		return wire
	}
	data, err := json.Marshal(map[string]any{"suggestions": near})
	if err != nil {
		return wire
	}
	return &jsonrpc.Error{Code: wire.Code, Message: wire.Message, Data: data}
}

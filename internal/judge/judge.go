// Package judge reads the answers of an MCP server as a strict client does, and as the
// specification defines them. It shares no code with the servers that it judges.
package judge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mrtr-go/sdk/internal/wire"
)

// An Era says which of the two protocols is spoken.
type Era string

const (
	Modern Era = "modern" // 2026-07-28: version and capabilities come with every request
	Legacy Era = "legacy" // 2025-11-25: they were settled by initialize
)

// Client describes the client whose answers are judged: one that can be asked by form
// in the modern era and not at all in the legacy one.
func (e Era) Client() *wire.Options {
	if e == Legacy {
		return &wire.Options{Name: "judge", Unrecorded: true, Version: wire.Legacy, Capabilities: wire.Nothing}
	}
	return &wire.Options{Name: "judge", Unrecorded: true, Capabilities: wire.FormOnly}
}

// An Outcome is one of the four ways in which a call ends.
type Outcome string

const (
	Complete      Outcome = "complete"
	InputRequired Outcome = "input_required"
	ErrorResult   Outcome = "error"
	ProtocolError Outcome = "protocol error"
)

// Answer says how an answer to tools/call ended, or why it is not well-formed: as
// a strict client of the era reads it, against the tool's output schema, which
// may be nil.
func Answer(era Era, res *jsonrpc.Response, output *jsonschema.Resolved) (Outcome, error) {
	switch {
	case res == nil:
		return "", errors.New("no answer came")
	case res.Error != nil:
		return judgeError(res.Error)
	case len(res.Result) == 0:
		return "", errors.New("the response has neither a result nor an error")
	case !utf8.Valid(res.Result):
		return "", errors.New("the result is not UTF-8")
	}
	var r struct {
		ResultType    *string                    `json:"resultType"`
		Content       json.RawMessage            `json:"content"`
		Structured    json.RawMessage            `json:"structuredContent"`
		IsError       bool                       `json:"isError"`
		InputRequests map[string]json.RawMessage `json:"inputRequests"`
		RequestState  *string                    `json:"requestState"`
	}
	if err := json.Unmarshal(res.Result, &r); err != nil {
		return "", fmt.Errorf("the result does not read: %w", err)
	}
	asks := r.InputRequests != nil || r.RequestState != nil
	if era == Modern {
		switch {
		case r.ResultType == nil:
			return "", errors.New("the result has no resultType")
		case *r.ResultType == "input_required":
			return judgeAsking(asks, r.IsError, r.InputRequests)
		case *r.ResultType != "complete":
			return "", fmt.Errorf("the resultType is %q", *r.ResultType)
		}
	}
	if asks {
		return "", errors.New("a result that is not input_required carries inputRequests or requestState")
	}
	text, err := judgeContent(r.Content)
	if err != nil {
		return "", err
	}
	if r.IsError {
		if text == 0 {
			return "", errors.New("the error result has no text that says what is wrong")
		}
		return ErrorResult, nil
	}
	return Complete, judgeOutput(r.Structured, output)
}

func judgeError(err error) (Outcome, error) {
	var wire *jsonrpc.Error
	if !errors.As(err, &wire) {
		return "", fmt.Errorf("the error does not read: %w", err)
	}
	if wire.Code == 0 {
		return "", fmt.Errorf("the error has code 0: %s", wire.Message)
	}
	if wire.Message == "" {
		return "", fmt.Errorf("the error %d has no message", wire.Code)
	}
	return ProtocolError, nil
}

func judgeAsking(asks, isError bool, requests map[string]json.RawMessage) (Outcome, error) {
	switch {
	case !asks:
		return "", errors.New("an input_required result carries neither inputRequests nor requestState")
	case isError:
		return "", errors.New("an input_required result is an error at the same time")
	}
	for key, raw := range requests {
		var q struct {
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if err := json.Unmarshal(raw, &q); err != nil || q.Method == "" {
			return "", fmt.Errorf("the input request %q has no method", key)
		}
	}
	return InputRequired, nil
}

// judgeContent checks the blocks and counts the bytes of text in them.
func judgeContent(raw json.RawMessage) (text int, err error) {
	var blocks []*struct {
		Type     string  `json:"type"`
		Text     *string `json:"text"`
		Data     *string `json:"data"`
		MIMEType *string `json:"mimeType"`
		URI      *string `json:"uri"`
		Name     *string `json:"name"`
		Resource *struct {
			URI  *string `json:"uri"`
			Text *string `json:"text"`
			Blob *string `json:"blob"`
		} `json:"resource"`
	}
	if len(raw) == 0 || string(raw) == "null" {
		return 0, errors.New("the result has no content array")
	}
	if err := json.Unmarshal(raw, &blocks); err != nil {
		return 0, fmt.Errorf("the content does not read: %w", err)
	}
	for i, b := range blocks {
		ok := false
		switch {
		case b == nil:
			return 0, fmt.Errorf("content block %d is null", i)
		case b.Type == "text":
			if ok = b.Text != nil; ok {
				text += len(*b.Text)
			}
		case b.Type == "image", b.Type == "audio":
			ok = b.Data != nil && b.MIMEType != nil
		case b.Type == "resource_link":
			ok = b.URI != nil && b.Name != nil
		case b.Type == "resource":
			ok = b.Resource != nil && b.Resource.URI != nil && (b.Resource.Text != nil || b.Resource.Blob != nil)
		}
		if !ok {
			return 0, fmt.Errorf("content block %d of type %q is not well-formed", i, b.Type)
		}
	}
	return text, nil
}

func judgeOutput(structured json.RawMessage, output *jsonschema.Resolved) error {
	if output == nil {
		return nil
	}
	if len(structured) == 0 {
		return errors.New("the tool has an output schema and the result no structuredContent")
	}
	var value any
	if err := json.Unmarshal(structured, &value); err != nil {
		return err
	}
	if err := output.Validate(value); err != nil {
		return fmt.Errorf("the structuredContent breaks the tool's output schema: %w", err)
	}
	return nil
}

// definitions are the specification's definitions of results, in both
// revisions. "%s" stands for the part in which they differ.
const definitions = `{
	"object": {"type": "object"},
	"meta": {"type": "object", "properties": {"io.modelcontextprotocol/serverInfo": {"type": "object", "required": ["name", "version"], "properties": {"name": {"type": "string"}, "version": {"type": "string"}}}}},
	"role": {"enum": ["user", "assistant"]},
	"annotations": {"type": "object", "properties": {
		"audience": {"type": "array", "items": {"$ref": "#/$defs/role"}},
		"lastModified": {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}"},
		"priority": {"type": "number", "minimum": 0, "maximum": 1}}},
	"contents": {"type": "object", "required": ["uri"],
		"properties": {"uri": {"type": "string", "minLength": 1}, "mimeType": {"type": "string"}, "text": {"type": "string"}, "blob": {"type": "string"}, "_meta": {"$ref": "#/$defs/object"}},
		"anyOf": [{"required": ["text"]}, {"required": ["blob"]}]},
	"icon": {"type": "object", "required": ["src"], "properties": {"src": {"type": "string", "minLength": 1}, "theme": {"enum": ["light", "dark"]}}},
	"block": {"type": "object", "required": ["type"],
		"properties": {"annotations": {"$ref": "#/$defs/annotations"}, "_meta": {"$ref": "#/$defs/object"}},
		"oneOf": [
			{"properties": {"type": {"const": "text"}, "text": {"type": "string"}}, "required": ["text"]},
			{"properties": {"type": {"enum": ["image", "audio"]}, "data": {"type": "string"}, "mimeType": {"type": "string"}}, "required": ["data", "mimeType"]},
			{"properties": {"type": {"const": "resource_link"}, "uri": {"type": "string", "minLength": 1}, "name": {"type": "string"}, "icons": {"type": "array", "items": {"$ref": "#/$defs/icon"}}}, "required": ["uri", "name"]},
			{"properties": {"type": {"const": "resource"}, "resource": {"$ref": "#/$defs/contents"}}, "required": ["resource"]}]},
	"field": {"type": "object", "required": ["type"], "properties": {"type": {"enum": ["string", "number", "integer", "boolean", "array"]}}},
	"form": {"type": "object", "required": ["type", "properties"], "properties": {"type": {"const": "object"}, "properties": {"type": "object", "additionalProperties": {"$ref": "#/$defs/field"}}}},
	"question": {"type": "object", "required": ["method"], "oneOf": [
		{"properties": {"method": {"const": "elicitation/create"}, "params": {"oneOf": [
			{"properties": {"mode": {"const": "form"}, "message": {"type": "string"}, "requestedSchema": {"$ref": "#/$defs/form"}}, "required": ["message", "requestedSchema"]},
			{"properties": {"mode": {"const": "url"}, "message": {"type": "string"}, "url": {"type": "string", "minLength": 1}}, "required": ["message", "mode", "url"]}]}}, "required": ["params"]},
		{"properties": {"method": {"const": "sampling/createMessage"}, "params": {"type": "object", "properties": {"maxTokens": {"type": "integer"}, "messages": {"type": "array", "items": {"type": "object", "required": ["role", "content"], "properties": {"role": {"$ref": "#/$defs/role"}}}}}, "required": ["maxTokens", "messages"]}}, "required": ["params"]},
		{"properties": {"method": {"const": "roots/list"}}}]},
	"asking": {"type": "object", "required": ["resultType"], "anyOf": [{"required": ["inputRequests"]}, {"required": ["requestState"]}],
		"properties": {"resultType": {"const": "input_required"}, "isError": {"const": false}, "requestState": {"type": "string"}, "_meta": {"$ref": "#/$defs/meta"},
			"inputRequests": {"type": "object", "additionalProperties": {"$ref": "#/$defs/object"}}}},
	"tools/call": {"type": "object", "required": ["content"%[1]s],
		"properties": {"content": {"type": "array", "items": {"$ref": "#/$defs/block"}}, "isError": {"type": "boolean"}, "structuredContent": %[2]s, "_meta": {"$ref": "#/$defs/meta"}, "inputRequests": false, "requestState": false%[3]s}},
	"prompts/get": {"type": "object", "required": ["messages"%[1]s],
		"properties": {"messages": {"type": "array", "items": {"type": "object", "required": ["role", "content"], "properties": {"role": {"$ref": "#/$defs/role"}, "content": {"$ref": "#/$defs/block"}}}}, "description": {"type": "string"}, "_meta": {"$ref": "#/$defs/meta"}, "inputRequests": false, "requestState": false%[3]s}},
	"resources/read": {"type": "object", "required": ["contents"%[1]s%[4]s],
		"properties": {"contents": {"type": "array", "items": {"$ref": "#/$defs/contents"}}, "cacheScope": {"enum": ["public", "private"]}, "ttlMs": {"type": "integer", "minimum": 0}, "_meta": {"$ref": "#/$defs/meta"}, "inputRequests": false, "requestState": false%[3]s}},
	"completion/complete": {"type": "object", "required": ["completion"%[1]s],
		"properties": {"completion": {"type": "object", "required": ["values"], "properties": {"values": {"type": "array", "maxItems": 100, "items": {"type": "string"}}, "total": {"type": "integer", "minimum": 0}, "hasMore": {"type": "boolean"}}}, "_meta": {"$ref": "#/$defs/meta"}%[3]s}},
	"tools/list": {"type": "object", "required": ["tools"%[1]s%[4]s],
		"properties": {"tools": {"type": "array", "items": {"type": "object", "required": ["name", "inputSchema"], "properties": {"name": {"type": "string"}, "inputSchema": {"type": "object", "required": ["type"], "properties": {"type": {"const": "object"}}}, "outputSchema": {"$ref": "#/$defs/object"}, "_meta": {"$ref": "#/$defs/object"}}}}, "_meta": {"$ref": "#/$defs/meta"}%[3]s}},
	"prompts/list": {"type": "object", "required": ["prompts"%[1]s%[4]s],
		"properties": {"prompts": {"type": "array", "items": {"type": "object", "required": ["name"], "properties": {"arguments": {"type": "array", "items": {"type": "object", "required": ["name"]}}, "_meta": {"$ref": "#/$defs/object"}}}}, "_meta": {"$ref": "#/$defs/meta"}%[3]s}},
	"resources/list": {"type": "object", "required": ["resources"%[1]s%[4]s],
		"properties": {"resources": {"type": "array", "items": {"type": "object", "required": ["name", "uri"], "properties": {"annotations": {"$ref": "#/$defs/annotations"}, "_meta": {"$ref": "#/$defs/object"}}}}, "_meta": {"$ref": "#/$defs/meta"}%[3]s}},
	"resources/templates/list": {"type": "object", "required": ["resourceTemplates"%[1]s%[4]s],
		"properties": {"resourceTemplates": {"type": "array", "items": {"type": "object", "required": ["name", "uriTemplate"], "properties": {"annotations": {"$ref": "#/$defs/annotations"}, "_meta": {"$ref": "#/$defs/object"}}}}, "_meta": {"$ref": "#/$defs/meta"}%[3]s}},
	"other": {"type": "object"%[5]s, "properties": {"capabilities": {"$ref": "#/$defs/object"}, "_meta": {"$ref": "#/$defs/meta"}%[3]s}}
}`

// A Specification knows the specification's rules for the answers of one method in
// one era. [Answer] reads an answer as a client does; a Specification compares it with
// the definitions.
type Specification struct {
	final            *jsonschema.Resolved
	asking, question *jsonschema.Resolved // nil if no result can ask
}

// specifications keeps each specification that was made: there are few.
var specifications sync.Map

// SpecificationOf is the specification of the answers to a method: tools/call,
// prompts/get, resources/read, completion/complete, a list, or "other".
func SpecificationOf(method string, era Era) (*Specification, error) {
	type key struct {
		method string
		era    Era
	}
	if made, ok := specifications.Load(key{method, era}); ok {
		return made.(*Specification), nil
	}
	made, err := resolve(method, era)
	if err == nil {
		specifications.Store(key{method, era}, made)
	}
	return made, err
}

func resolve(method string, era Era) (*Specification, error) {
	defs := fmt.Sprintf(definitions, "", `{"type": "object"}`, "", "", "")
	if era == Modern {
		defs = fmt.Sprintf(definitions, `, "resultType"`, "true", `, "resultType": {"const": "complete"}`, `, "cacheScope", "ttlMs"`, `, "required": ["resultType"]`)
	}
	definition := func(name string) (*jsonschema.Resolved, error) {
		var s jsonschema.Schema
		text := `{"$ref": "#/$defs/` + strings.ReplaceAll(name, "/", "~1") + `", "$defs": ` + defs + `}`
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			return nil, err
		}
		return s.Resolve(nil)
	}
	final, err := definition(method)
	if err != nil || era == Legacy {
		return &Specification{final: final}, err
	}
	asking, err := definition("asking")
	if err != nil {
		return nil, err
	}
	question, err := definition("question")
	return &Specification{final, asking, question}, err
}

// maxDepth is how deep many decoders go.
const maxDepth = 1000

// Judge says how an answer ended, or why it is against the specification.
func (s *Specification) Judge(res *jsonrpc.Response) (Outcome, error) {
	if res == nil {
		return "", errors.New("no answer came")
	}
	if res.Error != nil {
		var wire *jsonrpc.Error
		if !errors.As(res.Error, &wire) || wire.Code == 0 || wire.Message == "" || !utf8.Valid(wire.Data) {
			return "", fmt.Errorf("an error without a code or a message: %w", res.Error)
		}
		return ProtocolError, nil
	}
	outcome, err := s.Result(res.Result)
	if err != nil || outcome != InputRequired {
		return outcome, err
	}
	var asks struct {
		InputRequests map[string]json.RawMessage `json:"inputRequests"`
	}
	if err := json.Unmarshal(res.Result, &asks); err != nil {
		return "", err
	}
	for key, raw := range asks.InputRequests {
		if err := s.Question(raw); err != nil {
			return outcome, fmt.Errorf("the question %q: %w", key, err)
		}
	}
	return outcome, nil
}

// Result judges a result and not the questions in it.
func (s *Specification) Result(raw json.RawMessage) (Outcome, error) {
	if !utf8.Valid(raw) {
		return "", errors.New("a result that is not UTF-8")
	}
	if n := depthOf(raw); n > maxDepth {
		return "", fmt.Errorf("a result nested %d deep", n)
	}
	var value map[string]any
	if err := json.Unmarshal(raw, &value); err != nil {
		return "", err
	}
	if s.asking != nil && value["resultType"] == "input_required" {
		return InputRequired, s.asking.Validate(value)
	}
	outcome := Complete
	if value["isError"] == true {
		outcome = ErrorResult
	}
	return outcome, s.final.Validate(value)
}

// Question judges one of the questions that a result asks.
func (s *Specification) Question(raw json.RawMessage) error {
	var value map[string]any
	if err := json.Unmarshal(raw, &value); err != nil {
		return err
	}
	return s.question.Validate(value)
}

// depthOf is how deep a result is nested, as far as it is JSON.
func depthOf(raw json.RawMessage) (deepest int) {
	depth, tokens := 0, json.NewDecoder(bytes.NewReader(raw))
	for {
		switch token, err := tokens.Token(); {
		case err != nil:
			return deepest
		case token == json.Delim('{'), token == json.Delim('['):
			depth++
			deepest = max(deepest, depth)
		case token == json.Delim('}'), token == json.Delim(']'):
			depth--
		}
	}
}

// Package judge reads the answers of an MCP server as a strict client does, and as the
// specification defines them. It shares no code with the servers that it judges.
package judge

import (
	"encoding/json"
	"errors"
	"fmt"
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

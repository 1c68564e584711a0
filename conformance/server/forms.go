package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mrtr-go/sdk/mrtr"
)

// The two forms are spelled out because a Go type cannot express them: values to
// begin with, and the enum spelling that the protocol has retired.

var defaultsForm = mrtr.ElicitSchema("profile", "Who are you?", json.RawMessage(`{
	"type": "object",
	"properties": {
		"name": {"type": "string", "default": "John Doe"},
		"age": {"type": "integer", "default": 30},
		"score": {"type": "number", "default": 95.5},
		"status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
		"verified": {"type": "boolean", "default": true}
	}
}`))

var enumsForm = mrtr.ElicitSchema("choices", "Make your choices.", json.RawMessage(`{
	"type": "object",
	"properties": {
		"untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
		"titledSingle": {"type": "string", "oneOf": [
			{"const": "value1", "title": "First Option"},
			{"const": "value2", "title": "Second Option"},
			{"const": "value3", "title": "Third Option"}
		]},
		"legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]},
		"untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
		"titledMulti": {"type": "array", "items": {"anyOf": [
			{"const": "value1", "title": "First Choice"},
			{"const": "value2", "title": "Second Choice"},
			{"const": "value3", "title": "Third Choice"}
		]}}
	}
}`))

func formWithDefaults(_ context.Context, c *mrtr.Call, _ nothing) (*mrtr.IncompleteResult, said, error) {
	return fillIn(c, defaultsForm)
}

func formWithEnums(_ context.Context, c *mrtr.Call, _ nothing) (*mrtr.IncompleteResult, said, error) {
	return fillIn(c, enumsForm)
}

func fillIn(c *mrtr.Call, form mrtr.Question[map[string]any]) (*mrtr.IncompleteResult, said, error) {
	fields, ok := mrtr.Answer(c, form)
	if !ok {
		return mrtr.Need(form), said{}, nil
	}
	return nil, said{fmt.Sprintf("Elicitation completed: %v", fields)}, nil
}

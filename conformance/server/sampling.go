package main

import (
	"context"

	"github.com/mrtr-go/sdk/mrtr"
)

type prompted struct {
	Prompt string `json:"prompt" jsonschema:"the prompt for the client's model"`
}

// sampling asks the model a question whose words come with the arguments.
func sampling(_ context.Context, c *mrtr.Call, in prompted) (*mrtr.IncompleteResult, said, error) {
	q := mrtr.Sample("model", prompt(in.Prompt, 100))
	answer, ok := mrtr.Answer(c, q)
	if !ok {
		return mrtr.Need(q), said{}, nil
	}
	return nil, said{"LLM response: " + spoken(answer)}, nil
}

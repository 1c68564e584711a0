package main

import (
	"context"
	"fmt"

	"github.com/mrtr-go/sdk/mrtr"
)

type asked struct {
	Message string `json:"message" jsonschema:"the message to show to the user"`
}

type contact struct {
	Username string `json:"username" jsonschema:"the user's name"`
	Email    string `json:"email" jsonschema:"the user's email address"`
}

// elicitation asks a question whose words come with the arguments.
func elicitation(_ context.Context, c *mrtr.Call, in asked) (*mrtr.IncompleteResult, said, error) {
	q := mrtr.Elicit[contact]("contact", in.Message)
	user, ok := mrtr.Answer(c, q)
	if !ok {
		return mrtr.Need(q), said{}, nil
	}
	return nil, said{fmt.Sprintf("User response: %s <%s>", user.Username, user.Email)}, nil
}

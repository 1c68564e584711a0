package main

import (
	"context"

	"github.com/mrtr-go/sdk/mrtr"
)

type person struct {
	Name string `json:"name"`
}

var whoAreYou = mrtr.Elicit[person]("user_name", "What is your name?")

// greet asks one question.
func greet(_ context.Context, c *mrtr.Call, _ nothing) (*mrtr.IncompleteResult, said, error) {
	user, ok := mrtr.Answer(c, whoAreYou)
	if !ok {
		return mrtr.Need(whoAreYou), said{}, nil
	}
	return nil, said{"Hello, " + user.Name + "!"}, nil
}

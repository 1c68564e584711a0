package main

import (
	"context"

	"github.com/mrtr-go/sdk/mrtr"
)

var (
	maybeName     = mrtr.Optional(whoAreYou)
	maybeGreeting = mrtr.Optional(greeting)
)

// whatever asks two questions that may stay open. A question that needs an
// undeclared capability is not sent, and its answer is nil.
func whatever(_ context.Context, c *mrtr.Call, _ nothing) (*mrtr.IncompleteResult, said, error) {
	user, haveUser := mrtr.Answer(c, maybeName)
	words, haveWords := mrtr.Answer(c, maybeGreeting)
	if !haveUser || !haveWords {
		return mrtr.Need(maybeName, maybeGreeting), said{}, nil
	}
	sentence := "Hello"
	if words != nil {
		sentence = spoken(*words)
	}
	if user != nil {
		sentence += ", " + user.Name
	}
	return nil, said{sentence + "!"}, nil
}

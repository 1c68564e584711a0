package main

import (
	"context"

	"github.com/mrtr-go/sdk/mrtr"
)

var greeting = mrtr.Sample("greeting", prompt("Generate a greeting", 50))

// together asks three questions in one round. It is entered again when all of
// them are answered.
func together(_ context.Context, c *mrtr.Call, _ nothing) (*mrtr.IncompleteResult, said, error) {
	user, haveUser := mrtr.Answer(c, whoAreYou)
	words, haveWords := mrtr.Answer(c, greeting)
	places, havePlaces := mrtr.Answer(c, clientRoots)
	if !haveUser || !haveWords || !havePlaces {
		return mrtr.Need(whoAreYou, greeting, clientRoots), said{}, nil
	}
	return nil, said{spoken(words) + " " + user.Name + ", your roots: " + addresses(places) + "."}, nil
}

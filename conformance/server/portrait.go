package main

import (
	"context"
	"fmt"

	"github.com/mrtr-go/sdk/mrtr"
)

type favourite struct {
	Color string `json:"color"`
}

var (
	yourName  = mrtr.Elicit[person]("step1", "Step 1: What is your name?")
	yourColor = mrtr.Elicit[favourite]("step2", "Step 2: What is your favorite color?")
)

// portrait is linear code: a question, and below it the next. Nothing waits on
// the server in between.
func portrait(ctx context.Context, c *mrtr.Call, _ nothing) (said, error) {
	user, err := mrtr.Ask(ctx, c, yourName)
	if err != nil {
		return said{}, err
	}
	likes, err := mrtr.Ask(ctx, c, yourColor)
	if err != nil {
		return said{}, err
	}
	return said{fmt.Sprintf("%s likes %s.", user.Name, likes.Color)}, nil
}

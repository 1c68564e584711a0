// Package samekey uses one key for two things, and keys of their own.
package samekey

import (
	"context"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/linear"
)

var (
	seat = mrtr.Elicit[string]("which", "Which seat?")
	meal = mrtr.Elicit[string]("which", "Which meal?")
)

func inTurn(ctx context.Context, c *mrtr.Call) error {
	if _, err := linear.Ask(ctx, c, seat); err != nil {
		return err
	}
	_, err := linear.Ask(ctx, c, meal) // want `key "which" stands for two questions in this function, the other on line \d+`
	return err
}

func together(ctx context.Context, c *mrtr.Call) error {
	return linear.AskAll(ctx, c, seat, mrtr.Confirm("which", "Sure?")) // want `key "which" stands for two questions`
}

func effects(ctx context.Context, c *mrtr.Call) (int, error) {
	one, err := mrtr.Once(ctx, c, "pay", pay)
	if err != nil {
		return 0, err
	}
	other, err := mrtr.Once(ctx, c, "pay", pay) // want `key "pay" stands for two effects`
	return one + other, err
}

func pay(context.Context, string) (int, error) { return 1, nil }

// From here on a key stands for one thing.

func again(ctx context.Context, c *mrtr.Call) error {
	if _, err := linear.Ask(ctx, c, seat); err != nil {
		return err
	}
	_, err := linear.Ask(ctx, c, mrtr.Elicit[string]("which", "Which seat?"))
	return err
}

func either(ctx context.Context, c *mrtr.Call, flies bool) (string, error) {
	if flies {
		return linear.Ask(ctx, c, seat)
	}
	return linear.Ask(ctx, c, meal)
}

func itsOwn(ctx context.Context, c *mrtr.Call, key string) error {
	return linear.AskAll(ctx, c, seat, mrtr.Elicit[string](key, "Which meal?"))
}

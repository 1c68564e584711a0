package main

import (
	"context"
	"errors"

	"github.com/mrtr-go/sdk/mrtr"
)

type yes struct {
	OK bool `json:"ok"`
}

var pleaseConfirm = mrtr.Elicit[yes]("confirm", "Please confirm")

// carry hands a value of its own to the next round, inside the sealed state.
func carry(_ context.Context, c *mrtr.Call, _ nothing) (*mrtr.IncompleteResult, said, error) {
	if _, ok := mrtr.Answer(c, pleaseConfirm); !ok {
		return mrtr.Need(pleaseConfirm).Carry("state-ok"), said{}, nil
	}
	carried, ok := mrtr.Carried[string](c)
	if !ok {
		return nil, said{}, errors.New("the carried value is gone")
	}
	return nil, said{carried}, nil
}

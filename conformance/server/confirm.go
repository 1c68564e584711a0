package main

import (
	"context"

	"github.com/mrtr-go/sdk/mrtr"
)

// confirm does nothing about a forged state: one that this server did not seal
// for this tool never reaches it.
func confirm(_ context.Context, c *mrtr.Call, _ nothing) (*mrtr.IncompleteResult, said, error) {
	answer, ok := mrtr.Answer(c, pleaseConfirm)
	switch {
	case !ok:
		return mrtr.Need(pleaseConfirm), said{}, nil
	case !answer.OK:
		return nil, said{"Not confirmed."}, nil
	}
	return nil, said{"Confirmed."}, nil
}

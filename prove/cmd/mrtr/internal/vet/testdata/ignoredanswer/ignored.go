// Package ignoredanswer goes on without answers, and looks first.
package ignoredanswer

import (
	"context"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/linear"
)

var (
	place = mrtr.Elicit[string]("place", "Which place?")
	units = mrtr.Elicit[string]("units", "Which units?")
	sure  = mrtr.Confirm("sure", "Sure?")
)

type incomplete = *mrtr.IncompleteResult

func unread(ctx context.Context, c *mrtr.Call, _ struct{}) (string, error) {
	got, _ := linear.Ask(ctx, c, place)  // want `the error of linear.Ask is ignored`
	linear.AskAll(ctx, c, units)         // want `the error of linear.AskAll is ignored`
	yes, err := linear.Ask(ctx, c, sure) // want `the error of linear.Ask is ignored`
	other, err := linear.Ask(ctx, c, units)
	if err != nil || !yes {
		return "", err
	}
	return got + other, nil
}

var styles = []any{mrtr.Native(first), mrtr.Native(helped), mrtr.Native(guarded), mrtr.Native(compared)}

func first(_ context.Context, c *mrtr.Call, _ struct{}) (incomplete, string, error) {
	got, _ := mrtr.Answer(c, place) // want `whether there is an answer is ignored`
	return nil, got, nil
}

func helped(_ context.Context, c *mrtr.Call, _ struct{}) (incomplete, string, error) {
	return nil, placeOf(c), nil
}

func placeOf(c *mrtr.Call) string {
	got, _ := mrtr.Answer(c, place) // want `whether there is an answer is ignored`
	return got
}

// From here on somebody looks.

func guarded(_ context.Context, c *mrtr.Call, _ struct{}) (incomplete, string, error) {
	got, ok := mrtr.Answer(c, place)
	if !ok {
		return mrtr.Need(place, units), "", nil
	}
	in, _ := mrtr.Answer(c, units)
	return nil, got + in, nil
}

func compared(_ context.Context, c *mrtr.Call, _ struct{}) (incomplete, string, error) {
	if got, _ := mrtr.Answer(c, place); got == "" {
		return mrtr.Need(place), "", nil
	}
	if yes, _ := mrtr.Answer(c, sure); yes {
		return nil, "yes", nil
	}
	return mrtr.Need(sure), "", nil
}

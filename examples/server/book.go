package main

import (
	"context"

	"github.com/mrtr-go/sdk/mrtr"
)

// Trip is the input of the tool.
type Trip struct {
	To string `json:"to"`
}

// Booking is its output.
type Booking struct {
	Hold string `json:"hold"`
	Meal string `json:"meal"`
}

var (
	seat = mrtr.Choose("seat", "Which seat?", mrtr.Choices("window", "aisle")...)
	meal = mrtr.Choose("meal", "Which meal?", mrtr.Choices("fish", "pasta")...)
)

func book(ctx context.Context, c *mrtr.Call, trip Trip) (*mrtr.IncompleteResult, Booking, error) {
	place, ok := mrtr.Answer(c, seat)
	if !ok {
		return mrtr.Need(seat), Booking{}, nil // the client asks, and calls again from the top
	}
	hold, err := mrtr.Once(ctx, c, "hold", func(ctx context.Context, idem string) (string, error) {
		return desk.Hold(ctx, idem, trip.To, place) // idem: one idempotency key for every attempt
	})
	if err != nil {
		return nil, Booking{}, err
	}
	dish, ok := mrtr.Answer(c, meal)
	if !ok {
		return mrtr.Need(meal), Booking{}, nil
	}
	return nil, Booking{hold, dish}, nil
}

// desk stands for the system that has the effect. It counts the seats that it holds.
var desk travelDesk

type travelDesk struct{ held int }

func (d *travelDesk) Hold(_ context.Context, idem, to, place string) (string, error) {
	d.held++
	return place + " to " + to, nil
}

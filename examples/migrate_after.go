package examples

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/linear"
)

// BookAnywhere asks clients of every revision.
func BookAnywhere(ctx context.Context, c *mrtr.Call, in Booking) (Ticket, error) {
	res, err := linear.Ask(ctx, c, mrtr.ElicitRaw("seat", seatParams(in)))
	if err != nil {
		return Ticket{}, err
	}
	if res.Action != "accept" {
		return Ticket{}, errors.New("no seat was chosen")
	}
	ticket := Ticket{Seat: res.Content["seat"].(string)}
	if ticket.Price, err = mrtr.Once(ctx, c, "charge", func(context.Context, string) (int, error) { return charge(ticket.Seat) }); err != nil {
		return Ticket{}, err
	}
	res, err = linear.Ask(ctx, c, mrtr.ElicitRaw("meal", mealParams()))
	if err != nil {
		return Ticket{}, err
	}
	if res.Action == "accept" {
		ticket.Meal = res.Content["meal"].(string)
	}
	return ticket, nil
}

// RegisterBookAnywhere registers the tool.
func RegisterBookAnywhere(server *mcp.Server, rt *mrtr.Runtime) {
	mrtr.AddTool(server, &mcp.Tool{Name: "book"}, mrtr.Tool(rt, linear.Resumable(BookAnywhere), nil))
}

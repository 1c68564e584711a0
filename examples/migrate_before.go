package examples

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Book asks over the session of its client.
func Book(ctx context.Context, req *mcp.CallToolRequest, in Booking) (*mcp.CallToolResult, Ticket, error) {
	res, err := req.Session.Elicit(ctx, seatParams(in))
	if err != nil {
		return nil, Ticket{}, err
	}
	if res.Action != "accept" {
		return nil, Ticket{}, errors.New("no seat was chosen")
	}
	ticket := Ticket{Seat: res.Content["seat"].(string)}
	if ticket.Price, err = charge(ticket.Seat); err != nil {
		return nil, Ticket{}, err
	}
	res, err = req.Session.Elicit(ctx, mealParams())
	if err != nil {
		return nil, Ticket{}, err
	}
	if res.Action == "accept" {
		ticket.Meal = res.Content["meal"].(string)
	}
	return nil, ticket, nil
}

// RegisterBook registers the tool.
func RegisterBook(server *mcp.Server) {
	mcp.AddTool(server, &mcp.Tool{Name: "book"}, Book)
}

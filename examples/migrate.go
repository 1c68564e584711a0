package examples

import (
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Booking is the input of the booking tool, which asks twice and charges in between.
type Booking struct {
	Flight string `json:"flight"`
}

// Ticket is its output.
type Ticket struct {
	Seat  string `json:"seat"`
	Meal  string `json:"meal,omitempty"`
	Price int    `json:"price"`
}

// seatParams and mealParams are the questions as the tool has always asked them.
func seatParams(in Booking) *mcp.ElicitParams {
	return &mcp.ElicitParams{Message: "Which seat on " + in.Flight + "?", RequestedSchema: json.RawMessage(
		`{"type":"object","properties":{"seat":{"type":"string","enum":["1A","2C"]}},"required":["seat"]}`)}
}

func mealParams() *mcp.ElicitParams {
	return &mcp.ElicitParams{Message: "Which meal?", RequestedSchema: json.RawMessage(
		`{"type":"object","properties":{"meal":{"type":"string"}},"required":["meal"]}`)}
}

// charge is the effect between the two questions.
func charge(seat string) (price int, err error) {
	fmt.Println("(charged 90 for " + seat + ")")
	return 90, nil
}

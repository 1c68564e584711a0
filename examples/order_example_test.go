package examples_test

import (
	"github.com/mrtr-go/sdk/examples"
	"github.com/mrtr-go/sdk/mrtr"
)

func ExampleOrderNative() {
	run(mrtr.Native(examples.OrderNative), two, buyer)
	run(mrtr.Native(examples.OrderNative), two, leaver) // who does not pay
	// Output:
	// Which size of "chair"?
	// Which size of "table"?
	// Where shall it go?
	// A note for the card?
	// Please pay.
	// (reserved chair, table)
	// (shipped)
	// result: {"parcel":"Hello Ann: S chair, L table, for kitchen"}
	// Which size of "chair"?
	// Which size of "table"?
	// Where shall it go?
	// A note for the card?
	// Please pay.
	// error: Stopped: "payment" was declined.
}

func ExampleOrderOnce() {
	run(mrtr.Native(examples.OrderOnce), two, buyer)
	run(mrtr.Native(examples.OrderOnce), two, leaver) // who does not pay
	// Output:
	// (reserved chair, table)
	// Which size of "chair"?
	// Which size of "table"?
	// Where shall it go?
	// A note for the card?
	// Please pay.
	// (shipped)
	// result: {"parcel":"Hello Ann: S chair, L table, for kitchen"}
	// (reserved chair, table)
	// Which size of "chair"?
	// Which size of "table"?
	// Where shall it go?
	// A note for the card?
	// Please pay.
	// (released R1)
	// error: Stopped: "payment" was declined.
}

// The same function is held in memory by mrtr.Coroutine, and by mrtr.Resumable.
func ExampleOrderLinear() {
	run(mrtr.Journal(examples.OrderLinear), two, buyer)
	run(mrtr.Journal(examples.OrderLinear), two, leaver) // who does not pay
	// Output:
	// (reserved chair, table)
	// Which size of "chair"?
	// Which size of "table"?
	// Where shall it go?
	// A note for the card?
	// Please pay.
	// (shipped)
	// result: {"parcel":"Hello Ann: S chair, L table, for kitchen"}
	// (reserved chair, table)
	// Which size of "chair"?
	// Which size of "table"?
	// Where shall it go?
	// A note for the card?
	// Please pay.
	// (released R1)
	// error: Stopped: "payment" was declined.
}

func ExampleOrderSteps() {
	run(examples.OrderSteps(), two, buyer)
	run(examples.OrderSteps(), two, leaver) // who does not pay
	// Output:
	// (reserved chair, table)
	// Which size of "chair"?
	// Which size of "table"?
	// Where shall it go?
	// A note for the card?
	// Please pay.
	// (shipped)
	// result: {"parcel":"Hello Ann: S chair, L table, for kitchen"}
	// (reserved chair, table)
	// Which size of "chair"?
	// Which size of "table"?
	// Where shall it go?
	// A note for the card?
	// Please pay.
	// (released R1)
	// error: Stopped: "payment" was declined.
}

// Its questions go out together, so that the user sees them in no particular order.
func ExampleOrderGiven() {
	run(examples.OrderGiven(), two, buyer)
	run(examples.OrderGiven(), two, leaver) // who does not pay
	// Unordered output:
	// Which size of "chair"?
	// Which size of "table"?
	// Where shall it go?
	// A note for the card?
	// Please pay.
	// (reserved chair, table)
	// (shipped)
	// result: {"parcel":"Hello Ann: S chair, L table, for kitchen"}
	// Which size of "chair"?
	// Which size of "table"?
	// Where shall it go?
	// A note for the card?
	// Please pay.
	// error: Stopped: "payment" was declined.
}

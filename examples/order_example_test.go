package examples_test

import (
	"fmt"

	"github.com/mrtr-go/sdk/examples"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/linear"
)

// Two users order, and only the first one pays. A style that reserves before it asks releases
// the stock again. The linear function runs in linear.Coroutine and linear.Resumable too.
func Example_order() {
	for _, s := range []struct {
		name  string
		style mrtr.Style[examples.Order, examples.Shipment]
	}{
		{"native", mrtr.Native(examples.OrderNative)},
		{"once", mrtr.Native(examples.OrderOnce).OnStop(examples.Release)},
		{"linear", linear.Journal(examples.OrderLinear).OnStop(examples.Release)},
		{"steps", examples.OrderSteps()},
		{"given", examples.OrderGiven()},
	} {
		fmt.Println(s.name)
		run(s.style, two, buyer)
		run(s.style, two, leaver)
	}
	// Output:
	// native
	//   reserved chair, table
	//   shipped
	//   asked 5 questions: {"parcel":"Hello Ann: S chair, L table, for kitchen"}
	//   asked 5 questions: Stopped: "payment" was declined.
	// once
	//   reserved chair, table
	//   shipped
	//   asked 5 questions: {"parcel":"Hello Ann: S chair, L table, for kitchen"}
	//   reserved chair, table
	//   released R1
	//   asked 5 questions: Stopped: "payment" was declined. "reserve" was undone.
	// linear
	//   reserved chair, table
	//   shipped
	//   asked 5 questions: {"parcel":"Hello Ann: S chair, L table, for kitchen"}
	//   reserved chair, table
	//   released R1
	//   asked 5 questions: Stopped: "payment" was declined. "reserve" was undone.
	// steps
	//   reserved chair, table
	//   shipped
	//   asked 5 questions: {"parcel":"Hello Ann: S chair, L table, for kitchen"}
	//   reserved chair, table
	//   released R1
	//   asked 5 questions: Stopped: "payment" was declined. "reserve" was undone.
	// given
	//   reserved chair, table
	//   shipped
	//   asked 5 questions: {"parcel":"Hello Ann: S chair, L table, for kitchen"}
	//   asked 5 questions: Stopped: "payment" was declined.
}

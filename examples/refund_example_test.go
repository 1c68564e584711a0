package examples_test

import (
	"github.com/mrtr-go/sdk/examples"
	"github.com/mrtr-go/sdk/mrtr"
)

func ExampleRefundNative() {
	run(mrtr.Native(examples.RefundNative), one, clerk)
	run(mrtr.Native(examples.RefundNative), one, doubt) // who does not approve
	// Output:
	// How much is refunded, and who is told?
	// Refund 4000 cents to ann@example.org?
	// (paid 4000 cents for A7)
	// result: {"cents":4000,"to":"ann@example.org"}
	// How much is refunded, and who is told?
	// Refund 4000 cents to ann@example.org?
	// error: the refund was not approved
}

func ExampleRefundOnce() {
	run(mrtr.Native(examples.RefundOnce), one, clerk)
	run(mrtr.Native(examples.RefundOnce), one, doubt) // who does not approve
	// Output:
	// (froze A7)
	// How much is refunded, and who is told?
	// Refund 4000 cents to ann@example.org?
	// (paid 4000 cents for A7)
	// result: {"cents":4000,"to":"ann@example.org"}
	// (froze A7)
	// How much is refunded, and who is told?
	// Refund 4000 cents to ann@example.org?
	// (thawed A7)
	// error: the refund was not approved
}

func ExampleRefundLinear() {
	run(mrtr.Coroutine(examples.RefundLinear), one, clerk)
	run(mrtr.Coroutine(examples.RefundLinear), one, doubt) // who does not approve
	// Output:
	// (froze A7)
	// How much is refunded, and who is told?
	// Refund 4000 cents to ann@example.org?
	// (paid 4000 cents for A7)
	// result: {"cents":4000,"to":"ann@example.org"}
	// (froze A7)
	// How much is refunded, and who is told?
	// Refund 4000 cents to ann@example.org?
	// (thawed A7)
	// error: the refund was not approved
}

func ExampleRefundSteps() {
	run(examples.RefundSteps(), one, clerk)
	run(examples.RefundSteps(), one, doubt) // who does not approve
	// Output:
	// (froze A7)
	// How much is refunded, and who is told?
	// Refund 4000 cents to ann@example.org?
	// (paid 4000 cents for A7)
	// result: {"cents":4000,"to":"ann@example.org"}
	// (froze A7)
	// How much is refunded, and who is told?
	// Refund 4000 cents to ann@example.org?
	// (thawed A7)
	// error: the refund was not approved
}

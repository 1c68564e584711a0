package examples

import (
	"context"
	"fmt"

	"github.com/mrtr-go/sdk/mrtr"
)

// Refund is the input of the refund tool.
type Refund struct {
	Order string `json:"order"`
}

// Refunded is its output.
type Refunded struct {
	Cents int    `json:"cents"`
	To    string `json:"to"`
}

// Terms is the form of the refund, filled in with the amount that was paid.
type Terms struct {
	Cents  int    `json:"cents" title:"Amount in cents" minimum:"1" maximum:"50000"`
	Email  string `json:"email" format:"email"`
	Reason string `json:"reason,omitempty" maxLength:"200"`
}

// terms is asked with the amount that was paid.
func terms(paid int) mrtr.Question[Terms] {
	return mrtr.Elicit[Terms]("terms", "How much is refunded, and who is told?").Prefill(Terms{Cents: paid})
}

// sure tells a decline apart from a user who went away.
func sure(t Terms) mrtr.Question[mrtr.Replied[bool]] {
	return mrtr.Reply(mrtr.Confirm("sure", fmt.Sprintf("Refund %d cents to %s?", t.Cents, t.Email)))
}

// agreed is nil where the user said yes.
func agreed(r mrtr.Replied[bool]) error {
	switch {
	case r.Reason == mrtr.Cancelled:
		return fmt.Errorf("nobody decided: ask again later")
	case !r.Value:
		return fmt.Errorf("the refund was not approved")
	}
	return nil
}

// freeze keeps the payment from being settled meanwhile, and tells its amount.
func freeze(in Refund) func(context.Context, string) (int, error) {
	return func(context.Context, string) (int, error) {
		fmt.Println("(froze " + in.Order + ")")
		return 4200, nil
	}
}

// thaw undoes freeze.
func thaw(in Refund) { fmt.Println("(thawed " + in.Order + ")") }

// pay pays the money back, once for an idem.
func pay(in Refund, t Terms) func(context.Context, string) error {
	return func(context.Context, string) error {
		fmt.Printf("(paid %d cents for %s)\n", t.Cents, in.Order)
		return nil
	}
}

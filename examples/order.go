// Package examples holds tools of real size. Their tests print the questions, the effects and
// the results.
//
//   - order.go, order_styles.go: an order in five styles, which reserves stock between its
//     questions and has its user pay at a third party
//   - migrate_before.go, migrate_after.go: a booking, moved from Session.Elicit
//   - guard.go: a guard by hand, and with mrtr
//   - own.go: two styles of your own
//   - audit_test.go: a trail of who approved what
package examples

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
)

// Order is the input of the order tool.
type Order struct {
	Items []string `json:"items"`
}

// Shipment is its output.
type Shipment struct {
	Parcel string `json:"parcel"`
}

// Address is a form of several fields, with limits.
type Address struct {
	Name  string `json:"name" title:"Full name" minLength:"2" maxLength:"60"`
	Email string `json:"email" format:"email" jsonschema:"where the receipt goes"`
	Floor *int   `json:"floor,omitempty" minimum:"0" maximum:"99"`
}

// maxItems bounds the items of an order, since each is asked for in a round.
const maxItems = 4

// The questions of the order tool.
var (
	projects = mrtr.Optional(mrtr.Roots("projects"))
	address  = mrtr.Elicit[Address]("address", "Where shall it go?")
	note     = mrtr.Optional(mrtr.Elicit[string]("note", "A note for the card?"))
	greeting = mrtr.Optional(mrtr.Sample("greeting", &mcp.CreateMessageWithToolsParams{
		MaxTokens: 20,
		Messages:  []*mcp.SamplingMessageV2{{Role: "user", Content: []mcp.Content{&mcp.TextContent{Text: "Greet a customer in one word."}}}},
	}))
	payment = mrtr.ElicitURL("payment", "Please pay.", "https://shop.example/pay")
)

// size is asked for each item, under a key of its own.
func size(i int, item string) mrtr.Question[string] {
	return mrtr.Choose(fmt.Sprintf("size.%d", i), "Which size of "+mrtr.Quote(item)+"?", mrtr.Choices("S", "M", "L")...)
}

// checked refuses an order that cannot be filled, before anything is asked or done.
func checked(in Order) error {
	if len(in.Items) == 0 || len(in.Items) > maxItems {
		return fmt.Errorf("an order has 1 to %d items", maxItems)
	}
	return nil
}

// parcel holds the answers.
type parcel struct {
	project  *mcp.ListRootsResult
	sizes    []string
	to       Address
	note     *string
	greeting string
}

// reserve takes the items out of the stock.
func reserve(in Order) func(ctx context.Context, idem string) (string, error) {
	return func(context.Context, string) (string, error) {
		fmt.Println("  reserved", strings.Join(in.Items, ", "))
		return "R1", nil
	}
}

// release puts them back. If nobody knows whether they were reserved, it looks for the reservation
// by its idempotency key.
func release(_ context.Context, _ *mrtr.Call, u mrtr.Undo[string]) error {
	if len(u.Unknown) > 0 {
		return fmt.Errorf("perhaps on their way: %v", u.Unknown)
	}
	if u.InDoubt {
		fmt.Println("  looked for", u.Idem)
		return mrtr.ErrFound
	}
	fmt.Println("  released", u.Value)
	return nil
}

// ship sends the parcel, once for an idem.
func ship(p parcel) func(ctx context.Context, idem string) (Shipment, error) {
	return func(context.Context, string) (Shipment, error) {
		text := p.greeting + " " + p.to.Name + ": " + strings.Join(p.sizes, ", ")
		if p.note != nil {
			text += ", with a note"
		}
		if p.project != nil && len(p.project.Roots) > 0 {
			text += ", for " + p.project.Roots[0].Name
		}
		fmt.Println("  shipped")
		return Shipment{text}, nil
	}
}

// words are the reply of the client's model, or a word of ours if there is none.
func words(m **mcp.CreateMessageWithToolsResult) string {
	if m != nil && *m != nil {
		for _, content := range (*m).Content {
			if text, ok := content.(*mcp.TextContent); ok {
				return text.Text
			}
		}
	}
	return "Dear"
}

// firstOf is the client's answer, nil if it gave none.
func firstOf[T any](answer **T) *T {
	if answer == nil {
		return nil
	}
	return *answer
}

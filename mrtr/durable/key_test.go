package durable_test

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/store"
)

// A client with a key begins its call anew, and the store has lost the record of the call. The check of
// the payment finds the first one: both have the same idempotency key.
func TestACallWithAKeyFindsItsPaymentWithoutItsRecord(t *testing.T) {
	var paid kit.Deeds
	check := &mrtr.EffectOptions[string]{CheckFirst: true, Check: func(_ context.Context, idem string) (string, bool, error) {
		return "paid", paid.Count(idem) > 0, nil
	}}
	for name, style := range kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
		plan, err := mrtr.Once(s.Ctx, s.Call, "pay", func(_ context.Context, idem string) (string, error) {
			paid.Note(idem)
			return "paid", nil
		}, check)
		kit.Unless(err, plan)
		kit.Ask(s, kit.Text("seat"))
		return kit.Out{Plan: plan}, nil
	}) {
		t.Run(name, func(t *testing.T) {
			clear(paid.Done)
			buys := func(key, who string) {
				tool := kit.NewTrip(kit.TripRuntime(t, &mrtr.Options{
					Durable: durable.In(kit.Shared{Memory: store.NewMemory(nil)}, nil),
					SameKey: func(context.Context, mcp.Request) string { return key },
				}), style, "")
				asked := tool.Round(t.Context(), who, "", nil)
				require.NoError(t, asked.Err)
				require.Equal(t, kit.Reply{Plan: "paid"}, tool.Round(t.Context(), who, asked.State, kit.Accepting(asked, "window")))
			}
			for n, order := range [][2]string{{"1", "ann"}, {"2", "ann"}, {"1", "bob"}} {
				buys(order[0], order[1])
				buys(order[0], order[1])
				require.Len(t, paid.Done, n+1)
			}
			for idem, times := range paid.Done {
				require.Equal(t, 1, times, idem)
			}
		})
	}
}

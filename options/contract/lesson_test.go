package contract

import (
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/options/landmine"
)

// One linear function is run by three engines. A bare charge happens once only on
// the engine that really waits; a charge in Once happens once on all three.
func TestTheLesson(t *testing.T) {
	bareCharges := map[string]int{"held": 1, "run again": 2, "replayed": 2}
	require.Len(t, landmine.Engines, len(bareCharges))
	for _, e := range landmine.Engines {
		t.Run(e.Name, func(t *testing.T) {
			for _, place := range []string{"Lisbon", "Springfield"} {
				require.Equal(t, bareCharges[e.Name], charges(t, e.Bare, place), "%s, bare: %s", place, e.Explanation)
				require.Equal(t, 1, charges(t, e.InOnce, place), "%s, with Once", place)
			}
		})
	}
}

// charges calls the tool for a user who answers everything, and counts the charges.
func charges(t *testing.T, handler func(*mrtr.Runtime, *options.Card) options.Handler, place string) int {
	rt, err := mrtr.New(nil)
	require.NoError(t, err)
	defer rt.Close()
	card := &options.Card{}
	server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
	mrtr.AddTool(server, &mcp.Tool{Name: "weather"}, handler(rt, card))
	client, err := wire.Connect(t.Context(), server, nil)
	require.NoError(t, err)
	defer client.Close()
	out, err := client.Call(t.Context(), "weather", map[string]any{"location": place}, wire.Answers{
		"place": wire.Value("Springfield, Illinois"), "units": wire.Value("metric"),
	})
	require.NoError(t, err)
	require.False(t, out.IsError, out.Text)
	require.Contains(t, out.Text, "Weather in "+place)
	return len(card.Charges())
}

package landmine

import (
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
)

// One linear function is run by three engines. A bare audit happens once only on
// the engine that really waits; an audit in Once happens once on all three.
func TestTheLesson(t *testing.T) {
	bareAudits := map[string]int{"held": 1, "run again": 2, "replayed": 2}
	require.Len(t, Engines, len(bareAudits))
	for _, e := range Engines {
		t.Run(e.Name, func(t *testing.T) {
			for _, place := range []string{"Lisbon", "Springfield"} {
				require.Equal(t, bareAudits[e.Name], audits(t, e.Bare, place), "%s, bare: %s", place, e.Explanation)
				require.Equal(t, 1, audits(t, e.InOnce, place), "%s, with Once", place)
			}
		})
	}
}

// audits calls the tool for a user who answers everything, and counts the audit
// lines.
func audits(t *testing.T, handler func(*mrtr.Runtime, *options.Audit) options.Handler, place string) int {
	rt, err := mrtr.New(nil)
	require.NoError(t, err)
	defer rt.Close()
	audit := &options.Audit{}
	server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
	mrtr.AddTool(server, &mcp.Tool{Name: "weather"}, handler(rt, audit))
	client, err := wire.Connect(t.Context(), server, nil)
	require.NoError(t, err)
	defer client.Close()
	out, err := client.Call(t.Context(), "weather", map[string]any{"location": place}, wire.Answers{
		"place": wire.Value("Springfield, Illinois"), "units": wire.Value("metric"),
	})
	require.NoError(t, err)
	require.False(t, out.IsError, out.Text)
	require.Contains(t, out.Text, "Weather in "+place)
	return len(audit.Lines())
}

package landmine

import (
	"context"
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
	type linear = mrtr.LinearFunc[options.Query, options.Report]
	lessons := []struct {
		engine      string
		style       func(linear) mrtr.Style[options.Query, options.Report]
		bare        int // audits of the function of exhibit B
		inOnce      int // audits of the same function with Once around its audit
		explanation string
	}{
		{"parked", mrtr.Coroutine[options.Query, options.Report], 1, 1, "the handler is held where it asks: no line runs twice"},
		{"re-run", rerun[options.Query, options.Report], 2, 1, "run again with the answers so far"},
		{"journal", mrtr.Journal[options.Query, options.Report], 2, 1, "run again with answers and effects replayed; a bare effect is not recorded, so it happens again"},
	}
	for _, l := range lessons {
		t.Run(l.engine, func(t *testing.T) {
			for _, place := range []string{"Lisbon", "Springfield"} {
				require.Equal(t, l.bare, audits(t, l.style, bare, place), "%s, bare: %s", place, l.explanation)
				require.Equal(t, l.inOnce, audits(t, l.style, inOnce, place), "%s, with Once", place)
			}
		})
	}
}

// inOnce is the function bare with its audit in Once.
func inOnce(audit *options.Audit) mrtr.LinearFunc[options.Query, options.Report] {
	return func(ctx context.Context, c *mrtr.Call, q options.Query) (options.Report, error) {
		which, err := options.WhichPlace(q.Location)
		if err != nil {
			return options.Report{}, err
		}
		place, err := mrtr.Ask(ctx, c, which)
		if err != nil {
			return options.Report{}, err
		}
		_, err = mrtr.Once(ctx, c, "audit", func(context.Context, string) (bool, error) {
			audit.Record(place)
			return true, nil
		})
		if err != nil {
			return options.Report{}, err
		}
		units, err := mrtr.Ask(ctx, c, options.Units)
		if err != nil {
			return options.Report{}, err
		}
		return options.NewReport(place, units), nil
	}
}

// audits calls the tool for a user who answers everything, and counts the audit
// lines.
func audits(
	t *testing.T,
	style func(mrtr.LinearFunc[options.Query, options.Report]) mrtr.Style[options.Query, options.Report],
	function func(*options.Audit) mrtr.LinearFunc[options.Query, options.Report],
	place string,
) int {
	rt, err := mrtr.New(nil)
	require.NoError(t, err)
	defer rt.Close()
	audit := &options.Audit{}
	server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "weather"}, mrtr.Tool(rt, style(function(audit)), nil))
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

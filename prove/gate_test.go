package prove_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/boundary/gate"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/keep"
	"github.com/mrtr-go/sdk/mrtr/mrtrtest"
	"github.com/mrtr-go/sdk/prove"
	"github.com/mrtr-go/sdk/prove/provetest"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

var bin = mrtr.Choose("bin", "Which bin?", mrtr.Choices("paper", "glass")...)

type file struct {
	Path string `json:"path"`
}

// gated builds servers with a plain tool and one that asks by itself, both gated.
func gated(t *testing.T, stored bool) mrtrtest.Build {
	return func(w *mrtrtest.World) *mcp.Server {
		var kept keep.Durability
		if stored {
			kept = durable.In(w.Store(), nil)
		}
		key, err := statecodec.NewKey(w.Key())
		require.NoError(t, err)
		rt, err := mrtr.New(&mrtr.Options{State: &statecodec.Options{Keys: []statecodec.Key{key}}, Durable: kept})
		require.NoError(t, err)
		w.Cleanup(func() { require.NoError(t, rt.Close()) })
		server := mcp.NewServer(&mcp.Implementation{Name: "files", Version: "1"}, nil)
		for _, name := range []string{"wipe", "shred"} {
			mcp.AddTool(server, &mcp.Tool{Name: name}, func(_ context.Context, _ *mcp.CallToolRequest, in file) (*mcp.CallToolResult, map[string]string, error) {
				w.Effect(name)
				return nil, map[string]string{"wiped": in.Path}, nil
			})
			mcp.AddTool(server, &mcp.Tool{Name: name + "_into"}, mrtr.Tool(rt, mrtr.Native(func(ctx context.Context, c *mrtr.Call, in file) (*mrtr.IncompleteResult, map[string]string, error) {
				chosen, ok := mrtr.Answer(c, bin)
				if !ok {
					return mrtr.Need(bin), nil, nil
				}
				w.Effect(name)
				return nil, map[string]string{"wiped": in.Path, "bin": chosen}, nil
			}), nil))
		}
		_, err = gate.Install(server, rt, &gate.Options{Remember: gate.Remember{For: store.MaxTTL}})
		require.NoError(t, err)
		require.NoError(t, boundary.Install(server, &boundary.Options{Logger: slog.New(slog.DiscardHandler)}))
		return server
	}
}

func TestGatedToolsKeepEveryRule(t *testing.T) {
	yes := map[string]any{"approve": true, "remember": false}
	for _, into := range []string{"", "_into"} {
		for _, stored := range []bool{false, true} {
			t.Run(map[bool]string{false: "no store", true: "store"}[stored]+into, func(t *testing.T) {
				report := provetest.Examine(t, gated(t, stored), prove.Scenario{
					Tool: "wipe" + into, OtherTool: "shred" + into, Times: map[string]int{"wipe": 1}, Repeatable: !stored,
					Arguments: map[string]any{"path": "/a"}, OtherArguments: map[string]any{"path": "/b"},
					Answers:      map[string]any{"gate.approve": yes, "bin": "paper"},
					OtherAnswers: map[string]any{"gate.approve": yes, "bin": "glass"},
				}, nil)
				t.Log(report.String())
				require.Empty(t, report.Failures(prove.Ours), report.String())
				require.LessOrEqual(t, report.Count(prove.Skip), 7, report.String())
			})
		}
	}
}

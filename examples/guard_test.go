package examples_test

import (
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/examples"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/mrtrtest"
	"github.com/mrtr-go/sdk/statecodec"
)

func droppedByHand(w *mrtrtest.World) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "databases", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "drop"}, (&examples.ByHand{Drop: func(name string) error { w.Effect(name); return nil }}).Tool)
	return server
}

func droppedGuarded(w *mrtrtest.World) *mcp.Server {
	rt := must(mrtr.New(&mrtr.Options{State: &statecodec.Options{Keys: []statecodec.Key{must(statecodec.NewKey(w.Key()))}}}))
	w.Cleanup(func() { _ = rt.Close() })
	server := mcp.NewServer(&mcp.Implementation{Name: "databases", Version: "1"}, nil)
	mrtr.Add(server, rt, &mcp.Tool{Name: "drop"}, mrtr.Native((&examples.Guarded{Drop: func(name string) error { w.Effect(name); return nil }}).Tool))
	return server
}

// Both guards drop a database after a yes alone. The one with mrtr does so at two instances and for
// a legacy client too.
func TestAGuardOfOnesOwn(t *testing.T) {
	for answer, want := range map[string]struct {
		answer  mrtrtest.Answer
		text    string
		effects []string
	}{
		"yes":      {mrtrtest.Value(true), `{"Database":"old"}`, []string{"old"}},
		"no":       {mrtrtest.Value(false), "nothing was dropped", nil},
		"declined": {mrtrtest.Decline, "nothing was dropped", nil},
	} {
		script := mrtrtest.Script{Tool: "drop", Arguments: examples.Drop{Database: "old"}, Answers: mrtrtest.Answers{"drop": {want.answer}}}
		check := func(build mrtrtest.Build, opts *mrtrtest.Options) {
			t.Run(fmt.Sprint(answer, opts), func(t *testing.T) {
				out := mrtrtest.Call(t, build, script, opts)
				require.Equal(t, want.text, out.Text)
				require.Equal(t, want.effects, out.Effects)
			})
		}
		check(droppedByHand, nil)
		for _, opts := range []*mrtrtest.Options{nil, {FreshInstances: true}, {Era: mrtrtest.Legacy}} {
			check(droppedGuarded, opts)
		}
	}
}

//go:build unix

package fleet

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/fault"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// NewKey makes a key that seals states.
func NewKey() string { return statecodec.GenerateKey().Text() }

// Instances are servers of this process that share their key and their ledger.
type Instances struct {
	Ledger Ledger

	key string
}

// NewInstances returns none yet.
func NewInstances(t testing.TB) *Instances {
	return &Instances{NewLedger(t), NewKey()}
}

// Start serves tools from a store until the test ends. Its faults are those of package fault.
func (in *Instances) Start(t testing.TB, s store.Store, remember durable.Options, tools map[string]Row, reach func(order, place string)) (*mrtr.Runtime, *wire.Client) {
	rt, server, err := newServer(&mrtr.Options{Durable: durable.In(s, &remember)}, in.key, &Shop{Ledger: in.Ledger, Reach: reach}, tools)
	fault.Check(err)
	conn := fault.Must(wire.Connect(t.Context(), server, &wire.Options{Unrecorded: true}))
	t.Cleanup(func() {
		_ = conn.Close()
		require.NoError(t, rt.Close())
	})
	return rt, conn
}

// One serves the journal, to the client that it returns. Hook, if set, runs when the effect
// has ended.
func (in *Instances) One(t testing.TB, s store.Store, remember durable.Options, hook func()) *Client {
	client := &Client{Tool: ToolName}
	require.NoError(t, fault.Caught(func() {
		_, client.Conn = in.Start(t, s, remember, map[string]Row{ToolName: Find("journal")}, func(_, place string) {
			if place == EffectEnds && hook != nil {
				hook()
			}
		})
	}))
	return client
}

package boundary_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary/internal/misbehaving"
	"github.com/mrtr-go/sdk/internal/probe"
)

// leastMisbehaviours are tried on each of tools, prompts and resources.
const leastMisbehaviours = 125

var eras = []probe.Era{probe.Modern, probe.Legacy}

// With a boundary every misbehaviour, in each era and over each transport, ends
// in exactly one well-formed answer of the kind the table names, the next call
// works, and one server process lives through all of them.
func TestEveryMisbehaviourGetsOneAnswer(t *testing.T) {
	t.Parallel()
	require.NotEmpty(t, transports)
	for _, tr := range transports {
		for _, era := range eras {
			t.Run(fmt.Sprintf("%s/%s", tr.name, era), func(t *testing.T) {
				t.Parallel()
				release := make(chan struct{})
				defer close(release)
				cases := misbehaving.Cases(release)
				require.GreaterOrEqual(t, len(cases), leastMisbehaviours)
				server, err := misbehaving.Bounded(cases)
				require.NoError(t, err)
				ctx := t.Context()
				client, shut, err := tr.open(ctx, era, server)
				require.NoError(t, err)
				defer shut()
				for _, place := range misbehaving.Places {
					cases := misbehaving.In(place, cases)
					require.GreaterOrEqual(t, len(cases), leastMisbehaviours)
					for _, c := range cases {
						v := runAt(ctx, client, place, era, c)
						outcome, kind := c.WantedAt(place, era)
						require.Empty(t, v.Fault, "%s %s: %s", place, c.Name, c.Explanation)
						require.Equal(t, outcome, v.Outcome, "%s %s: %s", place, c.Name, c.Explanation)
						if kind != "" {
							require.Equal(t, kind, v.Type, "%s %s: %s", place, c.Name, c.Explanation)
						}
					}
					t.Logf("%s: %d misbehaviours, %d well-formed answers", place, len(cases), len(cases))
				}
			})
		}
	}
}

// Once the handlers that hang are released, no goroutine is left: the bubble fails the
// test if one outlives it.
func TestNothingLeaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		cases := misbehaving.Cases(release)
		server, err := misbehaving.Bounded(cases)
		require.NoError(t, err)
		client, shut, err := openMemory(t.Context(), probe.Modern, server)
		require.NoError(t, err)
		for _, place := range misbehaving.Places {
			for _, c := range misbehaving.In(place, cases) {
				require.Empty(t, runAt(t.Context(), client, place, probe.Modern, c).Fault, "%s %s", place, c.Name)
			}
		}
		close(release)
		shut()
	})
}

package boundary_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary/internal/misbehaving"
	"github.com/mrtr-go/sdk/internal/probe"
)

const leastMisbehaviours = 50

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
				for _, c := range cases {
					v := run(ctx, client, era, c)
					outcome, kind := c.Wanted(era)
					require.Empty(t, v.Fault, "%s: %s", c.Name, c.Explanation)
					require.Equal(t, outcome, v.Outcome, "%s: %s", c.Name, c.Explanation)
					if kind != "" {
						require.Equal(t, kind, v.Type, "%s: %s", c.Name, c.Explanation)
					}
				}
				t.Logf("%d misbehaviours, %d well-formed answers", len(cases), len(cases))
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
		for _, c := range cases {
			require.Empty(t, run(t.Context(), client, probe.Modern, c).Fault, c.Name)
		}
		close(release)
		shut()
	})
}

package boundary_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary/probe"
)

const leastMisbehaviours = 50

var eras = []probe.Era{probe.Modern, probe.Legacy}

// With a boundary every misbehaviour, in each era and over each transport, ends
// in exactly one well-formed answer of the kind the table names, the next call
// works, and one server process lives through all of them.
func TestEveryMisbehaviourGetsOneAnswer(t *testing.T) {
	require.GreaterOrEqual(t, len(misbehaviours), leastMisbehaviours)
	require.NotEmpty(t, transports)
	for _, tr := range transports {
		for _, era := range eras {
			t.Run(fmt.Sprintf("%s/%s", tr.name, era), func(t *testing.T) {
				ctx := t.Context()
				w, shut, err := tr.open(ctx, era, false)
				require.NoError(t, err)
				defer shut()
				s, err := probe.Open(ctx, w, era)
				require.NoError(t, err)
				for _, m := range misbehaviours {
					v := m.run(ctx, s, w)
					outcome, kind := m.wanted(era)
					require.Empty(t, v.Fault, "%s: %s", m.name, m.explanation)
					require.Equal(t, outcome, v.Outcome, "%s: %s", m.name, m.explanation)
					if kind != "" {
						require.Equal(t, kind, v.Type, "%s: %s", m.name, m.explanation)
					}
				}
			})
		}
	}
}

// The same table against a bare go-sdk server in a process of its own, which is
// started again whenever it dies. The counts are the SDK's, so only their
// direction is held: were the SDK to mend itself, the boundary would have less
// to do.
func TestTheSameTableAgainstBareSDK(t *testing.T) {
	for _, era := range eras {
		var dead, lost, malformed int
		var report strings.Builder
		for _, v := range bareTable(t, era) {
			switch {
			case v.Dead:
				dead++
			case v.Lost:
				lost++
			case v.Fault != "":
				malformed++
			}
			if v.Fault != "" {
				fmt.Fprintf(&report, "  %s\n", v)
			}
		}
		t.Logf("bare go-sdk over stdio, %s: %d of %d misbehaviours end badly: %d kill the process, %d get no answer, %d a malformed one. With the boundary none does.\n%s",
			era, dead+lost+malformed, len(misbehaviours), dead, lost, malformed, report.String())
		require.Positive(t, dead+lost+malformed, "a bare server on which nothing ends badly: the table tests nothing")
	}
}

func bareTable(t *testing.T, era probe.Era) []verdict {
	var verdicts []verdict
	for len(verdicts) < len(misbehaviours) {
		w, shut, err := openStdio(t.Context(), era, true)
		require.NoError(t, err)
		s, err := probe.Open(t.Context(), w, era)
		require.NoError(t, err)
		for alive := true; alive && len(verdicts) < len(misbehaviours); {
			v := misbehaviours[len(verdicts)].runBare(t.Context(), s)
			verdicts = append(verdicts, v)
			alive = !v.Dead
		}
		shut()
	}
	return verdicts
}

// When all is over and the handlers that hang are let go, nothing is left: the
// bubble fails the test if a goroutine in it outlives it.
func TestNothingLeaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		released = make(chan struct{})
		w, shut, err := openMemory(t.Context(), probe.Modern, false)
		require.NoError(t, err)
		s, err := probe.Open(t.Context(), w, probe.Modern)
		require.NoError(t, err)
		for _, m := range misbehaviours {
			require.Empty(t, m.run(t.Context(), s, w).Fault, m.name)
		}
		close(released)
		shut()
	})
	released = make(chan struct{})
}

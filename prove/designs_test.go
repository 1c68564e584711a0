package prove_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/prove"
)

// The designs of the bare tool, beside its own: each is as right.
const (
	numbered  = "results have a number of their own"
	freshKeys = "questions have other keys in each round"
	worded    = "questions name their call"
	failingNo = "a decline is an error result"
	signed    = "the state is a JSON Web Token"
	opaque    = "the state is a random handle"
)

var designs = []string{numbered, freshKeys, worded, failingNo, signed, opaque}

// No rule condemns a design that the specification leaves to the server.
func TestRightDesignsAreNotCondemned(t *testing.T) {
	for _, design := range designs {
		t.Run(design, func(t *testing.T) {
			report := provedOf(t, design, "", strict)
			for _, f := range report.Findings {
				legible := design == signed && f.Rule.Name == "state/legible"
				require.Equal(t, legible, f.Outcome == prove.Note, f.String())
				require.NotEqual(t, prove.Fail, f.Outcome, f.String())
			}
		})
	}
}

// outOfReach are the mistakes that a design does not have, or that show as another one there.
var outOfReach = map[string][]string{
	// Nobody knows the keys of a question before it is asked.
	freshKeys: {"round/asked-ahead", "round/swapped", "state/left-out", "answer/no-map"},
	// Two equal rounds have the same token.
	signed: {"round/old-round"},
}

// A mistake is found behind each design as behind any other: here behind one, nightly behind all.
func TestAMistakeIsFoundBehindEachDesign(t *testing.T) {
	require.NotEmpty(t, breaking)
	for i, design := range designs {
		for j, b := range breaking {
			if !nightly && j%len(designs) != i {
				continue
			}
			t.Run(design+"/"+b.rule, func(t *testing.T) {
				t.Parallel()
				f := of(t, provedOf(t, design, b.rule, strict, b.rule), b.rule)
				found := f.Outcome == prove.Fail || f.Outcome == prove.Note
				require.Equal(t, !slices.Contains(outOfReach[design], b.rule), found, f.String())
			})
		}
	}
}

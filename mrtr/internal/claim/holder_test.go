package claim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr/internal/claim"
	"github.com/mrtr-go/sdk/store"
)

// A holder that cannot tell whether its write was done looks for its own name in the
// record. No two claims have the same one, whichever table of the store made them.
func TestEveryClaimHasANameOfItsOwn(t *testing.T) {
	memory := store.NewMemory(nil)
	for _, s := range []store.Store{memory, elsewhere{memory}} {
		seen := map[string]bool{}
		for range 2 {
			table := claim.New(claim.Options{Store: s})
			for range 100 {
				seen[table.NewHolder()] = true
			}
			table.Close()
		}
		require.Len(t, seen, 200)
	}
}

// elsewhere is a store whose records outlive the process.
type elsewhere struct{ store.Store }

func (elsewhere) Scope() store.Scope { return store.Cluster }

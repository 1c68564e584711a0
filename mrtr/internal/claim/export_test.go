package claim

import (
	"strconv"

	"github.com/mrtr-go/sdk/store"
)

const MaxSightings = maxSightings

// CountSightings is how many sightings are kept of that many turns.
func CountSightings(turns int) int {
	var s sightings
	for i := range turns {
		s.note(store.Key{Name: strconv.Itoa(i)}, 1)
	}
	return len(s.of)
}

// NewHolder names a claim.
func (t *Table) NewHolder() string { return t.newHolder() }

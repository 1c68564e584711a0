package claim

import (
	"strconv"
	"time"

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

// SilenceAfter is how long a turn is taken for silent at the last of these looks, each of
// them a pause after the one before.
func SilenceAfter(pause time.Duration, looks ...store.Revision) time.Duration {
	var s sightings
	var since time.Time
	for i, at := range looks {
		if i > 0 {
			time.Sleep(pause)
		}
		since = s.note(store.Key{Name: "turn"}, at)
	}
	return time.Since(since)
}

package claim

import (
	"time"

	"github.com/mrtr-go/sdk/store"
)

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
		since = s.Note(store.Key{Name: "turn"}, at)
	}
	return time.Since(since)
}

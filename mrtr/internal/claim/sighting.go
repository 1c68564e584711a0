package claim

import (
	"time"

	"github.com/mrtr-go/sdk/internal/sighting"
	"github.com/mrtr-go/sdk/store"
)

// sightings hold since when each running turn has been at the revision that was seen last.
type sightings = sighting.Log[store.Key, store.Revision]

// silence is how long the holder has not written. A record that is older than its
// lease by any clock needs no watching.
func (t *Table) silence(key store.Key, at store.Revision, r *record) time.Duration {
	since := t.seen.Note(key, at)
	if time.Since(r.written) > r.lease+2*t.Skew {
		return r.lease
	}
	return time.Since(since)
}

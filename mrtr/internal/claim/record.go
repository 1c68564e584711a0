package claim

import (
	"encoding/json"
	"time"

	"github.com/mrtr-go/sdk/internal/jsontext"
)

// recordFormat is the version of the encoding. A record of another version is not
// read: its turn is refused as if the store were down.
const recordFormat = 1

type status string

const (
	// running: the holder runs the turn, and writes the record again every third of
	// a lease.
	running status = "running"
	// sent: the turn is left to the instance that holds its handler, with a letter. Without
	// one that instance does not have it, and whoever comes next goes on.
	sent status = "sent"
	// free: the holder let go of the turn. Whoever comes next goes on.
	free status = "free"
	// done: the turn has its result.
	done status = "done"
)

// record is all that the store keeps of a turn.
type record struct {
	status      status
	fingerprint string    // of the answers; "" while a free turn binds nobody
	holder      string    // one claim of one request
	written     time.Time // in whole seconds
	lease       time.Duration
	notes       bool // the holder notes its effects, so that another can go on
	cutOff      int  // the runs before this one that ended without a word
	effects     json.RawMessage
	result      json.RawMessage // of a turn that is done; empty where it was not kept
	letter      json.RawMessage // of one that is sent
}

func (r *record) appendTo(b []byte) []byte {
	w := jsontext.Begin(b, "v", recordFormat)
	w.Text("status", string(r.status))
	w.Text("for", r.fingerprint)
	w.Text("by", r.holder)
	w.Number("at", int(r.written.Unix()))
	w.Number("lease", int(r.lease.Milliseconds()))
	w.Flag("notes", r.notes)
	w.Number("cut", r.cutOff)
	w.Raw("effects", r.effects)
	w.Raw("result", r.result)
	w.Raw("letter", r.letter)
	return w.End()
}

func readRecord(b []byte) (r record, _ error) {
	in, format := jsontext.Open(b, "v")
	r.status = status(in.Text("status"))
	r.fingerprint = in.Text("for")
	r.holder = in.Text("by")
	r.written = time.Unix(int64(in.Number("at")), 0)
	r.lease = time.Duration(in.Number("lease")) * time.Millisecond
	r.notes = in.Flag("notes")
	r.cutOff = in.Number("cut")
	r.effects = in.Raw("effects")
	r.result = in.Raw("result")
	r.letter = in.Raw("letter")
	if format != recordFormat || !in.End() {
		return record{}, errOtherRelease
	}
	return r, nil
}

// freed is the record of a turn that its holder lets go of. One that has done
// nothing binds nobody to its answers.
func (r record) freed() record {
	r.status, r.result, r.letter = free, nil, nil
	if len(r.effects) == 0 {
		r.fingerprint = ""
	}
	return r
}

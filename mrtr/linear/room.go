package linear

import (
	"strconv"

	"github.com/mrtr-go/sdk/internal/callerror"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/sse/era"
)

// Principals share the room, and a call that needs a frame is let in before it runs.

// holding is how much is held.
type holding struct{ places, bytes int }

func (h holding) plus(other holding) holding {
	return holding{h.places + other.places, h.bytes + other.bytes}
}

func (h holding) minus(other holding) holding {
	return holding{h.places - other.places, h.bytes - other.bytes}
}

// exceeds returns an error if there is no room for more in what may be held at most. A zero
// request always fits, and so does any in a limit of zero, which is none.
func (h holding) exceeds(most, more holding) error {
	switch {
	case more.places > 0 && most.places > 0 && h.places+more.places > most.places:
		return &mrtr.Error{Reason: mrtr.Busy, Detail: strconv.Itoa(most.places)}
	case more.bytes > 0 && most.bytes > 0 && h.bytes+more.bytes > most.bytes:
		return &mrtr.Error{Reason: mrtr.Busy, Detail: strconv.Itoa(most.bytes) + " bytes"}
	}
	return nil
}

// share is what all callers hold, or those of one principal.
type share struct {
	holding
	idle runList // the frames that can be dropped, the coldest first
}

// needsFrame reports whether the call can go on in a held handler alone.
func (r *run) needsFrame() bool { return r.how.parks && !r.how.replays }

// canBeDropped reports whether the call of a parked run loses nothing with it. That of a legacy
// client is bound to a request that is open here, and ends with it.
func (r *run) canBeDropped() bool { return r.how.replays && r.modern }

// enter counts a new run in. One that needs a place to go on after its first question is refused
// here if there is none, before it has done anything.
func (t *frames) enter(r *run) error {
	weight := r.weigh()
	t.mu.Lock()
	if t.closed || t.drains && r.needsFrame() {
		t.mu.Unlock()
		return r.notEntered()
	}
	var dropped []*run
	var full error
	if r.needsFrame() {
		dropped, full = t.makeRoom(r, weight)
	}
	if full == nil {
		t.running.push(r)
		t.countFirst(r, 1)
	}
	t.mu.Unlock()
	letGo(dropped, "another call needs its room", &mrtr.Error{Reason: mrtr.FrameGone})
	return full
}

// notEntered is the answer to a request that came while the server shuts down. It has done
// nothing, and can be sent to another instance as it is, unless it is a legacy client's later
// round, which nobody can send again.
func (r *run) notEntered() error {
	if c := r.own.Call(); c.Client().Era == era.Legacy && c.Round() > 1 {
		return &mrtr.Error{Reason: mrtr.ShuttingDown}
	}
	return callerror.ShuttingDown()
}

// makeRoom makes room for a run of this weight. The caller lets go of the frames that it hands
// out, and holds t.mu.
func (t *frames) makeRoom(r *run, weight int) (dropped []*run, full error) {
	more := holding{bytes: weight - r.weight} // a run without a place has no weight yet
	if !r.placed {
		more.places = 1
	}
	bounds := [...]struct {
		*share
		most holding
	}{{t.all, holding{t.limits.MaxFrames, t.limits.MaxFrameBytes}}, {t.shareOf(r.principal), t.mostOf(r.principal)}}
	for _, b := range bounds { // before anything is dropped
		kept := b.holding
		if !t.drains { // a drain waits for its frames, and not for a call that is dropped
			kept = kept.minus(b.idle.holding)
		}
		if full := kept.exceeds(b.most, more); full != nil {
			return nil, full
		}
	}
	for i := len(bounds) - 1; i >= 0; i-- {
		for b := bounds[i]; b.exceeds(b.most, more) != nil; {
			coldest := b.idle.first
			t.unpark(coldest)
			t.count(coldest, holding{}.minus(holding{1, coldest.weight}))
			coldest.placed, coldest.weight = false, 0
			dropped = append(dropped, coldest)
		}
	}
	return dropped, nil
}

// mostOf is what one principal may hold. Callers that nobody knows are no one principal.
func (t *frames) mostOf(principal string) holding {
	if principal == "" {
		return holding{}
	}
	return holding{places: min(max(t.limits.MaxFrames/100, 10), t.limits.MaxFrames)}
}

// shareOf is the share of a principal, which count notes once it holds something.
func (t *frames) shareOf(principal string) *share {
	if s := t.of[principal]; s != nil {
		return s
	}
	return &share{idle: runList{by: byHeatOfOwn}}
}

// count counts what a run holds more; negative values give it back. The caller holds t.mu.
func (t *frames) count(r *run, more holding) {
	t.all.holding = t.all.plus(more)
	own := t.shareOf(r.principal)
	own.holding = own.plus(more)
	t.of[r.principal] = own
	if own.places == 0 {
		delete(t.of, r.principal)
	}
}

// countFirst counts a run without a place that will need one. The caller holds t.mu.
func (t *frames) countFirst(r *run, n int) {
	if r.needsFrame() {
		t.first += n
	}
}

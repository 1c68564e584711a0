package durable

import (
	"context"
	"encoding/json"
	"time"

	"github.com/mrtr-go/sdk/mrtr/internal/claim"
	"github.com/mrtr-go/sdk/mrtr/keep"
	"github.com/mrtr-go/sdk/mrtr/listen"
)

// progress follows the outcomes of a call from that of its first turn: to the last one, or to the
// turn that waits for its user.
func (k *Keeper) progress(ctx context.Context, t keep.Turn, result []byte) (p progress, _ error) {
	for ; ; p.seen++ {
		p.last = result
		next, ok := t.First.Next(result)
		if !ok {
			p.over = true
			return p, nil
		}
		p.until = next.Until
		key, _ := k.key(t, next.Turn)
		standing, outcome, err := k.turns.Standing(ctx, key, next.Waits, t.Handler)
		switch {
		case err != nil:
			return p, err
		case standing == claim.Done:
			result = outcome
			continue
		case standing == claim.Lost:
			p.lost = true
		case standing == claim.Running:
			p.runs = !next.Waits // and no state opens that would join it
		case standing == claim.Unclaimed:
			p.late = !next.Waits
			p.gone = !p.late && !t.First.Held(result)
		}
		p.left = p.lost || p.runs || p.late || p.gone
		p.over = p.left
		return p, nil
	}
}

// progress is how far a call has come.
type progress struct {
	seen  int // turns that had their questions
	until time.Time
	last  []byte // outcome
	over  bool
	left  bool // it is over before its end, because:
	late  bool // its user never answered
	gone  bool // the handler is not held any more that would go on with it
	lost  bool // its last turn was cut off
	runs  bool // its last turn runs, and its states open no more
}

// isOver reports whether the call is over that began with an equal request, and whether it was left
// after its first turn.
func (n *notes) isOver(ctx context.Context, result json.RawMessage) (over, left bool, _ error) {
	p, err := n.k.progress(ctx, n.t, result)
	n.joins = p
	return p.over, p.left && p.seen == 0, err
}

// join answers a first request with the questions of the call that an equal one began, or with the
// end of the call, if the client has a key for it.
func (n *notes) join(a claim.Answer) (keep.Outcome, error) {
	p := n.joins
	if n.t.First.Keyed {
		var err error
		if p, err = n.k.progress(n.w, n.t, a.Result); err != nil {
			return keep.Outcome{}, n.k.refused(n.w, n.t, err, false)
		}
	}
	if p.runs {
		return keep.Outcome{}, n.k.refused(n.w, n.t, claim.ErrInFlight, false)
	}
	o := n.t.Handler.Read(a.Result)
	switch {
	case p.lost:
		o = n.t.Handler.Cut(nil)
	case p.over:
		o = n.t.Handler.Read(p.last)
	}
	o.Repeated, o.Joins = true, &keep.Joins{Seen: p.seen, Until: p.until, Late: p.late}
	n.k.tell(n.w, n.t, listen.Entry{Kind: Joined, Key: a.Call, Err: o.Err})
	return o, nil
}

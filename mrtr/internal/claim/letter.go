package claim

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/mrtr-go/sdk/store"
)

// Letter leaves a turn to the instance that holds its handler.
type Letter struct {
	To    string          // the name of its inbox
	Frame string          // of the handler
	Text  json.RawMessage // the request
	told  bool            // its notice is in the inbox
}

// address makes the claim one that leaves the turn to the instance of its letter, if that
// one is alive.
func (h *Held) address(ctx context.Context) error {
	if h.turn.Letter == nil {
		return nil
	}
	listens, err := h.table.listens(ctx, h.inbox())
	if err == nil && listens {
		h.record.status, h.record.letter = sent, h.turn.Letter.Text
	} else {
		h.keep()
	}
	return err
}

// keep makes the claim one that runs the turn here.
func (h *Held) keep() { h.record.status, h.record.letter, h.turn.Letter = running, nil, nil }

func (h *Held) inbox() store.Key {
	return store.Key{Epoch: h.turn.Key.Epoch, Name: h.turn.Letter.To}
}

// send leaves a turn that its holder let go of, while the handler is held, to its instance.
func (h *Held) send(ctx context.Context, r *record, at store.Revision) (again bool, _ error) {
	h.turn.Letter.told = false
	again, err := h.replace(ctx, r, at)
	if errors.Is(err, store.ErrTooLarge) {
		h.keep()
		return false, nil
	}
	h.sent = h.sent || err == nil && !again
	return again, err
}

// announce puts the notice of the letter into the inbox, once. The letter of another
// request is announced too: that one may have died before.
func (h *Held) announce(ctx context.Context) error {
	letter := h.turn.Letter
	if letter == nil || letter.told {
		return nil
	}
	listens, err := h.table.notify(ctx, h.inbox(), Notice{Turn: h.turn.Key, Frame: letter.Frame})
	switch {
	case err != nil:
		return err
	case !listens:
		h.turn.Letter = nil
	default:
		letter.told = true
	}
	return nil
}

// Delivery is a letter as it stands in the record of its turn.
type Delivery struct {
	Text   json.RawMessage
	key    store.Key
	record record
	at     store.Revision
	taken  bool // TakeUp was called
	// Lost: another instance has run the turn, or runs it. The handler is good for nothing.
	Lost bool
}

// Fingerprint identifies the answers in the letter, as its sender judged them.
func (d *Delivery) Fingerprint() string { return d.record.fingerprint }

// Fetch reads the letter that a notice is about. It is nil where there is none any more:
// then lost reports whether the turn runs, or has run, without it.
func (t *Table) Fetch(ctx context.Context, n Notice) (d *Delivery, lost bool) {
	until := time.Now().Add(t.Patience)
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		r, at, err := t.look(ctx, n.Turn)
		switch {
		case err == nil && r.status == sent && r.letter != nil:
			return &Delivery{Text: r.letter, key: n.Turn, record: r, at: at}, false
		case err == nil && r.status != free, errors.Is(err, store.ErrForgotten):
			return nil, err == nil && !t.isOwn(&r)
		}
		if t.pause(ctx, pause, until) != nil { // Get lags behind
			return nil, false
		}
	}
}

// TakeUp claims a turn that was left to this instance.
func (t *Table) TakeUp(ctx context.Context, turn Turn, d *Delivery) (Answer, error) {
	if d.record.fingerprint != turn.Fingerprint {
		return Answer{}, ErrOtherwise
	}
	d.taken = true
	answer, again, err := t.takeOver(ctx, t.newHeld(turn), &d.record, d.at)
	if again {
		err = ErrInFlight
	}
	if err != nil {
		now, _, failed := t.look(t.detached(ctx), turn.Key)
		d.Lost = failed == nil && now.status != sent && !t.isOwn(&now)
	}
	answer.TookOver = false
	return answer, err
}

// Return gives back a letter that was not taken up, so that nobody waits for that.
func (t *Table) Return(ctx context.Context, d *Delivery, expires time.Time) {
	if d.taken {
		return
	}
	h := &Held{table: t, turn: Turn{Key: d.key, Expires: expires}, record: d.record, at: d.at}
	h.record.letter = nil
	_ = h.update(t.detached(ctx)) // else its sender takes the turn over after a lease
}

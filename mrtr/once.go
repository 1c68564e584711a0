package mrtr

import (
	"context"
	"encoding/json"

	"github.com/mrtr-go/sdk/internal/jsontext"
)

// Once runs an effect, an action that must not happen twice, and remembers its
// value under key. Asked for again in the same call, also in a later round, the
// effect does not run and Once returns the value.
//
//	booking, err := mrtr.Once(ctx, c, "book", func(ctx context.Context, idem string) (Booking, error) {
//		return desk.Book(ctx, idem, place)
//	})
//
// The same line without Once, above a guard or between two questions of journaled
// code, runs again in every round.
//
//   - The value is always returned as it is after encoding it as JSON and decoding
//     it, the first time as well as later.
//   - Effects are matched by key, not by position. In a loop, give each turn a key of
//     its own.
//   - idem is the same in every attempt at this effect of this call: pass it
//     on to systems that honour idempotency keys.
//   - An error is not remembered: the effect counts as not having happened,
//     and runs when it is asked for again. Code that is replayed ([Journal],
//     [Resumable]) meets the error's text again on its way there.
//   - The same key while it is running is a [UsageError]. So is a question
//     asked by linear code while an effect runs.
//   - A value that cannot be encoded is a UsageError, now and whenever it is
//     asked for again: the effect did run, and does not run twice.
//
// A client that cannot be asked is found out when a question is asked: effects
// above the first question have run by then, unless [HandlerOptions] Needs name it.
//
// The promise is "once along one chain of states". A client that sends the same
// state twice, on purpose or for a lost response, gets the effects after that state
// twice; a state that only the client holds cannot prevent that.
func Once[T any](ctx context.Context, c *Call, key string, f func(ctx context.Context, idem string) (T, error)) (T, error) {
	var none T
	if err := checkKey(key); err != nil {
		return none, err
	}
	value, ok, err := c.begin(key)
	if err != nil {
		return none, err
	}
	if ok {
		return decodeEffect[T](value, key)
	}
	var ran *entry
	defer func() { c.finish(key, ran) }() // also when f panics or is unwound
	v, err := f(ctx, c.ID()+"."+key)
	if err != nil {
		ran = c.failed(key, err)
		return none, err
	}
	ran = &entry{kind: effectEntry, key: key}
	if ran.value, err = json.Marshal(v); err != nil {
		return none, afterEffect{misuse("effect %q ran, but its value cannot be remembered: %v", key, err)}
	}
	return decodeEffect[T](ran.value, key)
}

func decodeEffect[T any](value json.RawMessage, key string) (v T, _ error) {
	var none T
	if len(value) == 0 {
		return none, afterEffect{misuse("effect %q ran, but its value could not be remembered", key)}
	}
	if err := json.Unmarshal(value, &v); err != nil {
		return none, afterEffect{misuse("effect %q ran, but its value is not a %T: %v", key, none, err)}
	}
	return v, nil
}

// begin finds the remembered value of an effect, or marks it as running.
func (c *Call) begin(key string) (value json.RawMessage, ok bool, _ error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.linear != nil {
		if err := c.linear.failure(c, key); err != nil {
			return nil, false, err
		}
	}
	for i := range c.st.done {
		if e := &c.st.done[i]; e.kind.isEffect() && e.key == key {
			if c.linear != nil {
				c.linear.claim(key)
			}
			return e.value, true, nil
		}
	}
	if c.linear != nil {
		if err := c.linear.mayRun(c, key); err != nil {
			return nil, false, err
		}
	}
	if _, running := c.running[key]; running {
		return nil, false, misuse("effect %q is already running: each needs a key of its own", key)
	}
	if c.running == nil {
		c.running = map[string]int{}
	}
	c.running[key] = len(c.st.done)
	return nil, false, nil
}

// failed is the entry of an effect that failed: only code that will be replayed up
// to here has one.
func (c *Call) failed(key string, err error) *entry {
	if c.linear == nil || !c.linear.how.replays {
		return nil
	}
	return &entry{kind: failedEntry, key: key, value: jsontext.AppendString(nil, err.Error())}
}

// finish records the outcome of an effect; ran is nil where there is none to
// remember. The effects that ran meanwhile become part of it, and code that
// replays it need not ask for them. A failure inside an effect is part of it too.
func (c *Call) finish(key string, ran *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	began := c.running[key]
	delete(c.running, key)
	if ran == nil || ran.kind == failedEntry && len(c.running) > 0 {
		return
	}
	c.st.nest(began)
	c.st.record(*ran)
	switch {
	case c.linear == nil:
	case ran.kind == failedEntry:
		c.linear.meet(key)
	default:
		c.linear.claim(key)
	}
}

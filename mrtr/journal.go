package mrtr

import (
	"encoding/json"
	"maps"
	"runtime"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mrtr-go/sdk/internal/usage"
	"github.com/mrtr-go/sdk/mrtr/internal/failure"
)

// journal is the position of linear code in the history of its call: the answers
// it has read, in their order, and the effects it has asked for, by their keys.
// Code that asks for something else than the history has next has changed since.
// The fields are guarded by the lock of the handler's call.
type journal struct {
	cursor  int             // answers read
	claimed map[string]bool // effects run or read
	failed  map[string]int  // failures of effects met, by key
}

// replay gives the handler its answers in the order in which it asked. It is false
// at the first question without an answer. It ends the run at a question that
// differs from the one asked there before.
func (r *linearRun) replay(c *Call, specs []*spec) (answered bool, err error) {
	c.mu.Lock()
	if r.ending {
		c.mu.Unlock()
		runtime.Goexit()
	}
	answered, diverged := r.match(c, specs)
	if diverged == nil && !answered {
		err = r.mayAsk(c, specs)
		r.waiting = err == nil
	}
	c.mu.Unlock()
	if diverged != nil {
		r.unwind(diverged)
	}
	return answered, err
}

// resumed reads past the answers that a parked handler was woken with. They belong
// to the questions it waits at, since its frame's token goes with those alone, so
// that their wording need not be compared.
func (r *linearRun) resumed(c *Call, specs []*spec) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.ending {
		runtime.Goexit()
	}
	for _, sp := range specs {
		e := c.st.done.answer(sp.key)
		if e == nil {
			return misuse("question %q: its handler was woken without an answer", sp.key)
		}
		e.mean(sp)
	}
	r.cursor += len(specs)
	return nil
}

// match compares the questions with the answers in the state. The caller holds c.mu.
func (r *linearRun) match(c *Call, specs []*spec) (answered bool, diverged error) {
	matched, read, first := 0, 0, 0
	for i := range c.st.done {
		e := &c.st.done[i]
		if e.kind != answerEntry || c.hides(e) {
			continue
		}
		if read++; read <= r.cursor {
			continue
		}
		sp := specs[matched]
		if e.key != sp.key {
			return false, c.diverged("question %q is asked where %q was", sp.key, e.key)
		}
		if matched == 0 {
			first = i
		}
		if e.wording() != sp.digest() && c.phase != stopping {
			if c.mayGoBack(first) {
				c.goBack(first, specs)
				r.cursor -= matched
				return false, r.unclaimed(c)
			}
			return false, c.notWorded(e.key)
		}
		e.mean(sp)
		r.cursor++
		if matched++; matched == len(specs) {
			return true, nil
		}
	}
	if matched > 0 {
		return false, c.diverged("question %q is asked along with others, where it was not", specs[matched].key)
	}
	return false, r.unclaimed(c)
}

// mayAsk reports why a question must not be asked now: its key is taken, or an
// effect is running, and a round cannot end in the middle of that. The caller
// holds c.mu.
func (r *linearRun) mayAsk(c *Call, specs []*spec) error {
	for _, sp := range specs {
		if c.st.done.answer(sp.key) != nil {
			return twice(sp.key, "questions")
		}
	}
	if err := c.otherWords(specs); err != nil {
		return err
	}
	if c.running.any() {
		effect := slices.Min(slices.Collect(maps.Keys(c.running.keys())))
		return misuse("question %q is asked while effect %q is running: ask before it, or after", specs[0].key, effect)
	}
	return nil
}

// mayRun reports why an effect that is not in the journal must not run: the handler
// waits or is ending, or answers are left to replay, and the earlier rounds had no
// such effect before them. The caller holds c.mu.
func (r *linearRun) mayRun(c *Call, key string) error {
	switch {
	case r.ending:
		return misuse("effect %q does not run: its handler has ended, or is being unwound", key)
	case r.waiting:
		return misuse("effect %q does not run: its handler is waiting for an answer", key)
	}
	answers := 0
	for i := range c.st.done {
		if c.st.done[i].kind == answerEntry {
			answers++
		}
	}
	if r.cursor < answers {
		r.ending = true
		r.err = c.diverged("effect %q is run where there was none", key)
		return r.err
	}
	return nil
}

// failure returns the next failure of an effect that an earlier round met and this
// one has not, or panics with it where it was a panic. The caller holds c.mu.
func (r *linearRun) failure(c *Call, key string) error {
	met := 0
	for i := range c.st.done {
		e := &c.st.done[i]
		if e.kind != failedEntry || e.key != key {
			continue
		}
		if met++; met > r.failed[key] {
			r.countFailure(key)
			failed, err := failure.Read(e.value)
			if err != nil {
				return c.diverged("the failure of effect %q cannot be read", key)
			}
			return replayError(failed)
		}
	}
	return nil
}

func (r *linearRun) countFailure(key string) {
	if r.failed == nil {
		r.failed = map[string]int{}
	}
	r.failed[key]++
}

// unclaimed returns an error for an effect that ran in an earlier round and that the
// handler, having come as far, did not ask for. The caller holds c.mu.
func (r *linearRun) unclaimed(c *Call) error {
	for i := range c.st.done {
		if e := &c.st.done[i]; e.kind == effectEntry && !e.free && !r.claimed[e.key] {
			return c.noLongerRun(e)
		}
	}
	return nil
}

// unread returns an error for an answer or effect of an earlier round that the
// handler came to its end without. The caller holds c.mu.
func (r *linearRun) unread(c *Call) error {
	read := 0
	for i := range c.st.done {
		if e := &c.st.done[i]; e.kind == answerEntry {
			if read++; read > r.cursor {
				return c.diverged("question %q is no longer asked", e.key)
			}
		}
	}
	return r.unclaimed(c)
}

// claim notes that the handler ran, or read, an effect. The caller holds c.mu.
func (r *linearRun) claim(key string) {
	if r.claimed == nil {
		r.claimed = map[string]bool{}
	}
	r.claimed[key] = true
}

// failureOf is the record of the error or the panic of an effect. The author gets the
// error that replayError makes of it, when the effect fails and when it is replayed: so that the
// code takes the same way both times.
func failureOf(err error) (f *failure.Failure) {
	unread := guard(func() error {
		if p, ok := err.(*PanicError); ok {
			f = failure.OfPanic(p.Value).ReadBack()
		} else {
			f = failure.Of(err).ReadBack()
		}
		return nil
	})
	if unread != nil {
		return failure.OfPanic(badMethod)
	}
	return f
}

// replayError returns the error, or panics if it was a panic.
func replayError(f *failure.Failure) error {
	if f.Panic {
		panic(&PanicError{Value: f.PanicValue(f.Text)})
	}
	return f.Err()
}

// go-sdk, or a layer outside, knows these errors by their type.
func init() {
	failure.Keep[*jsonrpc.Error](nil, nil)
	failure.Keep(func(err *UsageError) json.RawMessage {
		text, _ := json.Marshal(err.Error())
		return text
	}, func(value json.RawMessage) (*UsageError, bool) {
		text, err := readJSON[string](value)
		return usage.Recorded(text), err == nil
	})
}

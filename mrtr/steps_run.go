package mrtr

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
)

// stepList is a list of steps that was built, and does not change any more.
type stepList[In, Out any] struct {
	steps       []step[In]
	end         func(ctx context.Context, at *At[In]) (Out, error)
	fingerprint string
}

// print is the fingerprint of a list: of the keys, kinds, types and order of its
// steps.
func (l *stepList[In, Out]) print() string {
	h := sha256.New()
	for _, s := range l.steps {
		h.Write([]byte(s.key + "\x00" + string(s.kind) + "\x00" + s.typ.String() + "\x00"))
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:9])
}

// always are the questions that every call comes to, unless an earlier step ends it.
func (l *stepList[In, Out]) always() (specs []*spec) {
	for _, s := range l.steps {
		if s.always != nil {
			specs = append(specs, s.always)
		}
	}
	return specs
}

// enter goes through the list from where the state says the call stands.
func (l *stepList[In, Out]) enter(ctx context.Context, c *Call, in In) (*IncompleteResult, Out, error) {
	var none Out
	if c.st.round > 1 && c.st.steps != l.fingerprint {
		return nil, none, c.diverged("its list of steps")
	}
	c.st.useSteps(l.fingerprint)
	at := &At[In]{Call: c, In: in, steps: l.steps, values: make([]stepValue, len(l.steps))}
	if err := l.load(at); err != nil {
		return nil, none, err
	}
	var questions []AnyQuestion
	for i, s := range l.steps {
		if len(questions) > 0 && s.kind != alsoKind {
			break
		}
		if at.values[i].happened {
			continue
		}
		c.observe(ctx, Event{Kind: HandlerEntered, Handler: s.key})
		spec, err := l.take(ctx, at, i)
		if err != nil {
			return nil, none, err
		}
		if spec != nil {
			questions = append(questions, spec)
		}
	}
	if len(questions) > 0 {
		return Need(questions...), none, nil
	}
	c.observe(ctx, Event{Kind: HandlerEntered, Handler: endKey})
	out, err := l.end(ctx, at)
	return nil, out, err
}

// load reads the values of the steps that have happened.
func (l *stepList[In, Out]) load(at *At[In]) error {
	for i := range l.steps {
		s := &l.steps[i]
		for j := range at.Call.st.done {
			e := &at.Call.st.done[j]
			switch {
			case e.kind == answerEntry && s.ask != nil && e.key == s.key:
			case e.kind != answerEntry && e.key == s.filed():
			default:
				continue
			}
			v := stepValue{happened: true, skipped: e.kind == skippedEntry}
			if !v.skipped {
				var err error
				if v.value, err = s.decode(e); err != nil {
					return at.Call.diverged("the value of step %q is of another type", s.key)
				}
			}
			at.values[i] = v
		}
	}
	return nil
}

// filed is the key of a step's own value in the state: none that a Once inside
// the step could have.
func (s *step[In]) filed() string { return "step:" + s.key }

// take runs step i. It returns the question to ask, or records the value.
func (l *stepList[In, Out]) take(ctx context.Context, at *At[In], i int) (*spec, error) {
	s := &l.steps[i]
	var v any
	var err error
	e := entry{kind: knownEntry, key: s.filed()}
	if s.kind == doKind {
		e.kind = effectEntry
		v, err = s.do(ctx, at, at.Call.ID()+"/"+s.key)
	} else {
		var sp *spec
		if sp, v, err = s.ask(ctx, at); sp != nil {
			return sp, nil
		}
	}
	value := stepValue{happened: true}
	switch {
	case errors.Is(err, ErrSkip):
		e.kind, value.skipped = skippedEntry, true
	case err != nil:
		return nil, err
	default:
		if e.value, err = json.Marshal(v); err == nil {
			value.value, err = s.decode(&e)
		}
		if err != nil {
			err = misuse("the value of step %q cannot be remembered: %v", s.key, err)
			if s.kind == doKind {
				err = afterEffect{err}
			}
			return nil, err
		}
	}
	at.values[i] = value
	at.Call.record(e)
	return nil, nil
}

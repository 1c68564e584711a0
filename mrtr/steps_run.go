package mrtr

import (
	"context"
	"encoding"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/mrtr-go/sdk/mrtr/internal/digest"
)

// stepList is a list of steps that was built, and does not change any more.
type stepList[In, Out any] struct {
	steps  []step[In]
	end    func(ctx context.Context, at *At[In]) (Out, error)
	stops  []stepStop[In]
	detach map[int]bool
	name   string   // the fingerprint
	prints []string // of the list's beginnings, by their length
}

// print makes the fingerprints of the list's beginnings: of the keys, kinds and order of
// their steps, and of the forms of their types.
func (l *stepList[In, Out]) print() {
	var text []byte
	l.prints = append(l.prints, digest.Short(text))
	for _, s := range l.steps {
		text = append(text, s.key+"\x00"+string(s.kind)+"\x00"...)
		text = append(appendShape(text, s.typ, nil), 0)
		l.prints = append(l.prints, digest.Short(text))
	}
}

// fingerprint names the list in a state: its length, and the print of all of it.
func (l *stepList[In, Out]) fingerprint() string {
	return strconv.Itoa(len(l.steps)) + "." + l.prints[len(l.steps)]
}

// continues reports whether the list is one that a state names, or that with more steps
// behind it.
func (l *stepList[In, Out]) continues(fingerprint string) bool {
	length, print, _ := strings.Cut(fingerprint, ".")
	n, err := strconv.Atoi(length)
	return err == nil && n >= 0 && n < len(l.prints) && l.prints[n] == print
}

// difference is the error of a list that does not go on from the state. It names the change
// if the state shows it: the state has the steps that were taken, and of the others only
// the fingerprint. A state of another style has no steps.
func (l *stepList[In, Out]) difference(c *Call) error {
	if c.st.steps == "" {
		return c.diverged("its list of steps")
	}
	taken := make([]bool, len(l.steps))
	for i := range c.st.done {
		e := &c.st.done[i]
		key, filed := strings.CutPrefix(e.key, stepPrefix)
		if !filed && e.kind != answerEntry {
			continue
		}
		at := slices.IndexFunc(l.steps, func(s step[In]) bool { return s.key == key })
		if at < 0 {
			return c.diverged("step %q is gone from its list of steps", key)
		}
		taken[at] = true
		if e.kind.isEffect() {
			if lost := c.lost(e.value, reflect.New(l.steps[at].typ).Interface()); lost != "" {
				return c.diverged("the value of step %q %s", key, lost)
			}
		}
	}
	if first := slices.Index(taken, false); first >= 0 && slices.Contains(taken[first:], true) {
		return c.diverged("step %q now comes before steps that were taken", l.steps[first].key)
	}
	return c.diverged("its list of steps")
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
	if c.st.round > 1 && !l.continues(c.st.steps) {
		return nil, none, l.difference(c)
	}
	c.st.useSteps(l.name)
	at := &At[In]{Call: c, In: in, steps: l.steps, values: make([]stepValue, len(l.steps))}
	if err := l.load(at); err != nil {
		return nil, none, err
	}
	l.stopping(at)
	if c.phase == stopping {
		return nil, none, nil
	}
	again := c.walk == walked
	c.walk = walking
	var questions []AnyQuestion
	for i, s := range l.steps {
		if len(questions) > 0 && s.kind != alsoKind {
			break
		}
		if l.detach[i] {
			Detach(ctx)
		}
		if at.values[i].happened {
			holds, err := again, error(nil)
			if !holds {
				holds, err = l.holds(ctx, at, i)
			}
			if err != nil {
				return nil, none, err
			}
			if holds {
				continue
			}
			at.values[i] = stepValue{}
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
	c.walk = walked
	if len(questions) > 0 {
		return Need(questions...), none, nil
	}
	if l.detach[len(l.steps)] {
		Detach(ctx)
	}
	return l.finish(ctx, at)
}

// finish runs the end. With a store it is an effect like a step, since it may have
// some: it is not run again where nobody knows whether it ran.
func (l *stepList[In, Out]) finish(ctx context.Context, at *At[In]) (_ *IncompleteResult, out Out, err error) {
	const filed = stepPrefix + endKey
	c := at.Call
	if c.inDoubt(filed) {
		c.doubt(ctx, endKey)
		return nil, out, c.unknown(filed)
	}
	if err := c.journalStart(ctx, openEffect(filed, false)); err != nil {
		return nil, out, err
	}
	c.observe(ctx, Event{Kind: HandlerEntered, Handler: endKey})
	out, err = l.end(ctx, at)
	if err != nil && !ofUnknownOutcome(ctx, err) {
		c.journalDrop(openEffect(filed, false))
	}
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
			case e.kind.isValue() && e.key == s.filed():
			default:
				continue
			}
			e.noteRead()
			v, err := s.value(e)
			if err != nil {
				return at.Call.diverged("the value of step %q is of another type", s.key)
			}
			at.values[i] = v
		}
	}
	return nil
}

// holds reports whether the answer to step i was given to the question that the step
// asks today. One to another question is asked for again, unless later steps
// were taken because of it: then the call has diverged.
func (l *stepList[In, Out]) holds(ctx context.Context, at *At[In], i int) (bool, error) {
	s, c, digest := &l.steps[i], at.Call, at.values[i].digest
	if digest == "" || !s.yesOrNo() && c.st.version == c.target.version {
		return true, nil
	}
	c.observe(ctx, Event{Kind: HandlerEntered, Handler: s.key})
	registered := c.hooks
	sp, _, err := s.ask(ctx, at)
	c.hooks = registered // the step has been taken, and is not taken again
	switch {
	case err != nil && !errors.Is(err, ErrSkip):
		return false, err
	case sp == nil:
		return false, c.diverged("question %q is no longer asked", s.key)
	case sp.digest() == digest:
		return true, nil
	}
	if !l.goBack(at, i) {
		return false, c.notWorded(s.key)
	}
	return false, nil
}

// goBack forgets the steps that were taken because of the answer to step i, those
// behind the ones that are asked along with it. It is false where one of them did
// something or may have, and where any followed from a yes.
func (l *stepList[In, Out]) goBack(at *At[In], i int) bool {
	next := i + 1
	for next < len(l.steps) && l.steps[next].kind == alsoKind {
		next++
	}
	c := at.Call
	followed := false
	for j := next; j < len(l.steps); j++ {
		if at.values[j].happened && !l.steps[j].free() {
			if followed = true; l.steps[j].kind == doKind || l.steps[i].yesOrNo() {
				return false
			}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if followed && !c.mayGoBack(c.st.done.answerAt(l.steps[i].key)) || c.st.done.hasEffectOn(l.steps[i].key) {
		return false
	}
	for j := next; j < len(l.steps); j++ {
		if at.values[j].happened && !l.steps[j].free() {
			at.values[j] = stepValue{}
			c.st.forgetStep(l.steps[j].key, l.steps[j].filed())
		}
	}
	return true
}

// free reports whether the step does something that stands whatever the answers.
func (s *step[In]) free() bool { return s.kind == doKind && s.once.anyAnswers() }

// yesOrNo reports whether the step's answer may be a person's consent, which is held
// against its question in every round. Other questions are made again only after a
// deployment: within one, their choices may change between two rounds.
func (s *step[In]) yesOrNo() bool {
	t := s.typ
	if isReply(t) {
		t = t.Field(0).Type
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Bool
}

// filed is the key of a step's own value in the state: none that a Once inside
// the step could have.
func (s *step[In]) filed() string { return stepPrefix + s.key }

const stepPrefix = "step:"

// take runs step i. It returns the question to ask, or records the value.
func (l *stepList[In, Out]) take(ctx context.Context, at *At[In], i int) (*spec, error) {
	s := &l.steps[i]
	e := entry{kind: knownEntry, key: s.filed()}
	if s.kind == doKind {
		if err := s.run(ctx, at, &e); err != nil {
			return nil, err
		}
	} else {
		sp, v, err := s.ask(ctx, at)
		switch {
		case sp != nil:
			return sp, nil
		case errors.Is(err, ErrSkip):
			e.kind = skippedEntry
		case err != nil:
			return nil, err
		default:
			if e.value, err = json.Marshal(v); err != nil {
				return nil, misuse("the value of step %q cannot be remembered: %v", s.key, err)
			}
		}
		at.Call.record(e)
	}
	var err error
	if at.values[i], err = s.value(&e); err != nil {
		return nil, misuse("the value of step %q is not a %s: %v", s.key, s.typ, err)
	}
	return nil, nil
}

// value is what an entry of the state holds of the step.
func (s *step[In]) value(e *entry) (v stepValue, err error) {
	v = stepValue{happened: true, skipped: e.kind == skippedEntry, digest: e.wording()}
	if !v.skipped {
		v.value, err = s.decode(e)
	}
	return v, err
}

// run runs a doing step, and returns the entry that was recorded of it.
func (s *step[In]) run(ctx context.Context, at *At[In], e *entry) error {
	c := at.Call
	run := effectRun{call: c, key: s.filed(), step: true, free: s.once.anyAnswers()}
	c.mu.Lock()
	idem := c.runs(run.key, "/", run.free)
	c.mu.Unlock()
	_, err := runEffect(ctx, &run, idem, s.once, func(ctx context.Context, idem string) (any, error) { return s.do(ctx, at, idem) })
	if err != nil && run.outcome.kind != skippedEntry {
		return unmarked(err)
	}
	*e = run.outcome
	return nil
}

// appendShape writes the form in which a type is encoded as JSON, with the names and
// package paths of the types in it, so that a value is not read as another type that
// happens to fit. The types in around are being written, and are not entered again.
func appendShape(b []byte, t reflect.Type, around []reflect.Type) []byte {
	if t.Name() != "" {
		b = strconv.AppendQuote(b, t.PkgPath()+"."+t.Name())
	}
	b = append(b, t.Kind().String()...)
	if slices.Contains(around, t) || encodesItself(t) {
		return b
	}
	around = append(around[:len(around):len(around)], t)
	switch t.Kind() {
	case reflect.Array:
		b = strconv.AppendInt(b, int64(t.Len()), 10)
		b = appendShape(append(b, '['), t.Elem(), around)
	case reflect.Pointer, reflect.Slice:
		b = appendShape(append(b, '['), t.Elem(), around)
	case reflect.Map:
		b = appendShape(append(b, '['), t.Key(), around)
		b = appendShape(append(b, ','), t.Elem(), around)
	case reflect.Struct:
		b = append(b, '{')
		for i := range t.NumField() {
			f := t.Field(i)
			if !f.IsExported() && !f.Anonymous || f.Tag.Get("json") == "-" {
				continue // JSON does not carry it
			}
			b = append(b, f.Name...)
			b = strconv.AppendQuote(append(b, ' '), f.Tag.Get("json"))
			b = append(appendShape(append(b, ' '), f.Type, around), ';')
		}
		b = append(b, '}')
	}
	return b
}

// encodesItself reports whether the form of a type is that of a method.
func encodesItself(t reflect.Type) bool {
	for _, own := range []reflect.Type{reflect.TypeFor[json.Marshaler](), reflect.TypeFor[encoding.TextMarshaler]()} {
		if t.Implements(own) || t.Kind() != reflect.Interface && reflect.PointerTo(t).Implements(own) {
			return true
		}
	}
	return false
}

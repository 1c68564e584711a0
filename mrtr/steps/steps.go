// Package steps builds a handler from named steps: some ask, some do, one ends. A doing step runs
// once, and so does the end. The function that makes a question may run again: a yes is held
// against its question in every round, and any answer after a deployment.
//
// A list has no loops: its keys say where a call stands, so they have to be known before the
// first call. Build the steps of a loop with a Go loop, up to the largest number that makes
// sense, and have those that are not needed return [mrtr.ErrSkip].
//
//	var list steps.List[In, Out]
//	place := steps.Ask(&list, "place", whichPlace)
//	hold := steps.Do(&list, "hold", func(ctx context.Context, at *steps.At[In], idem string) (string, error) {
//		return desk.Hold(ctx, idem, place.Of(at))
//	})
//	list.End(func(ctx context.Context, at *steps.At[In]) (Out, error) { return report(place.Of(at), hold.Of(at)), nil })
//	style, err := list.Build()
package steps

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"

	"github.com/mrtr-go/sdk/internal/usage"
	"github.com/mrtr-go/sdk/mrtr"
)

// List is a list of steps in the making. The zero value is ready to use.
type List[In, Out any] struct {
	steps []*step[In]
	end   func(ctx context.Context, at *At[In]) (Out, error)
	ends  int
	undos []mrtr.Undoing
	// detach has the steps at which the call becomes a task, by their index. They are no part of
	// the list's shape, so that a call goes on when one is added.
	detach map[int]bool
}

// step is a step without the type of its value.
type step[In any] struct {
	key      string
	asks     bool
	together *bool // it asks in the round of the asking step before it
	typ      reflect.Type
	free     bool             // it does something that stands whatever the answers are
	wrong    error            // a mistake that is found before the call
	always   mrtr.AnyQuestion // of a step that asks the same in every call
	load     func(p *mrtr.Pass) (value, error)
	take     func(ctx context.Context, at *At[In], v *value) (mrtr.AnyQuestion, error)
	holds    func(ctx context.Context, at *At[In]) (holds bool, q mrtr.AnyQuestion, _ error)
}

// value is the outcome of a step.
type value struct {
	happened, skipped bool
	answered          bool // by a user
	of                any
}

// prefix begins the keys under which a list files its own values: none that an author's effect
// could have.
const (
	styleName = "step"
	prefix    = styleName + ":"
)

// Question is the function that makes the question of a step. One that is [mrtr.Known] gives the
// value at once; [mrtr.ErrSkip] passes the step over.
type Question[In, T any] func(ctx context.Context, at *At[In]) (mrtr.Question[T], error)

// Ask adds a step that asks. Its question's key must be the step's.
func Ask[In, Out, T any](b *List[In, Out], key string, question Question[In, T]) Step[T] {
	together := new(bool)
	s := &step[In]{key: key, asks: true, together: together, typ: reflect.TypeFor[T](), load: loadAsk[T](key)}
	if question != nil {
		a := asking[In, T]{key, question}
		s.take, s.holds = a.take, a.holds
	}
	return add[In, Out, T](b, s)
}

// Always adds a step that asks q in every call, under its key. A client that cannot be asked q is
// refused before the first step runs.
func Always[In, Out, T any](b *List[In, Out], q mrtr.Question[T]) Step[T] {
	s := Ask(b, q.Key(), func(context.Context, *At[In]) (mrtr.Question[T], error) { return q, nil })
	added := b.steps[s.index]
	if added.wrong = q.Err(); added.wrong == nil {
		added.always = q
	}
	return s
}

// Effect is the function of a step that does something. idem is that of [mrtr.Once].
type Effect[In, T any] func(ctx context.Context, at *At[In], idem string) (T, error)

// Do adds a step that does something, once: its value is remembered, and later steps read it as
// it is after a round trip through JSON. [mrtr.ErrSkip] passes the step over. The
// options are those of [mrtr.Once].
// A failed call names it among the effects that stand, so a lookup is none: its place is the
// function that needs the value.
func Do[In, Out, T any](b *List[In, Out], key string, f Effect[In, T], opts ...*mrtr.EffectOptions[T]) Step[T] {
	s := &step[In]{key: key, typ: reflect.TypeFor[T](), load: loadDo[T](key)}
	s.free = len(opts) == 1 && opts[0] != nil && opts[0].AnyAnswers
	if len(opts) > 1 {
		s.wrong = misuse("effect %q has %d EffectOptions: put all of them into one", key, len(opts))
	}
	if f != nil {
		s.take = func(ctx context.Context, at *At[In], v *value) (mrtr.AnyQuestion, error) {
			return nil, takeDo(ctx, at, key, v, f, opts)
		}
	}
	return add[In, Out, T](b, s)
}

func add[In, Out, T any](b *List[In, Out], s *step[In]) Step[T] {
	b.steps = append(b.steps, s)
	return Step[T]{index: len(b.steps) - 1, key: s.key, together: s.together}
}

// Step is a step's place in its list, and the way to its value.
type Step[T any] struct {
	index    int
	key      string
	together *bool
}

// Together makes the step ask in the same round as the asking step before it, so it cannot see
// that step's answer.
func (s Step[T]) Together() Step[T] {
	if s.together == nil {
		panic(misuse("step %q asks nothing, and has nothing to ask together with others", s.key))
	}
	*s.together = true
	return s
}

// Of is the step's value, the zero value if it was skipped. Reading a step that has not happened
// yet ends the call with a [mrtr.UsageError] that names the step.
func (s Step[T]) Of(at values) T {
	v := at.at(s.index, s.key)
	if !v.happened {
		panic(misuse("step %q is read before it happened", s.key))
	}
	own, _ := v.of.(T) // nil where it was skipped, or T is an interface
	return own
}

// Skipped reports whether the step was skipped.
func (s Step[T]) Skipped(at values) bool { return at.at(s.index, s.key).skipped }

// values is an At of any input.
type values interface{ at(i int, key string) value }

// At is the position of a call in its list. A step's function reads the input and the values of
// earlier steps from it.
type At[In any] struct {
	Call *mrtr.Call
	In   In

	pass   *mrtr.Pass
	steps  []*step[In]
	values []value
	asked  map[string]mrtr.AnyQuestion // in this round, however often the list is entered
}

func (at *At[In]) at(i int, key string) value {
	if i >= len(at.steps) || at.steps[i].key != key {
		panic(misuse("step %q is not one of this list", key))
	}
	return at.values[i]
}

// OnStop undoes what a doing step did when the call ends without completing, as
// [mrtr.Style.OnStop] does for an effect. With u.InDoubt it may never have happened.
func OnStop[In, Out, T any](b *List[In, Out], s Step[T], undo mrtr.UndoFunc[T]) {
	b.undos = append(b.undos, mrtr.UndoOf(s.key, undo))
}

// Detach makes the call a task where it comes to the step that is added next, or to the end: see
// [mrtr.Call.Detach].
func (b *List[In, Out]) Detach() {
	if b.detach == nil {
		b.detach = map[int]bool{}
	}
	b.detach[len(b.steps)] = true
}

// End adds the one function that makes the result, or returns [mrtr.Stop] if nothing is done.
func (b *List[In, Out]) End(f func(ctx context.Context, at *At[In]) (Out, error)) {
	b.end = f
	b.ends++
}

// endKey stands for the end where an event names a step.
const endKey = "end"

// Build checks the list and makes it a style: each step needs a key of its own, which is not
// "end", a question of a type that a form can ask for, and there is one End. A list that cannot
// work is a [mrtr.UsageError].
func (b *List[In, Out]) Build() (none mrtr.Style[In, Out], _ error) {
	if b.end == nil || b.ends != 1 {
		return none, misuse("steps need exactly one End")
	}
	seen := map[string]bool{}
	var always []mrtr.AnyQuestion
	for i, s := range b.steps {
		if err := b.check(i, seen); err != nil {
			return none, err
		}
		seen[s.key] = true
		if s.always != nil && s.always.Key() != "" {
			always = append(always, s.always)
		}
	}
	for i, u := range b.undos {
		if !slices.ContainsFunc(b.steps, func(s *step[In]) bool { return s.key == u.Key() && !s.asks }) {
			return none, misuse("OnStop undoes %q, which is no doing step of the list", u.Key())
		}
		if slices.ContainsFunc(b.undos[:i], func(other mrtr.Undoing) bool { return other.Key() == u.Key() }) {
			return none, misuse("key %q stands for two undos: each needs a key of its own", u.Key())
		}
	}
	l := newList(b)
	return mrtr.Style[In, Out]{
		Enter: l.enter, Print: l.prints[len(l.steps)], Continues: l.continues, Differs: l.differs,
		Replays: true, Again: true, Asks: always, Undos: b.undos,
	}, nil
}

// check returns an error for a step that cannot work.
func (b *List[In, Out]) check(i int, seen map[string]bool) error {
	s := b.steps[i]
	if s.wrong != nil {
		return s.wrong
	}
	if err := usage.CheckKey(s.key); err != nil {
		return err
	}
	switch {
	case s.key == endKey:
		return misuse("a step cannot have the key %q: that is the End", endKey)
	case seen[s.key]:
		return misuse("key %q stands for two steps: each needs a key of its own", s.key)
	case s.take == nil:
		return misuse("step %q has no function", s.key)
	case s.isTogether() && (i == 0 || !b.steps[i-1].asks):
		return misuse("step %q is asked together with none: put it behind an asking step", s.key)
	case s.asks && !canAsk(s.typ, s.key):
		return misuse("step %q: a form cannot ask for a %s", s.key, s.typ)
	}
	return nil
}

func (s *step[In]) isTogether() bool { return s.together != nil && *s.together }

// MustBuild is Build for lists that are part of the program: it panics where the list cannot work.
func (b *List[In, Out]) MustBuild() mrtr.Style[In, Out] {
	s, err := b.Build()
	if err != nil {
		panic(err)
	}
	return s
}

func readJSON[T any](text json.RawMessage) (v T, err error) {
	err = json.Unmarshal(text, &v)
	return v, err
}

func misuse(format string, args ...any) error { return usage.New("mrtr", format, args...) }

package mrtr

import (
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr/internal/form"
)

// Steps builds a handler from named steps: some ask, some do, one ends. A doing
// step runs once, and so does the end. The function that makes a question may run again:
// an answer is held against the question that it was given to, in every round where it
// is a yes or no, and after a deployment ([HandlerOptions.Version]) for all others. An
// answer to other words is asked for again, with the questions that followed; it ends
// the call with [Diverged] if a later step did something because of it, or it was a yes
// and any followed. [AskQuestion] is for a question that needs no
// function.
//
// A list has no loops: its keys say where a call stands, so that they have to be known
// before the first call. Build the steps of a loop with a Go loop, up to the largest
// number that makes sense, and have those that are not needed return [ErrSkip]. Where
// no such number is known, write the tool in [Native] style, with a key for each turn,
// or as linear code. The zero value is ready to use:
//
//	var b mrtr.Steps[In, Out]
//	place := mrtr.AskStep(&b, "place", whichPlace)
//	fare := mrtr.DoStep(&b, "fare", func(ctx context.Context, at *mrtr.At[In], idem string) (int, error) {
//		return desk.Quote(ctx, idem, place.Of(at))
//	})
//	b.End(func(ctx context.Context, at *mrtr.At[In]) (Out, error) { return report(place.Of(at), fare.Of(at)), nil })
//	style, err := b.Build()
type Steps[In, Out any] struct {
	steps []step[In]
	end   func(ctx context.Context, at *At[In]) (Out, error)
	ends  int
	stops []stepStop[In]
	// detach has the steps at which the call becomes a task, by their index. They are none
	// of the list's shape, so that a call goes on when one is added.
	detach map[int]bool
}

// step is a step without the type of its value.
type step[In any] struct {
	key  string
	kind stepKind
	typ  reflect.Type
	// wrong is a mistake in the question or the options that is found before the call.
	wrong error
	// always is the question of a step that asks the same in every call, else nil.
	always *spec
	// ask makes the question of an asking step: its spec, or its value if
	// nobody has to be asked.
	ask func(ctx context.Context, at *At[In]) (*spec, any, error)
	// do runs a doing step.
	do func(ctx context.Context, at *At[In], idem string) (any, error)
	// once says what to do about an earlier attempt of unknown outcome.
	once *EffectOptions[any]
	// decode reads the value back from the state, where it is an answer or a value.
	decode func(e *entry) (any, error)
}

type stepKind string

const (
	askKind  stepKind = "ask"
	alsoKind stepKind = "also"
	doKind   stepKind = "do"
)

// AskStep adds a step that asks. Its question's key must be the step's, or the
// call ends with a [UsageError] when it comes to it; [AskQuestion] lets Build find
// that. A question that is [Known]
// gives the value at once; [ErrSkip] passes the step over.
func AskStep[In, Out, T any](b *Steps[In, Out], key string, question func(ctx context.Context, at *At[In]) (Question[T], error)) Step[T] {
	return addAsk(b, key, askKind, question)
}

// AskQuestion adds a step that always asks q, or has its value if q is [Known].
// Build refuses a q that is malformed or has another key than the step. A client that
// cannot be asked q is refused before the first step runs ([HandlerOptions]).
func AskQuestion[In, Out, T any](b *Steps[In, Out], key string, q Question[T]) Step[T] {
	s := AskStep(b, key, func(context.Context, *At[In]) (Question[T], error) { return q, nil })
	added := &b.steps[s.index]
	if added.wrong = q.Err(); added.wrong == nil && q.spec != nil {
		added.always = q.spec
		if q.spec.key != key {
			added.wrong = anotherKey(key, q.spec.key)
		}
	}
	return s
}

func anotherKey(step, question string) error {
	return misuse("step %q asks a question with another key, %q", step, question)
}

// AskAlso adds a step that asks in the same round as the asking step before
// it, and so cannot see that step's answer.
func AskAlso[In, Out, T any](b *Steps[In, Out], key string, question func(ctx context.Context, at *At[In]) (Question[T], error)) Step[T] {
	return addAsk(b, key, alsoKind, question)
}

func addAsk[In, Out, T any](b *Steps[In, Out], key string, kind stepKind, question func(ctx context.Context, at *At[In]) (Question[T], error)) Step[T] {
	noteAnswerType[T]() // so that answers are judged by it before the first question is made
	s := step[In]{key: key, kind: kind, typ: reflect.TypeFor[T](), decode: func(e *entry) (any, error) {
		if e.kind == answerEntry {
			return decodeAnswer[T](e.value, e.key)
		}
		return readJSON[T](e.value)
	}}
	if question != nil {
		s.ask = func(ctx context.Context, at *At[In]) (*spec, any, error) {
			q, err := question(ctx, at)
			if err == nil {
				err = q.Err()
			}
			if err != nil {
				return nil, nil, err
			}
			if q.known != nil {
				return nil, *q.known, nil
			}
			if q.spec.key != key {
				return nil, nil, anotherKey(key, q.spec.key)
			}
			return q.spec, nil, nil
		}
	}
	return add[In, Out, T](b, s)
}

// DoStep adds a step that does something, once: its value is remembered, and later
// steps read it as it is after encoding it as JSON and decoding it.
// idem is a function of the call, the step's key and the answers before it, as that of
// [Once] is, and differs from that of a Once with the step's key. [ErrSkip] passes
// the step over. The options are those of Once.
func DoStep[In, Out, T any](b *Steps[In, Out], key string, f func(ctx context.Context, at *At[In], idem string) (T, error), opts ...*EffectOptions[T]) Step[T] {
	opt, err := effectOptions(key, opts)
	s := step[In]{key: key, kind: doKind, typ: reflect.TypeFor[T](), decode: func(e *entry) (any, error) { return readJSON[T](e.value) }}
	s.once, s.wrong = opt.untyped(), err
	if f != nil {
		s.do = func(ctx context.Context, at *At[In], idem string) (any, error) { return f(ctx, at, idem) }
	}
	return add[In, Out, T](b, s)
}

func add[In, Out, T any](b *Steps[In, Out], s step[In]) Step[T] {
	b.steps = append(b.steps, s)
	return Step[T]{index: len(b.steps) - 1, key: s.key}
}

// End adds the one function that makes the result.
func (b *Steps[In, Out]) End(f func(ctx context.Context, at *At[In]) (Out, error)) {
	b.end = f
	b.ends++
}

// Build checks the list and makes it a style: each step needs a key of its own,
// which is not "end", a question of a type that a form can ask for, and there
// is one End. A list that cannot work is a [UsageError].
func (b *Steps[In, Out]) Build() (Style[In, Out], error) {
	if b.end == nil || b.ends != 1 {
		return Style[In, Out]{}, misuse("steps need exactly one End")
	}
	if err := b.checkStops(); err != nil {
		return Style[In, Out]{}, err
	}
	seen := map[string]bool{}
	for i, s := range b.steps {
		if err := checkKey(s.key); err != nil {
			return Style[In, Out]{}, err
		}
		switch {
		case s.key == endKey:
			return Style[In, Out]{}, misuse("a step cannot have the key %q: that is the End", endKey)
		case seen[s.key]:
			return Style[In, Out]{}, twice(s.key, "steps")
		case s.ask == nil && s.do == nil:
			return Style[In, Out]{}, misuse("step %q has no function", s.key)
		case s.kind == alsoKind && (i == 0 || b.steps[i-1].kind == doKind):
			return Style[In, Out]{}, misuse("step %q is asked along with none: put it behind an asking step", s.key)
		case s.wrong != nil:
			return Style[In, Out]{}, s.wrong
		case s.ask != nil && !askable(s.typ, s.key):
			return Style[In, Out]{}, misuse("step %q: a form cannot ask for a %s", s.key, s.typ)
		}
		seen[s.key] = true
	}
	l := stepList[In, Out]{steps: append([]step[In](nil), b.steps...), end: b.end, stops: slices.Clone(b.stops), detach: maps.Clone(b.detach)}
	l.print()
	l.name = l.fingerprint()
	return Style[In, Out]{enter: l.enter, styleFacts: styleFacts{cutOff: runsAgain, needs: alwaysAsks(l.always())}}, nil
}

// checkStops returns an error for an OnStop that undoes no step, or one twice.
func (b *Steps[In, Out]) checkStops() error {
	for i, s := range b.stops {
		switch {
		case s.undo == nil:
			return misuse("the OnStop of step %q has no function", s.key)
		case !slices.ContainsFunc(b.steps, func(other step[In]) bool { return other.key == s.key && other.kind == doKind }):
			return misuse("OnStop undoes %q, which is no doing step of the list", s.key)
		case slices.ContainsFunc(b.stops[:i], func(other stepStop[In]) bool { return other.key == s.key }):
			return twice(s.key, "functions of OnStop")
		}
	}
	return nil
}

// MustBuild is [Steps.Build] for lists that are part of the program: it panics
// where the list cannot work.
func (b *Steps[In, Out]) MustBuild() Style[In, Out] {
	s, err := b.Build()
	if err != nil {
		panic(err)
	}
	return s
}

// endKey stands for the end where an event names a step.
const endKey = "end"

// askable reports whether some question can have answers of this type.
func askable(t reflect.Type, key string) bool {
	for t.Kind() == reflect.Pointer { // of an optional question, and of the client's own answers
		t = t.Elem()
	}
	if isReply(t) {
		return askable(t.Field(0).Type, key)
	}
	if t.Kind() == reflect.Map || isClientAnswer(t) || t == reflect.TypeFor[struct{}]() || form.Fillable(t) {
		return true
	}
	_, err := answerTypes.Schema(t, key)
	return err == nil
}

// isClientAnswer reports whether a type is an answer of the client itself, rather
// than of its user.
func isClientAnswer(t reflect.Type) bool {
	return t == reflect.TypeFor[mcp.CreateMessageWithToolsResult]() || t == reflect.TypeFor[mcp.ListRootsResult]() ||
		t == reflect.TypeFor[mcp.ElicitResult]()
}

func readJSON[T any](value json.RawMessage) (v T, err error) {
	err = json.Unmarshal(value, &v)
	return v, err
}

// At is the position of a call in its list of steps. A step's function reads the
// input and the values of earlier steps from it.
type At[In any] struct {
	Call *Call
	In   In

	steps  []step[In]
	values []stepValue
}

// stepValue is the outcome of a step.
type stepValue struct {
	happened, skipped bool
	value             any
	digest            string // of the question that was answered; "" for other values
}

func (at *At[In]) stepValue(i int, key string) (_ stepValue, ok bool) {
	if i >= len(at.steps) || at.steps[i].key != key {
		return stepValue{}, false
	}
	return at.values[i], true
}

func (at *At[In]) inDoubt(filed string) bool { return at.Call.ledger().inDoubt(filed) }

// Step is a step's place in the list, and the way to its value.
type Step[T any] struct {
	index int
	key   string
}

// stepValues is an At of any input.
type stepValues interface {
	stepValue(i int, key string) (_ stepValue, ok bool)
	inDoubt(filed string) bool
}

// Of is the step's value, the zero value if it was skipped. Reading a step that has
// not happened yet ends the call with a [UsageError] that names the step.
func (s Step[T]) Of(at stepValues) T {
	v := s.at(at)
	if !v.happened {
		panic(misuse("step %q is read before it happened", s.key))
	}
	value, _ := v.value.(T) // nil where it was skipped, or T is an interface
	return value
}

// Skipped reports whether the step was skipped.
func (s Step[T]) Skipped(at stepValues) bool { return s.at(at).skipped }

func (s Step[T]) at(at stepValues) stepValue {
	v, ok := at.stepValue(s.index, s.key)
	if !ok {
		panic(misuse("step %q is not one of this list", s.key))
	}
	return v
}

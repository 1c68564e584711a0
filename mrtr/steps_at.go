package mrtr

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

// Step is a step's place in the list, and the way to its value.
type Step[T any] struct {
	index int
	key   string
}

// stepValues is an At of any input.
type stepValues interface {
	stepValue(i int, key string) (_ stepValue, ok bool)
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

package kit

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/steps"
)

// Deeds counts effects by name.
type Deeds struct {
	mu   sync.Mutex
	Done map[string]int
}

// Do is an effect: it counts, and its value is its name.
func (d *Deeds) Do(name string) func(context.Context, string) (string, error) {
	return func(context.Context, string) (string, error) {
		d.Note(name)
		return name, nil
	}
}

func (d *Deeds) Note(name string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.Done == nil {
		d.Done = map[string]int{}
	}
	d.Done[name]++
	return d.Done[name]
}

func (d *Deeds) Count(name string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.Done[name]
}

var ErrClosed = errors.New("the desk is closed")

// FullError survives JSON.
type FullError struct {
	Train string `json:"train"`
}

func (e *FullError) Error() string { return e.Train + " is full" }

func (e *FullError) ToolErrorType() string { return "full" }

func (e *FullError) ToolErrorExpected() bool { return true }

func (e *FullError) ToolErrorHints() []string { return []string{"Take another train."} }

func (e *FullError) ToolErrorSelector() (string, []string) {
	return "train", []string{"IC 2"}
}

// UndoWith undoes the effect under a key, whatever there is to undo.
func UndoWith(key string, f func() error) mrtr.Undoing {
	return mrtr.UndoOf(key, func(context.Context, *mrtr.Call, mrtr.Undo[any]) error { return f() })
}

type Ticket struct {
	Seat string `json:"seat"`
	Row  int    `json:"row"`
}

type Steps = steps.List[In, Out]

type At = steps.At[In]

// Asks makes the function of an asking step.
func Asks(key string, did *Deeds) func(context.Context, *At) (mrtr.Question[string], error) {
	return func(context.Context, *At) (mrtr.Question[string], error) {
		did.Note("question " + key)
		return Text(key), nil
	}
}

// Does makes the function of a doing step, whose value is v.
func Does[T any](key string, did *Deeds, v T) func(context.Context, *At, string) (T, error) {
	return func(context.Context, *At, string) (T, error) {
		did.Note("do " + key)
		return v, nil
	}
}

func End(plan string) func(context.Context, *At) (Out, error) {
	return func(context.Context, *At) (Out, error) { return Out{Plan: plan}, nil }
}

func Build(t testing.TB, list *Steps) Style {
	t.Helper()
	style, err := list.Build()
	require.NoError(t, err)
	return style
}

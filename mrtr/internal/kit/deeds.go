package kit

import (
	"context"
	"errors"
	"sync"

	"github.com/mrtr-go/sdk/mrtr"
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

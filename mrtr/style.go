package mrtr

import (
	"context"
	"reflect"
	"runtime"
	"slices"
	"sync/atomic"
)

// A Style is a handler, written in one of the ways that the engine knows. [Tool],
// [RawTool], [Prompt] and [Resource] register it. To a client all styles are the
// same.
type Style[In, Out any] struct {
	enter  func(ctx context.Context, c *Call, in In) (*IncompleteResult, Out, error)
	legacy func(ctx context.Context, c *Call, in In) (*IncompleteResult, Out, error)
	styleFacts
}

// styleFacts are what a registration has to know of a style.
type styleFacts struct {
	replays bool // a call can go on without the frame that its state names
	cutOff  cutOff
	needs   needs
}

// cutOff is a style's way with a round that was cut off.
type cutOff int

const (
	mayRunAgain cutOff = iota // if the author says so
	runsAgain
	cannotRunAgain
)

// GuardedFunc is a handler that runs from its top in every round. It reads the
// answers it has and returns, with [Need], as soon as one is missing. The code
// above such a guard runs again in each round; the code below the last one runs in
// the last round only.
type GuardedFunc[In, Out any] func(ctx context.Context, c *Call, in In) (*IncompleteResult, Out, error)

// Native enters a guarded handler in every round. An effect above a guard belongs
// in [Once].
func Native[In, Out any](h GuardedFunc[In, Out]) Style[In, Out] {
	if h == nil {
		return Style[In, Out]{}
	}
	return Style[In, Out]{enter: func(ctx context.Context, c *Call, in In) (*IncompleteResult, Out, error) {
		if err := c.useStyle(guardedStyle); err != nil {
			var none Out
			return nil, none, err
		}
		c.ledger().observe(ctx, Event{Kind: HandlerEntered})
		return h(ctx, c, in)
	}}
}

// ByVersion serves clients of revision 2026-07-28 and later with one style,
// and legacy ones with another, which may ask over the session
// ([Question.AskOver]). A call stays in the era it began in: its state does not
// open for the other. If either style is the zero Style, so is the result.
func ByVersion[In, Out any](modern, legacy Style[In, Out]) Style[In, Out] {
	if !modern.valid() || !legacy.valid() {
		return Style[In, Out]{}
	}
	facts := styleFacts{cutOff: modern.cutOff, needs: needs{modern.needs.modern, legacy.needs.others}}
	if legacy.legacy != nil {
		return Style[In, Out]{modern.enter, legacy.legacy, facts}
	}
	return Style[In, Out]{modern.enter, legacy.enter, facts}
}

func (s Style[In, Out]) valid() bool { return s.enter != nil }

// run enters the style for this round's client.
func (s Style[In, Out]) run(ctx context.Context, c *Call, in In) (*IncompleteResult, Out, error) {
	if s.legacy != nil && !c.Modern() {
		return s.legacy(ctx, c, in)
	}
	return s.enter(ctx, c, in)
}

// The styles, as the text of [Diverged] names them. Journal and Resumable keep the
// same journal, and take up each other's calls.
const (
	guardedStyle   = "a guarded handler"
	stepsStyle     = "a list of steps"
	coroutineStyle = "a coroutine"
	journalStyle   = "journaled code"
)

// useStyle notes the style of a call that begins. It returns an error where the call
// began in another style, whose answers and effects may mean something else.
func (c *Call) useStyle(style string) error {
	if c.ledger().st.round == 1 {
		if style == journalStyle {
			c.ledger().st.useJournal()
		}
		return nil
	}
	if began := c.ledger().st.style(); began != style {
		return c.ledger().diverged("it was %s", began)
	}
	return nil
}

// style is the one in which the call began, as far as its state tells: a list of
// steps has a fingerprint, a coroutine is held, and a journal is marked.
func (st *state) style() string {
	switch {
	case st.journal:
		return journalStyle
	case st.steps != "":
		return stepsStyle
	case st.frame != "":
		return coroutineStyle
	}
	return guardedStyle
}

// onLinearRun reports whether it is called on the goroutine of a linear run, and
// not on one that the handler started: whether the stack begins with main. A
// question asked elsewhere would wait where the engine can neither wake nor
// unwind it.
func onLinearRun() bool {
	var few [8]uintptr
	pcs := few[:]
	n := runtime.Callers(3, pcs) // from await's caller on
	for n == len(pcs) {
		pcs = make([]uintptr, 8*len(pcs))
		n = runtime.Callers(3, pcs)
	}
	bottom := pcs[max(0, n-3):n] // goexit is last, a wrapper may be before it
	return slices.Contains(bottom, bodyCall.Load()) || slices.ContainsFunc(bottom, isMain)
}

// bodyCall is the one place where main calls its body, once that is known. It
// saves a search through the program's functions, and the stack for it, which
// each parked handler would keep.
var bodyCall atomic.Uintptr

func isMain(pc uintptr) bool {
	f := runtime.FuncForPC(pc - 1)
	if f == nil || f.Entry() != mainEntry {
		return false
	}
	bodyCall.Store(pc)
	return true
}

var mainEntry = reflect.ValueOf((*linearRun).main).Pointer()

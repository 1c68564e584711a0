package mrtr

import (
	"fmt"
)

// Gone ends a call whose suspended handler is no longer there to go on: it
// was evicted, the server restarted, or another instance holds it.
type Gone struct{}

func (e *Gone) Error() string {
	return "This call's frame is gone: it was held by a server that no longer has it. Call the tool again."
}

// ToolErrorType names the error for agents.
func (e *Gone) ToolErrorType() string { return "frame_gone" }

// ToolErrorExpected is true: calling again is the cure.
func (e *Gone) ToolErrorExpected() bool { return true }

// Busy refuses a call that would have to be held while too many are.
type Busy struct {
	Limit int
	Unit  string // what is counted, "" for the calls themselves
}

func (e *Busy) Error() string {
	return fmt.Sprintf("Too many calls are waiting for answers (limit %d%s). Try again later.", e.Limit, e.Unit)
}

// ToolErrorType names the error for agents.
func (e *Busy) ToolErrorType() string { return "busy" }

// ToolErrorExpected is true: waiting is the cure.
func (e *Busy) ToolErrorExpected() bool { return true }

// Diverged ends a call whose handler no longer does what it did in an earlier
// round, so that the answers and effects in its state cannot be trusted to
// mean the same.
type Diverged struct {
	What   string // the question, effect or step that changed
	Sealed string // the version of the tool that sealed the state
}

func (e *Diverged) Error() string {
	return fmt.Sprintf("The tool changed during this call: %s (begun with version %s). Call the tool again.", e.What, e.Sealed)
}

// ToolErrorType names the error for agents.
func (e *Diverged) ToolErrorType() string { return "diverged" }

// ToolErrorExpected is true: calling again is the cure.
func (e *Diverged) ToolErrorExpected() bool { return true }

// LimitExceeded ends a call that asked too often, too much at once, or
// carries more than a state may.
type LimitExceeded struct {
	What  string
	Limit int
}

func (e *LimitExceeded) Error() string {
	return fmt.Sprintf("Stopped: more than %d %s.", e.Limit, e.What)
}

// ToolErrorType names the error for agents.
func (e *LimitExceeded) ToolErrorType() string { return "limit_exceeded" }

// ToolErrorExpected is false: the tool must be changed, or its limits.
func (e *LimitExceeded) ToolErrorExpected() bool { return false }

package mrtr

import (
	"fmt"
)

// Declined ends a call whose question was answered with a no: the user
// declined, or dismissed it without an answer. Nothing is claimed about
// effects that ran before.
type Declined struct {
	Key       string
	Cancelled bool // dismissed, rather than declined
}

func (e *Declined) Error() string {
	if e.Cancelled {
		return fmt.Sprintf("Stopped: %q was cancelled.", e.Key)
	}
	return fmt.Sprintf("Stopped: %q was declined.", e.Key)
}

// ToolErrorType names the error for agents.
func (e *Declined) ToolErrorType() string {
	if e.Cancelled {
		return "cancelled"
	}
	return "declined"
}

// ToolErrorExpected is true: a no is an outcome, not a fault.
func (e *Declined) ToolErrorExpected() bool { return true }

// ToolErrorQuiet is true: nobody has to read about it in a log.
func (e *Declined) ToolErrorQuiet() bool { return true }

// Unanswered ends a call whose question was asked as often as is reasonable
// and never got an answer that fits it.
type Unanswered struct {
	Key   string
	Tries int
}

func (e *Unanswered) Error() string {
	return fmt.Sprintf("Stopped: %q was asked %d times without a usable answer.", e.Key, e.Tries)
}

// ToolErrorType names the error for agents.
func (e *Unanswered) ToolErrorType() string { return "unanswered" }

// ToolErrorExpected is true: the caller can begin again.
func (e *Unanswered) ToolErrorExpected() bool { return true }

// Refused ends a call that needs an answer from a client which cannot be
// asked for it and has no default to go on with.
type Refused struct {
	Key   string
	Needs string // the capability or the revision that is missing
}

func (e *Refused) Error() string {
	return fmt.Sprintf("This client cannot be asked for %q: it lacks %s.", e.Key, e.Needs)
}

// ToolErrorType names the error for agents.
func (e *Refused) ToolErrorType() string { return "client_cannot_be_asked" }

// ToolErrorExpected is true: another client, or other arguments, would do.
func (e *Refused) ToolErrorExpected() bool { return true }

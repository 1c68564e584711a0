package mrtr

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mrtr-go/sdk/internal/rpcerror"
)

// All sentences that advise a client are in this file. One that makes a new call is given
// only if the call has done nothing and nothing of it is in doubt. The same request may
// be sent again whatever was done: with a store it goes on, and does nothing twice.
const (
	callAgain  = " Call the tool again."
	tryLater   = " Try again later."
	sameAgain  = " Send the same request again"
	sendThose  = " Send those answers again for its result."
	atThePage  = "Whether the user was done there is unknown: " + checkFirst
	checkFirst = "do not call the tool again without checking."

	sendElsewhere = "This server is shutting down and has not begun this request: send it again as it is."
)

// sendAgain refuses a request that its client may send again as it is. to goes on with
// the sentence that says so.
func sendAgain(why, to, reason string) error {
	return rpcerror.Retryable(why+"."+sameAgain+to+".", reason)
}

// reportsEffects reports whether the error's text says what to do after the effects.
func (e *Error) reportsEffects() bool {
	switch e.Reason {
	case FrameGone, Diverged, Busy, ShuttingDown, OutcomeUnknown, ResultNotKept:
		return true
	}
	return false
}

// advice is the last sentence of a text: the other one only if nothing was done.
func (e *Error) advice(ifNothing string) string {
	if (e.Reason == FrameGone || e.Reason == OutcomeUnknown) && len(e.Unknown) == 0 {
		if len(e.Applied) == 0 {
			return " What it has done is unknown: " + checkFirst
		}
		return " " + were(e.Applied, "done") + ", and perhaps more: " + checkFirst
	}
	advice := outcome{e.Applied, e.NotUndone, e.Unknown, e.Undone}.advice()
	if len(e.Applied)+len(e.Unknown) == 0 {
		advice += ifNothing
	}
	return advice
}

// advice says what was done and was not undone, and what was.
func (o outcome) advice() (text string) {
	if len(o.undone) > 0 {
		text = " " + were(o.undone, "undone") + "."
	}
	var left []string
	if applied := slices.DeleteFunc(slices.Clone(o.applied), func(key string) bool { return slices.Contains(o.kept, key) }); len(applied) > 0 {
		left = append(left, were(applied, "done"))
	}
	if len(o.kept) > 0 {
		left = append(left, were(o.kept, "done")+" and could not be undone")
	}
	if len(o.unknown) > 0 {
		whether := "whether "
		if len(left) == 0 {
			whether = "Whether "
		}
		left = append(left, whether+were(o.unknown, "done")+" is unknown")
	}
	if len(left) > 0 {
		text += " " + strings.Join(left, "; ") + ": " + checkFirst
	}
	return text
}

func were(keys []string, done string) string {
	quoted := make([]string, len(keys))
	for i, key := range keys {
		quoted[i] = fmt.Sprintf("%q", key)
	}
	if len(keys) == 1 {
		return quoted[0] + " was " + done
	}
	return strings.Join(quoted, ", ") + " were " + done
}

package listen

import "time"

// Entry is one thing that happens in a round.
type Entry struct {
	Kind   EntryKind
	Key    string
	Doubt  bool          // of an effect: nobody knows whether it happened, or was undone
	How    string        // of an answer: [HowAccepted] and so on
	Words  string        // of an answer: identifies the words that were shown
	Reason string        // why
	Took   time.Duration // of an effect that ended, or an operation of a layer
	Err    error
}

// EntryKind says what an [Entry] is about. A keeper adds kinds of its own.
type EntryKind string

// The history of a call keeps these.
const (
	Answered EntryKind = "answer" // a question has its answer
	Happened EntryKind = "effect" // an effect happened, and the value is what it returned
	Nested   EntryKind = "nested" // likewise, inside another effect
	Failed   EntryKind = "failed" // an effect failed with an error that code which replays meets again
	Tried    EntryKind = "tried"  // an effect failed with an error that no code meets again
	Undone   EntryKind = "undone" // an effect was undone; with Doubt, it may have been
	Stands   EntryKind = "kept"   // an effect could not be undone
	Noted    EntryKind = "noted"  // a style remembers a value of its own
)

// A [Listener] hears of these too.
const (
	Refused  EntryKind = "refused"  // an answer is missing or does not fit, so its question is asked again
	Entered  EntryKind = "entered"  // a function of the author's is about to be called
	Begun    EntryKind = "begun"    // the function of an effect is about to be called
	InDoubt  EntryKind = "in doubt" // nobody can find out whether an effect happened
	Released EntryKind = "released" // a held handler was let go, and its call is not given up
	GaveUp   EntryKind = "gave up"  // nobody goes on with the call: its held handler was let go, or its time has passed
	Panicked EntryKind = "panicked" // a handler that nobody waits for any more
	Split    EntryKind = "split"    // a branch becomes a call of its own; its Key is the call that it was of
	Hidden   EntryKind = "hidden"   // a tool was left out of a tools/list
)

// How a question was answered, in [Entry.How].
const (
	HowAccepted  = "accepted"  // the user, or the client, gave an answer
	HowNo        = "no"        // the user answered a yes-or-no question with no
	HowDeclined  = "declined"  // the user declined to answer
	HowCancelled = "cancelled" // the user dismissed the question
	HowDefault   = "default"   // the client cannot be asked, and the question's Default stands in
	HowNotAsked  = "not asked" // the client cannot be asked, and there is no answer
	HowSilence   = "silence"   // nobody answered in time (mrtr.Question.Within); a Default may stand in
	HowRepeated  = "repeated"  // the answer came in a request whose round an earlier one ran
)

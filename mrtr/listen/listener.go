// Package listen is for those who write a listener: a log, a tracer, metrics, an audit. It has the
// interface, and the rounds, entries and ends that a listener is told of.
//
// The author of a tool needs none of it, and an operator who wants a log or events takes package
// observe, which is a listener. What [mrtr.Runtime.Stats] and Waiting count is described here too.
//
// [mrtr.Runtime.Stats]: https://pkg.go.dev/github.com/mrtr-go/sdk/mrtr#Runtime.Stats
package listen

import (
	"context"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/sse/era"
)

// A Listener hears of every round: when it begins, what happens in it, and how it ends. The
// round waits for it, and does not hold its locks meanwhile, so it must be quick, and safe for
// concurrent use. Its panics are ignored.
type Listener interface {
	// Began is called for each request whose state has opened. The round and its handler run
	// in the context that it returns.
	Began(ctx context.Context, r Round) context.Context
	// Heard is called for each thing that happens in a round, and for a held handler between
	// two rounds.
	Heard(ctx context.Context, r Round, e Entry)
	// Ended is called for each request, also for one that was refused before it began.
	Ended(ctx context.Context, r Round, e End)
}

// A Tracer is a Listener whose rounds have places in a trace. That of round one is sealed into
// the state, so that later rounds have it in [Round.Trace], at whatever instance they run.
type Tracer interface {
	Listener
	// Trace is the place of the round whose context Began made; "" seals none.
	Trace(ctx context.Context) string
}

// An End is how a request ended: with questions, with a result, with an error, or refused. The call
// is complete if Err is nil and it neither asks nor was stopped.
type End struct {
	Asks       []string // the keys of the questions that go out, where they are known
	StateBytes int      // of the state that goes out with them, as sealed; 0 for an end of the call
	Stopped    bool     // by mrtr.Stop
	Err        error
	Repeated   bool // it is how an earlier request ended
	// Refused is the part of the request for which it was refused, "" if it was not, and Why and
	// Cause the reason, which its client is not told. Nothing was run.
	Refused RefusedPart
	Why     string
	Cause   error
}

// RefusedPart is the part of a request for which it was refused.
type RefusedPart string

const (
	RefusedState     RefusedPart = "state"
	RefusedPrincipal RefusedPart = "principal"
	RefusedRequest   RefusedPart = "request"
	RefusedRound     RefusedPart = "round" // by the keeper, or because the server shuts down
)

// ClientLeft is the [End.Why] of a round that was not begun, and is nobody's fault.
const ClientLeft = "its client has left"

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

// Round describes the round of a request.
type Round struct {
	Call       string // the call's id; "" before its state has opened
	Intent     string // all calls that could be one have the same; "" for one that is a call of its own
	Number     int
	Method     string // tools/call, prompts/get, resources/read
	Name       string // of the tool or prompt, or the resource's address
	Principal  string
	Version    string // of the handler that the call began with
	Client     era.Client
	Request    mcp.Request
	Task       bool          // it runs for a task
	Kept       bool          // by a keeper
	HasEffects bool          // effects are remembered in this call
	Waited     time.Duration // since the questions of the round before went out
	Trace      string        // what the [Tracer] had sealed in round one
}

// NameInLog is the name as a log may show it: the address of a resource without its user, query
// and fragment, which may hold secrets, and any name cut after 256 bytes.
func (r *Round) NameInLog() string {
	const most = 256
	name := r.Name
	if r.Method == "resources/read" {
		if end := strings.IndexAny(name, "?#"); end >= 0 {
			name = name[:end]
		}
		if scheme, rest, ok := strings.Cut(name, "://"); ok {
			host, _, _ := strings.Cut(rest, "/")
			name = scheme + "://" + rest[strings.LastIndexByte(host, '@')+1:]
		}
	}
	if len(name) > most {
		return strings.ToValidUTF8(name[:most], "") + "..."
	}
	return name
}

// ClientInfo is what the client calls itself: in the request, or in the initialize of its session.
func (r *Round) ClientInfo() (own mcp.Implementation) {
	if r.Request == nil {
		return own
	}
	if params := r.Request.GetParams(); params != nil {
		switch info := params.GetMeta()[mcp.MetaKeyClientInfo].(type) {
		case map[string]any:
			own.Name, _ = info["name"].(string)
			own.Title, _ = info["title"].(string)
			own.Version, _ = info["version"].(string)
			return own
		case *mcp.Implementation:
			if info != nil {
				own = *info
			}
			return own
		}
	}
	if session, _ := r.Request.GetSession().(*mcp.ServerSession); session != nil {
		if p := session.InitializeParams(); p != nil && p.ClientInfo != nil {
			own = *p.ClientInfo
		}
	}
	return own
}

// Stats are a snapshot of a runtime, for metrics and status pages.
type Stats struct {
	// Rounds are the requests that are being served. A call of a legacy client counts while its
	// rounds run, and not while its user is asked.
	Rounds int
	// Held are the handlers that wait for an answer, and HeldBytes the memory that
	// MaxFrameBytes of mrtr.Limits bounds. Running are the linear handlers that run now.
	Held, HeldBytes, Running int
	// Orphans are the rounds that run though their clients have left.
	Orphans int
	// Draining says that the runtime drains, and Closed that it is closed.
	Draining, Closed bool
}

// Waiting counts the calls of one kind that wait for their users at this instance. A call that
// is neither held nor legacy nor a task waits at its client, and no server knows of it.
type Waiting struct {
	Method, Name string // as in a log
	Era          era.Era
	Way          string
	Calls        int
	Longest      time.Duration // since its questions went out
}

// The ways in which a server waits for a user, in [Waiting].
const (
	WayHeld   = "held"   // the handler is held, and the client has its questions
	WayLegacy = "legacy" // the client is asked while its request is open
	WayTask   = "task"   // the call is a task: see the Waiting of tasks.Manager
)

package listen

import (
	"time"

	"github.com/mrtr-go/sdk/sse/era"
)

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

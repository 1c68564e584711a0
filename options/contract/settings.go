package contract

import "github.com/mrtr-go/sdk/mrtr/mrtrtest"

// The settings in which the styles are called.
var (
	OneInstance = &mrtrtest.Options{}
	// Fresh is the hardest load balancer: no two rounds of a call reach the
	// same instance, and each instance is stopped before the next one starts.
	Fresh = &mrtrtest.Options{FreshInstances: true}
	// Legacy is a client that makes one tools/call and is asked over its
	// connection while that call is open. It never calls again, so it takes the
	// first reply for the result.
	Legacy = &mrtrtest.Options{Era: mrtrtest.Legacy}

	// AsTask is a client that takes tasks, of which every call becomes one.
	AsTask = &mrtrtest.Options{Era: mrtrtest.TakesTasks}
	// FreshTask sends each update of a task, and the polls behind it, to another instance.
	FreshTask = &mrtrtest.Options{Era: mrtrtest.TakesTasks, FreshInstances: true}

	// The clients that cannot be asked: those that declare no capability, and
	// those that offered 2026-07-28 in a handshake and were negotiated down,
	// whom go-sdk does not ask.
	SilentModern   = &mrtrtest.Options{Capabilities: "{}"}
	SilentLegacy   = &mrtrtest.Options{Era: mrtrtest.Legacy, Capabilities: "{}"}
	NegotiatedDown = &mrtrtest.Options{Era: mrtrtest.NegotiatedDown}
)

// AskingLegacy are the styles that ask a legacy client: all of them.
var AskingLegacy = []string{"native", "sse_shim", "version_branch", "two_handlers", "once", "steps", "coroutine", "journal", "given"}

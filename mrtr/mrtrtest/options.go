package mrtrtest

import (
	"strings"
	"time"

	"github.com/mrtr-go/sdk/internal/wire"
)

// Options say how a call is made. Nil, and the zero value, are a client of
// 2026-07-28 that declares everything, and one instance of the server.
type Options struct {
	// Era is that of the client.
	Era Era
	// Capabilities are those that the client declares, as a JSON object: "{}" is a client that
	// cannot be asked. Empty is a client that can be asked anything.
	Capabilities string
	// FreshInstances sends each request to an instance of its own, which is built
	// after the one before it was stopped. It is the hardest load balancer that a
	// deployment can have.
	FreshInstances bool
	// User is the UserID of the client's token, as go-sdk's auth middleware would
	// give it to the server. Empty is a client without a token.
	User string
	// Timeout bounds the call; 30 s if zero. In a bubble of testing/synctest that is
	// no time at all.
	Timeout time.Duration
}

// Era is a kind of client.
type Era int

const (
	// Modern is a client of revision 2026-07-28: it calls again with the answers.
	Modern Era = iota
	// Legacy is a client of revision 2025-11-25: it makes one request, and is asked
	// over its connection while that is open. It takes the first reply for the
	// result.
	Legacy
	// NegotiatedDown is a client that offered 2026-07-28 in a handshake, as no
	// client should. go-sdk asks it nothing.
	NegotiatedDown
	// TakesTasks is a modern client that declares the extension of tasks. It polls a call that
	// became a task, and answers its questions there; any other call goes as for Modern. Each
	// update of the task counts as a request, and polls do not. A question that the script
	// leaves open is found again by the next poll.
	TakesTasks
)

// String says it for a report: "modern client", "legacy client, fresh instances".
func (o *Options) String() string {
	if o == nil {
		o = &Options{}
	}
	words := []string{[]string{"modern client", "legacy client", "client negotiated down", "client that takes tasks"}[o.Era]}
	switch o.Capabilities {
	case "":
	case "{}":
		words = append(words, "no capabilities")
	default:
		words = append(words, "capabilities "+o.Capabilities)
	}
	if o.User != "" {
		words = append(words, "user "+o.User)
	}
	if o.FreshInstances {
		words = append(words, "fresh instances")
	}
	return strings.Join(words, ", ")
}

// wire are the options of the raw client.
func (o *Options) wire(script wire.Answers) *wire.Options {
	w := &wire.Options{Capabilities: wire.Capabilities(o.Capabilities), Answers: script}
	switch o.Era {
	case Legacy:
		w.Version = wire.Legacy
	case NegotiatedDown:
		w.Handshake = true
	case TakesTasks:
		w.TakesTasks = true
	}
	return w
}

func (o *Options) timeout() time.Duration {
	if o.Timeout == 0 {
		return 30 * time.Second
	}
	return o.Timeout
}

package invariant

import (
	"fmt"

	"github.com/mrtr-go/sdk/internal/wire"
)

// Contract is one call of the tool and all that must come of it.
type Contract struct {
	Name      string
	Tool      string
	Arguments any
	// Answers are given by the question's key: the first to the first question
	// under that key, and so on. The last one is repeated.
	Answers map[string][]wire.Answer

	Asks     []Question // all questions to the client, in order
	Requests int        // of the client, in all
	Ends     Ending
	Effects  Effects
}

// Question is a question as the client must see it.
type Question struct{ Key, Message, Schema string }

func (q Question) String() string { return fmt.Sprintf("%s: %q %s", q.Key, q.Message, q.Schema) }

// Ending is the last reply of a call: a result or, where ProtocolError is set,
// a JSON-RPC error.
type Ending struct {
	Text       string
	Structured string // JSON, compared by value
	IsError    bool

	ProtocolError string // JSON, compared by value
}

// Setting is how the calls are made.
type Setting struct {
	Name   string
	Client *wire.Options
	// FreshInstances sends each round to an instance of its own, which is built
	// after the one before it was stopped.
	FreshInstances bool
}

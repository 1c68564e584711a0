package mrtrtest

import "fmt"

// Contract is one call and its outcome, as far as it is judged.
type Contract struct {
	Name string
	Script

	Asks     []Question // all questions to the client, in order
	Requests int        // of the client, in all
	Ends     Ending
	Effects  Effects
}

func (q Question) String() string {
	return fmt.Sprintf("%s: %s %q %s%s", q.Key, q.Method, q.Message, q.Schema, q.URL)
}

// Ending is the last reply of a call: a result or, where ProtocolError is set,
// a JSON-RPC error.
type Ending struct {
	Text       string
	Structured string // JSON, compared by value
	IsError    bool

	ProtocolError string // JSON, compared by value
}

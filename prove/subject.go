package prove

import (
	"context"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Subject is the server under proof, with its abilities. All but Dial is optional:
// the rules that need a missing ability are skipped.
type Subject struct {
	// Dial opens a connection to the server.
	Dial Dial
	// Fresh dials an instance that has the same secrets and remembers nothing: a
	// second process, or the first after a restart.
	Fresh Dial
	// Stranger dials an instance of another deployment, with other secrets.
	Stranger Dial
	// Brief dials an instance whose states soon expire. Without it Dial is used.
	Brief Dial
	// Expire lets so much time pass that every state, or every state of Brief,
	// has expired.
	Expire func(ctx context.Context) error
	// Effects counts the effects that the tool has had so far, by name. A name may say with
	// what the effect happened: members NAME=VALUE behind it, with blanks between them, or a
	// JSON object. They are held against the words of the question that was agreed to.
	Effects func(ctx context.Context) (map[string]int, error)
	// Reset brings the world around the server back to where a call can be made, for a tool
	// that cannot be called twice in it. It may take the counts back too.
	Reset func(ctx context.Context) error
	// First and Other are two callers with different credentials. First makes
	// every call unless a rule says otherwise; nil sends no credentials.
	First, Other *Caller
	// Died returns why the server is gone, and nil while it is there.
	Died func() error
	// Revive starts the server again after it died, with the same secrets.
	Revive func(ctx context.Context) error
	// CrashAtEffect makes the next effect the last thing the server does before
	// all of its connections break, until it is revived.
	CrashAtEffect func(on bool)
	// Held counts the things that the server holds at this moment, such as
	// goroutines.
	Held func(ctx context.Context) (int, error)
	// HTTP says that requests and their headers can disagree.
	HTTP bool
}

// Caller is a principal. What it says of itself goes to the server's own host alone, over HTTP.
type Caller struct {
	Name   string
	Token  string      // sent as a bearer token
	Header http.Header // sent with each request
}

// Dial opens a way to the server for a caller, who may be nil.
type Dial func(ctx context.Context, who *Caller) (*Endpoint, error)

// Endpoint is a way to the server: a transport for one connection, or the URL of
// a streamable HTTP endpoint.
type Endpoint struct {
	Transport mcp.Transport
	URL       string
	HTTP      *http.Client // nil is a client of its own
	// Close, if set, is called when the client has hung up.
	Close func() error
}

// Scenario is the call that is proved.
type Scenario struct {
	Tool string
	// Arguments of the call. If nil, they are the first of the input schema's examples,
	// or are made from it.
	Arguments map[string]any
	// OtherArguments are as good, and lead to another result. If nil, and the Arguments are nil
	// too, they are made from the schema.
	OtherArguments map[string]any
	// Answers to the questions, by key or by the name of the form's only property: the value
	// of that property, or an object for the whole content. A question without one is answered with
	// values made from its schema. OtherAnswers lead to another result.
	Answers, OtherAnswers map[string]any
	// OtherTool is another tool of the server that takes the same arguments and
	// asks.
	OtherTool string
	// Times says how often a completed call has each effect. An effect that is not
	// named happens once, or not at all: name those that a call must have. Otherwise
	// a tool whose effects are not counted keeps every rule about them.
	Times map[string]int
	// Key is the member of _meta in which the server takes a key for a whole call: a call that is
	// played again under its key has its effects once, even when it has ended.
	Key string
	// Repeatable says that a round which is sent again may have its effects again: that is
	// worth a note then, and a failure otherwise.
	Repeatable bool
	// Harmless are effects that need nobody's yes, such as a log of refusals.
	Harmless []string
	// Optional are the keys of questions that may be declined or left out, after
	// which the call completes as well.
	Optional []string
}

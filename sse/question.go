package sse

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/sse/era"
)

// sender sends one question and returns its answer.
type sender = func(context.Context) (mcp.InputResponse, error)

// prepare copies the question, of a type that [era.CapabilityFor] knows: it belongs to
// the handler, which may share it among calls, and go-sdk writes to the params it is
// given.
func (r *Rounds) prepare(key string, q mcp.InputRequest) sender {
	switch q := q.(type) {
	case *mcp.ElicitParams:
		p := *q
		p.Meta = maps.Clone(p.Meta)
		p.RequestedSchema = bounded(p.RequestedSchema)
		if era.IsURL(q) && p.ElicitationID == "" {
			name := key + " " + p.URL
			if r.urlIDs[name] == "" {
				r.urlIDs[name] = rand.Text()
			}
			p.ElicitationID = r.urlIDs[name]
		}
		return func(ctx context.Context) (mcp.InputResponse, error) { return answered(r.session.Elicit(ctx, &p)) }
	case *mcp.ListRootsParams:
		var p mcp.ListRootsParams
		if q != nil {
			p.Meta = maps.Clone(q.Meta)
		}
		return func(ctx context.Context) (mcp.InputResponse, error) { return answered(r.session.ListRoots(ctx, &p)) }
	case *mcp.CreateMessageParams:
		return r.sample(withTools(q))
	default:
		return r.sample(*q.(*mcp.CreateMessageWithToolsParams))
	}
}

func (r *Rounds) sample(p mcp.CreateMessageWithToolsParams) sender {
	p.Meta = maps.Clone(p.Meta)
	return func(ctx context.Context) (mcp.InputResponse, error) {
		return answered(r.session.CreateMessageWithTools(ctx, &p))
	}
}

// answered keeps a nil pointer from becoming an answer.
func answered[R interface {
	*T
	mcp.InputResponse
}, T any](r R, err error) (mcp.InputResponse, error) {
	if err != nil || r == nil {
		return nil, err
	}
	return r, nil
}

// withTools widens a plain sampling question, so that its answer has the type
// that a modern client's answer is decoded into.
func withTools(q *mcp.CreateMessageParams) mcp.CreateMessageWithToolsParams {
	messages := make([]*mcp.SamplingMessageV2, 0, len(q.Messages))
	for _, m := range q.Messages {
		messages = append(messages, &mcp.SamplingMessageV2{Content: []mcp.Content{m.Content}, Role: m.Role})
	}
	return mcp.CreateMessageWithToolsParams{
		Meta:             q.Meta,
		IncludeContext:   q.IncludeContext,
		MaxTokens:        q.MaxTokens,
		Messages:         messages,
		Metadata:         q.Metadata,
		ModelPreferences: q.ModelPreferences,
		StopSequences:    q.StopSequences,
		SystemPrompt:     q.SystemPrompt,
		Temperature:      q.Temperature,
	}
}

// bounded states the length of a form's lists where go-sdk checks it first.
//
// Its ServerSession.Elicit holds the answer against the schema: each item of a list
// against each choice, and only then the list's length. A list of a few megabytes
// would keep a processor busy for minutes, and nothing ends that, not even its client
// hanging up. A keyword allOf is judged before the properties are, and repeats the
// lengths here.
func bounded(schema any) any {
	if schema == nil {
		return nil
	}
	text, err := json.Marshal(schema)
	if err != nil {
		return schema // Elicit reports it
	}
	var form struct {
		AllOf      json.RawMessage
		Properties map[string]struct {
			Type     any
			MaxItems *int
			Items    struct{ Enum, AnyOf []json.RawMessage }
		}
	}
	if json.Unmarshal(text, &form) != nil || form.AllOf != nil {
		return schema
	}
	lengths := map[string]any{}
	for name, p := range form.Properties {
		switch choices := len(p.Items.Enum) + len(p.Items.AnyOf); {
		case p.Type != "array":
		case p.MaxItems != nil:
			lengths[name] = map[string]int{"maxItems": *p.MaxItems}
		case choices > 0: // more items say nothing that fewer could not
			lengths[name] = map[string]int{"maxItems": choices}
		}
	}
	if len(lengths) == 0 {
		return schema
	}
	first, _ := json.Marshal([]any{map[string]any{"properties": lengths}})
	// Spliced in, because the order of the properties is that of the form's fields.
	text = append(text[:len(text)-1:len(text)-1], `,"allOf":`...)
	return json.RawMessage(append(append(text, first...), '}'))
}

// Reason says why questions could not be answered.
type Reason string

const (
	// Unreachable: the client of this request cannot be asked at all; see
	// [era.Unaskable]. Nobody was asked.
	Unreachable Reason = "unreachable"
	// Undeclared: the client did not declare the capability that a question of
	// the round needs. Nobody was asked in that round.
	Undeclared Reason = "undeclared"
	// TimedOut: the answer did not come within [BridgeOptions.AnswerTimeout].
	TimedOut Reason = "timed_out"
	// Failed: the question could not be put, or the client answered it with an
	// error, or went away.
	Failed Reason = "failed"
	// Endless: the handler asked for more rounds than the bridge allows.
	Endless Reason = "endless"
	// Malformed: the handler returned questions that no client could be sent.
	Malformed Reason = "malformed"
	// Interrupted: the call itself was cancelled or ran out of time.
	Interrupted Reason = "interrupted"
)

// Error is how a bridged call ends when its questions cannot be answered. A
// person who declines or cancels is not an error: that is an answer, and the
// handler gets it.
//
// A tool's client gets an error result with this text. A prompt or a resource
// has no error result, so its client gets a JSON-RPC error with this text: code
// -32603 where the handler is at fault (Endless, Malformed), and -31000 in every
// other case. Server middleware finds the *Error either way, by
// [mcp.CallToolResult.GetError] or [errors.As].
type Error struct {
	Reason Reason
	// Key is the question that was concerned, empty where it is none in
	// particular.
	Key string
	// Err is the cause, and may be nil. It holds the client's own error.
	Err error

	text string
}

func (e *Error) Error() string {
	text := e.text
	if e.Key != "" {
		text = fmt.Sprintf("question %q: %s", e.Key, text)
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Timeout reports whether a person took too long.
func (e *Error) Timeout() bool { return e.Reason == TimedOut }

// ToolErrorType is the reason, for code that knows errors by their methods and
// does not import this package.
func (e *Error) ToolErrorType() string { return "legacy_" + string(e.Reason) }

// ToolErrorExpected reports whether the cause lies with the client or its user.
// Where it does not, the handler is at fault and an operator should look.
func (e *Error) ToolErrorExpected() bool { return e.Reason != Endless && e.Reason != Malformed }

// ToolErrorHints are advice for the caller, if there is any.
func (e *Error) ToolErrorHints() []string {
	switch e.Reason {
	case Unreachable, Undeclared:
		return []string{"Use a client that can be asked, or one that speaks revision " + era.FirstModern + "."}
	case TimedOut, Failed:
		return []string{"Have a user ready to answer."}
	}
	return nil
}

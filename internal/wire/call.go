package wire

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Reply is a response, read: a result, complete or not, or a JSON-RPC error.
type Reply struct {
	Error *jsonrpc.Error
	// Result is the result as it was on the wire; the fields below are parts
	// of it.
	Result     json.RawMessage
	ResultType string
	Asks       []Question // of this reply, by key
	State      string
	// Task is the id of the task that asks, for a client that takes tasks.
	Task       string
	IsError    bool
	Text       string // the text contents, joined
	Structured json.RawMessage

	incomplete bool
}

// Incomplete reports whether the reply wants another round. It goes by the
// presence of inputRequests, as a lenient client does; a strict one goes by
// ResultType.
func (r *Reply) Incomplete() bool { return r.incomplete }

// Outcome is a call brought to its end.
type Outcome struct {
	Reply                // the last one
	Rounds    int        // requests sent
	Questions []Question // everything that was asked, in order
	States    []string   // every token seen, in order
	Replies   []*Reply   // of all rounds
}

// maxRounds is more than any server may ask for. It ends a test that would
// otherwise go on forever.
const maxRounds = 50

// Send makes one request and returns its reply, a JSON-RPC error included. An
// error means that there was no reply, or one that is no result of a call;
// [Client.Exchange] returns that too.
//
// A client that takes tasks has the reply of a task when it asks or has ended.
func (c *Client) Send(ctx context.Context, r Request) (*Reply, error) {
	if r.Task != "" {
		return c.answerTask(ctx, r)
	}
	res, err := c.Exchange(ctx, r)
	if err != nil {
		return nil, err
	}
	reply, err := ReadReply(res)
	if err != nil || !c.opts.TakesTasks {
		return reply, err
	}
	return c.settle(ctx, reply)
}

// Call calls a tool and goes on until the result is final.
func (c *Client) Call(ctx context.Context, tool string, arguments any, answers Answers) (*Outcome, error) {
	return c.Run(ctx, Request{Name: tool, Arguments: arguments}, answers)
}

// Run takes any request through all of its rounds.
func (c *Client) Run(ctx context.Context, r Request, answers Answers) (*Outcome, error) {
	c.mu.Lock()
	c.script = answers
	before := len(c.asked)
	c.mu.Unlock()
	out := &Outcome{}
	for {
		reply, err := c.Send(ctx, r)
		if err != nil {
			return nil, err
		}
		out.Reply = *reply
		out.Replies = append(out.Replies, reply)
		out.Questions = append(out.Questions, reply.Asks...)
		if reply.State != "" {
			out.States = append(out.States, reply.State)
		}
		if out.Rounds++; out.Rounds == maxRounds {
			return nil, fmt.Errorf("wire: no end after %d rounds", maxRounds)
		}
		// A legacy client knows no incomplete result and takes any for final.
		if !reply.Incomplete() || c.opts.Handshake {
			out.Questions = append(out.Questions, c.Asked()[before:]...)
			return out, nil
		}
		if r.Responses, err = answers.Responses(reply.Asks); err != nil {
			return nil, err
		}
		r.State, r.Task = reply.State, reply.Task
	}
}

// Responses makes the inputResponses of a round; nil if there are none, since an empty
// object is another request.
func (a Answers) Responses(questions []Question) (any, error) {
	responses := map[string]json.RawMessage{}
	for _, q := range questions {
		answer, err := a.answer(q)
		var failure *jsonrpc.Error
		if err != nil && !errors.Is(err, errSilence) && !errors.As(err, &failure) {
			return nil, fmt.Errorf("the answer to %q: %w", q.Key, err)
		}
		if answer != nil {
			responses[cmp.Or(q.numbered, q.Key)] = answer
		}
	}
	if len(responses) == 0 {
		return nil, nil
	}
	return responses, nil
}

// ReadReply reads a response. An error means that it holds no result of a call.
func ReadReply(res *jsonrpc.Response) (*Reply, error) {
	if res.Error != nil {
		wire, ok := res.Error.(*jsonrpc.Error)
		if !ok {
			return nil, res.Error
		}
		return &Reply{Error: wire}, nil
	}
	var result struct {
		ResultType    string                  `json:"resultType"`
		InputRequests map[string]inputRequest `json:"inputRequests"`
		RequestState  string                  `json:"requestState"`
		IsError       bool                    `json:"isError"`
		Structured    json.RawMessage         `json:"structuredContent"`
		Content       json.RawMessage         `json:"content"`
	}
	if err := json.Unmarshal(res.Result, &result); err != nil {
		return nil, fmt.Errorf("wire: reading the result: %w", err)
	}
	return &Reply{
		Result: res.Result, ResultType: result.ResultType, Asks: questionsOf(result.InputRequests),
		State: result.RequestState, IsError: result.IsError, Structured: result.Structured,
		Text: textOf(result.Content), incomplete: result.InputRequests != nil || result.ResultType == "input_required",
	}, nil
}

func textOf(content json.RawMessage) string {
	var items []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(content, &items) // null on input-required results
	var b strings.Builder
	for _, item := range items {
		b.WriteString(item.Text)
	}
	return b.String()
}

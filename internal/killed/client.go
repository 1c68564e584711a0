//go:build unix

package killed

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/wire"
)

const toolName = "pay"

// Client calls the tool at one server.
type Client struct{ conn *wire.Client }

// Ask begins a call and returns the request that answers its question.
func (c *Client) Ask(ctx context.Context, order string) (wire.Request, error) {
	for {
		reply, err := c.conn.Send(ctx, wire.Request{Name: toolName, Arguments: Order{order}})
		if err != nil {
			return wire.Request{}, Unanswered{err}
		}
		if reply.State != "" && reply.Incomplete() {
			return wire.Request{
				Name: toolName, Arguments: Order{order}, State: reply.State,
				Responses: map[string]any{mayPay.Key(): map[string]any{"action": "accept", "content": map[string]any{mayPay.Key(): true}}},
			}, nil
		}
		if reply.Error == nil || !retryable(reply.Error) {
			return wire.Request{}, fmt.Errorf("it did not ask: %s %v", reply.Result, reply.Error)
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return wire.Request{}, err
		}
	}
}

// codeRetryable is written out here: a change of it would break clients.
const codeRetryable = -31001

func retryable(err *jsonrpc.Error) bool {
	var data struct {
		Retryable bool `json:"retryable"`
	}
	return err.Code == codeRetryable && json.Unmarshal(err.Data, &data) == nil && data.Retryable
}

// Answer is a reply in the words of the tables.
type Answer struct {
	Class   string // ok, unknown, gone, refused, or retryable
	Code    int64  // of a JSON-RPC error
	Receipt Receipt
}

// Settle sends the request again while it is told that it may be.
func (c *Client) Settle(ctx context.Context, r wire.Request) (Answer, error) {
	for {
		a, err := c.Send(ctx, r)
		if err != nil || a.Class != "retryable" {
			return a, err
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return a, err
		}
	}
}

// Send sends the request once. An error means that there was no answer, which is
// [Unanswered], or none that a table knows.
func (c *Client) Send(ctx context.Context, r wire.Request) (Answer, error) {
	reply, err := c.conn.Send(ctx, r)
	if err != nil {
		return Answer{}, Unanswered{err}
	}
	if reply.Error != nil {
		return classOfError(reply.Error)
	}
	if !reply.IsError {
		a := Answer{Class: "ok"}
		return a, json.Unmarshal(reply.Structured, &a.Receipt)
	}
	var result struct {
		Meta map[string]boundary.Report `json:"_meta"`
	}
	if err := json.Unmarshal(reply.Result, &result); err != nil {
		return Answer{}, err
	}
	switch kind := result.Meta[boundary.MetaKey].Type; kind {
	case "frame_gone":
		return Answer{Class: "gone"}, nil
	case "outcome_unknown":
		return Answer{Class: "unknown"}, nil
	default:
		return Answer{}, fmt.Errorf("an error of type %q: %s", kind, reply.Text)
	}
}

// Unanswered says that no answer came: the server is gone, or the context ended.
type Unanswered struct{ error }

func (u Unanswered) Unwrap() error { return u.error }

func classOfError(err *jsonrpc.Error) (Answer, error) {
	switch {
	case retryable(err):
		return Answer{Class: "retryable", Code: err.Code}, nil
	case err.Code == jsonrpc.CodeInvalidParams:
		return Answer{Class: "refused", Code: err.Code}, nil
	}
	return Answer{}, err
}

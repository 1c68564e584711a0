package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/wire"
)

// codeRetryable is written out here: a change of it would break clients.
const codeRetryable = -31001

// IsRetryable reports whether an error tells its client to send the request again.
func IsRetryable(err *jsonrpc.Error) bool {
	var data struct {
		Retryable bool `json:"retryable"`
	}
	return err != nil && err.Code == codeRetryable && json.Unmarshal(err.Data, &data) == nil && data.Retryable
}

// ReportOf is the boundary's report of a result.
func ReportOf(result json.RawMessage) (boundary.Report, error) {
	var r struct {
		Meta map[string]boundary.Report `json:"_meta"`
	}
	err := json.Unmarshal(result, &r)
	return r.Meta[boundary.MetaKey], err
}

// Yes is the answer to the question with this key.
func Yes(key string) map[string]any {
	return map[string]any{"action": "accept", "content": map[string]any{key: true}}
}

// Client calls a tool of the [Shop] at one server.
type Client struct {
	Conn    *wire.Client
	Tool    string
	Started func(jsonrpc.ID) // with each request, nil for nobody wants to know
}

// ErrRetryable says that a request may be sent again.
var ErrRetryable = errors.New("it may be sent again")

// Begin begins a call and returns the request that answers its question.
func (c *Client) Begin(ctx context.Context, order string) (wire.Request, error) {
	r := wire.Request{Name: c.Tool, Arguments: Order{order}}
	reply, err := c.Conn.Send(ctx, r)
	switch {
	case err != nil:
		return r, Unanswered{err}
	case IsRetryable(reply.Error):
		return r, ErrRetryable
	case reply.State == "" || !reply.Incomplete():
		a, err := read(reply)
		return r, errors.Join(err, Unasked{a})
	}
	r.State, r.Responses = reply.State, map[string]any{mayPay.Key(): Yes(mayPay.Key())}
	return r, nil
}

// Ask begins a call at this server, however often it is told to come again.
func (c *Client) Ask(ctx context.Context, order string) (wire.Request, error) {
	for {
		r, err := c.Begin(ctx, order)
		if err != ErrRetryable {
			return r, err
		}
		if err := Pause(ctx, 50*time.Millisecond); err != nil {
			return r, err
		}
	}
}

// Answer is a reply in the words of the tables.
type Answer struct {
	Class   string // ok, unknown, gone, refused, retryable, or error for one of the tool's
	Code    int64  // of a JSON-RPC error
	Receipt Receipt
	Text    string // of an error of the tool's
}

// Settle sends the request again while it is told that it may be.
func (c *Client) Settle(ctx context.Context, r wire.Request) (Answer, error) {
	for {
		a, err := c.Send(ctx, r)
		if err != nil || a.Class != "retryable" {
			return a, err
		}
		if err := Pause(ctx, 50*time.Millisecond); err != nil {
			return a, err
		}
	}
}

// SendWithin cancels the request when its time is up.
func (c *Client) SendWithin(ctx context.Context, r wire.Request, within time.Duration) (Answer, error) {
	sending, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	var id jsonrpc.ID
	one := Client{c.Conn, c.Tool, func(now jsonrpc.ID) { id = now }}
	a, err := one.Send(sending, r)
	if sending.Err() != nil && id.IsValid() {
		_ = c.Cancel(ctx, id)
	}
	return a, err
}

// Cancel tells the server that nobody waits for a request any more.
func (c *Client) Cancel(ctx context.Context, id jsonrpc.ID) error {
	params, err := json.Marshal(map[string]any{"requestId": id.Raw()})
	if err != nil {
		return err
	}
	return c.Conn.Write(ctx, &jsonrpc.Request{Method: "notifications/cancelled", Params: params})
}

// Send sends the request once. An error means that there was no answer, which is
// [Unanswered], or none that a table knows.
func (c *Client) Send(ctx context.Context, r wire.Request) (Answer, error) {
	p, err := c.Conn.Start(ctx, r)
	if err != nil {
		return Answer{}, Unanswered{err}
	}
	if c.Started != nil {
		c.Started(p.ID)
	}
	res, err := p.Wait(ctx)
	if err != nil {
		return Answer{}, Unanswered{err}
	}
	reply, err := wire.ReadReply(res)
	if err != nil {
		return Answer{}, err
	}
	return read(reply)
}

// read puts a reply that asks nothing into the words of the tables.
func read(reply *wire.Reply) (Answer, error) {
	switch {
	case IsRetryable(reply.Error):
		return Answer{Class: "retryable", Code: reply.Error.Code}, nil
	case reply.Error != nil && reply.Error.Code == jsonrpc.CodeInvalidParams:
		return Answer{Class: "refused", Code: reply.Error.Code}, nil
	case reply.Error != nil:
		return Answer{}, reply.Error
	case !reply.IsError:
		a := Answer{Class: "ok"}
		return a, json.Unmarshal(reply.Structured, &a.Receipt)
	}
	report, err := ReportOf(reply.Result)
	classes := map[string]string{"frame_gone": "gone", "outcome_unknown": "unknown", "execution": "error"}
	class := classes[report.Type]
	if report.Effect != "" && class != "gone" && class != "unknown" {
		class = report.Effect
	}
	if err == nil && class == "" {
		err = fmt.Errorf("an error of type %q: %s", report.Type, reply.Text)
	}
	return Answer{Class: class, Text: reply.Text}, err
}

// Unasked says that a call has ended, with an answer, before anything was asked.
type Unasked struct{ Answer }

func (u Unasked) Error() string { return fmt.Sprintf("it did not ask: %v", u.Answer) }

// Unanswered says that no answer came: the server is gone, or the context ended.
type Unanswered struct{ error }

func (u Unanswered) Unwrap() error { return u.error }

package wire

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Request is one request as the client sends it: one round of a call, or
// anything else.
type Request struct {
	Method string // tools/call if empty
	// Params, if set, are sent as they are, without the client's _meta, and the
	// fields below are not looked at. Empty JSON leaves them out.
	Params any

	Name      string // of the tool or prompt, or the resource's address
	Arguments any
	// State and Responses make it a later round, and Task and Responses one of a task.
	// Responses is anything that encodes as JSON; nil leaves it out.
	State     string
	Task      string
	Responses any
}

// Pending is a request that was sent.
type Pending struct {
	ID     jsonrpc.ID
	client *Client
	ended  <-chan ended
	stream <-chan struct{} // closed when its HTTP response has ended; nil if it has none
}

// ended is how a request ended: with a response, or an error that says why none
// will come.
type ended struct {
	response *jsonrpc.Response
	err      error
}

// Exchange sends a request and returns the response, which may be a JSON-RPC
// error. An error means that there was none.
func (c *Client) Exchange(ctx context.Context, r Request) (*jsonrpc.Response, error) {
	p, err := c.Start(ctx, r)
	if err != nil {
		return nil, err
	}
	return p.Wait(ctx)
}

// Start sends a request and does not wait for the response. Over HTTP the end of
// ctx hangs up on the request.
func (c *Client) Start(ctx context.Context, r Request) (*Pending, error) {
	if r.Method == "" {
		r.Method = "tools/call"
	}
	var params json.RawMessage
	if raw, ok := r.Params.(json.RawMessage); !ok || len(raw) > 0 {
		var err error
		if params, err = json.Marshal(r.params(c.Meta())); err != nil {
			return nil, err
		}
	}
	c.mu.Lock()
	c.nextID++
	id, err := jsonrpc.MakeID(float64(c.nextID))
	if err != nil {
		c.mu.Unlock()
		return nil, err
	}
	response := make(chan ended, 1)
	c.waiting[id] = response
	c.mu.Unlock()
	stream, err := c.write(ctx, &jsonrpc.Request{ID: id, Method: r.Method, Params: params})
	if err != nil {
		c.forget(id)
		return nil, err
	}
	return &Pending{ID: id, client: c, ended: response, stream: stream}, nil
}

// Wait returns the response. A response that comes after ctx ended counts as
// surplus. Over HTTP it also waits, no longer than ctx, until the server ends the
// stream: a second response on it is in the record by then.
func (p *Pending) Wait(ctx context.Context) (*jsonrpc.Response, error) {
	res, err := p.Response(ctx)
	if err == nil && p.stream != nil {
		select {
		case <-p.stream:
		case <-ctx.Done():
		}
	}
	return res, err
}

// Response returns the response without waiting for the end of its stream.
func (p *Pending) Response(ctx context.Context) (*jsonrpc.Response, error) {
	select {
	case e := <-p.ended:
		return e.response, e.err
	case <-p.client.gone:
		select {
		case e := <-p.ended: // it came just before the end
			return e.response, e.err
		default:
			return nil, errGone
		}
	case <-ctx.Done():
		p.client.forget(p.ID)
		return nil, ctx.Err()
	}
}

// Stream closes when the HTTP response that carries the answer has ended. It is
// nil over a connection that carries everything.
func (p *Pending) Stream() <-chan struct{} { return p.stream }

// Write sends any message: a notification, a response that nobody waits for, a
// request whose id is taken.
func (c *Client) Write(ctx context.Context, m jsonrpc.Message) error {
	_, err := c.write(ctx, m)
	return err
}

func (c *Client) write(ctx context.Context, m jsonrpc.Message) (<-chan struct{}, error) {
	c.note(recorded{sent: true, message: m})
	return c.link.send(ctx, m)
}

func (r Request) params(meta map[string]any) any {
	if r.Params != nil {
		return r.Params
	}
	params := map[string]any{}
	if meta != nil {
		params["_meta"] = meta
	}
	switch {
	case r.Method == "resources/read":
		params["uri"] = r.Name
	case r.Name != "":
		params["name"] = r.Name
	}
	if r.Arguments != nil {
		params["arguments"] = r.Arguments
	}
	if r.State != "" {
		params["requestState"] = r.State
	}
	if r.Responses != nil {
		params["inputResponses"] = r.Responses
	}
	return params
}

// receive takes in a message of the server. status is that of the HTTP response
// which carried it.
func (c *Client) receive(ctx context.Context, m jsonrpc.Message, status int) {
	c.note(recorded{message: m, status: status})
	switch m := m.(type) {
	case *jsonrpc.Response:
		if !c.end(m.ID, ended{response: m}) {
			c.mu.Lock()
			c.surplus++
			c.mu.Unlock()
		}
	case *jsonrpc.Request:
		if !m.IsCall() {
			return
		}
		q := askedOver(m)
		c.mu.Lock()
		if !c.opts.Unrecorded {
			c.asked = append(c.asked, q)
		}
		script := c.script
		c.mu.Unlock()
		go c.respond(ctx, m.ID, q, script)
	}
}

// end ends a request that is waited for, and reports whether it was.
func (c *Client) end(id jsonrpc.ID, e ended) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	waiting := c.waiting[id]
	if waiting == nil {
		return false
	}
	delete(c.waiting, id)
	waiting <- e
	return true
}

func (c *Client) forget(id jsonrpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, id)
}

// respond answers a question that came over the connection.
func (c *Client) respond(ctx context.Context, id jsonrpc.ID, q Question, script Answers) {
	response := &jsonrpc.Response{ID: id}
	answer, err := script.answer(q)
	var failure *jsonrpc.Error
	switch {
	case errors.Is(err, errSilence):
		return
	case errors.As(err, &failure):
		response.Error = failure
	case err != nil:
		response.Error = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
	case answer == nil:
		response.Error = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "no answer"}
	default:
		response.Result = answer
	}
	_ = c.Write(ctx, response) // the connection may be gone, and the asker with it
}

package wire

import (
	"encoding/json"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Message is one JSON-RPC message of the record.
type Message struct {
	Sent   bool   // by the client
	Method string // empty for a response
	// JSON is the message whole. Its params, result or error are byte for byte
	// as they were sent; the envelope around them is encoded anew.
	JSON json.RawMessage
	// Status is that of the HTTP response which carried the message, 0 if none
	// did.
	Status int
}

type recorded struct {
	sent    bool
	message jsonrpc.Message
	status  int
}

func (c *Client) note(r recorded) {
	if c.opts.Unrecorded {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.record = append(c.record, r)
}

func (c *Client) recorded() []recorded {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.record)
}

// Messages are all that were sent and received so far, in order. One that could
// not be encoded was never sent, and is left out.
func (c *Client) Messages() []Message {
	record := c.recorded()
	messages := make([]Message, 0, len(record))
	for _, r := range record {
		data, err := jsonrpc.EncodeMessage(r.message)
		if err != nil {
			continue
		}
		m := Message{Sent: r.sent, JSON: data, Status: r.status}
		if req, ok := r.message.(*jsonrpc.Request); ok {
			m.Method = req.Method
		}
		messages = append(messages, m)
	}
	return messages
}

// Requests counts the requests that the client sent with this method.
func (c *Client) Requests(method string) int {
	n := 0
	for _, r := range c.recorded() {
		if req, ok := r.message.(*jsonrpc.Request); ok && r.sent && req.IsCall() && req.Method == method {
			n++
		}
	}
	return n
}

// Responses counts the responses that came to one request. It is 1 on a server
// that behaves.
func (c *Client) Responses(id jsonrpc.ID) int {
	n := 0
	for _, r := range c.recorded() {
		if res, ok := r.message.(*jsonrpc.Response); ok && !r.sent && res.ID == id {
			n++
		}
	}
	return n
}

// Surplus counts the responses that no request was waiting for: second ones,
// those with an unknown id, and those that came after the wait was over.
func (c *Client) Surplus() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.surplus
}

// Notifications are the params of the notifications that came with this method.
func (c *Client) Notifications(method string) []json.RawMessage {
	var params []json.RawMessage
	for _, r := range c.recorded() {
		if req, ok := r.message.(*jsonrpc.Request); ok && !r.sent && !req.IsCall() && req.Method == method {
			params = append(params, req.Params)
		}
	}
	return params
}

// Asked are the questions that the server sent over the connection, which it may
// do only with a legacy client.
func (c *Client) Asked() []Question {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.asked)
}

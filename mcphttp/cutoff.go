package mcphttp

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/inflight"
)

// answerRest answers the calls of a body that a shutdown ended and go-sdk left
// without an answer: a subscription is complete, and a call is cut off.
func (p *reply) answerRest(raw []byte) {
	messages, err := split(raw)
	if err != nil {
		return
	}
	for _, text := range messages {
		message, err := jsonrpc.DecodeMessage(text)
		if err != nil {
			return
		}
		call, ok := message.(*jsonrpc.Request)
		if !ok || !call.IsCall() || p.answered(call.ID) {
			continue
		}
		answer := &jsonrpc.Response{ID: call.ID, Error: &jsonrpc.Error{Code: inflight.CodeClosing, Message: "the server is shutting down"}}
		if call.Method == "subscriptions/listen" {
			result, err := json.Marshal(map[string]any{"resultType": "complete", "_meta": map[string]any{mcp.MetaKeySubscriptionID: call.ID.Raw()}})
			if err != nil {
				return
			}
			answer.Result, answer.Error = result, nil
		}
		body, err := jsonrpc.EncodeMessage(answer)
		if err != nil {
			return
		}
		p.event(body)
	}
}

// event writes an event of our own.
func (p *reply) event(body []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.sent {
		p.header.Set("Content-Type", "text/event-stream")
		p.header.Set("Cache-Control", "no-cache, no-transform")
		p.writeHeader(http.StatusOK)
	}
	if p.events {
		_, _ = p.write(asEvent(body)) // who is gone hears nothing
	}
}

func asEvent(body []byte) []byte {
	return append(append([]byte("event: message\ndata: "), body...), "\n\n"...)
}

// note keeps what answerRest asks for. A body with one call ends with its answer,
// so the last event is all there is to know.
func (p *reply) note(event []byte) {
	if !p.batch {
		p.last = event
		return
	}
	if id, ok := answers(event); ok {
		p.ids = append(p.ids, id)
	}
}

func (p *reply) answered(id jsonrpc.ID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last, ok := answers(p.last); ok && last == id {
		return true
	}
	for _, other := range p.ids {
		if other == id {
			return true
		}
	}
	return false
}

// answers returns the id of the call that an event answers, or a body that is a
// message.
func answers(event []byte) (jsonrpc.ID, bool) {
	if _, data, ok := bytes.Cut(event, []byte("data: ")); ok && !bytes.HasPrefix(event, []byte("{")) {
		event = data
	}
	message, err := jsonrpc.DecodeMessage(event)
	if err != nil {
		return jsonrpc.ID{}, false
	}
	answer, ok := message.(*jsonrpc.Response)
	if !ok {
		return jsonrpc.ID{}, false
	}
	return answer.ID, true
}

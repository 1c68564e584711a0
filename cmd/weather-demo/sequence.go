package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mrtr-go/sdk/mrtr"
)

// message is the part of a JSON-RPC message that a sequence shows.
type message struct {
	ID     any             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

type callParams struct {
	Name           string                    `json:"name"`
	Arguments      json.RawMessage           `json:"arguments"`
	InputResponses map[string]elicitResponse `json:"inputResponses"`
	RequestState   string                    `json:"requestState"`
}

type elicitResponse struct {
	Action  string         `json:"action"`
	Content map[string]any `json:"content"`
}

type callResult struct {
	Content           []struct{ Text string }  `json:"content"`
	StructuredContent json.RawMessage          `json:"structuredContent"`
	IsError           bool                     `json:"isError"`
	InputRequests     map[string]elicitRequest `json:"inputRequests"`
	RequestState      string                   `json:"requestState"`
}

type elicitRequest struct {
	Method string       `json:"method"`
	Params elicitParams `json:"params"`
}

type elicitParams struct {
	Message         string `json:"message"`
	RequestedSchema struct {
		Properties map[string]struct {
			Enum []string `json:"enum"`
		} `json:"properties"`
	} `json:"requestedSchema"`
}

// sequence writes a call as what passed between client and server, and what
// happened on the server in between.
type sequence struct {
	w     io.Writer
	paint paint
}

const (
	toServer = "  client ──▶ server  "
	toClient = "  client ◀── server  "
	inside   = "                     "
)

func (s sequence) write(moments []moment) {
	calls := map[any]bool{}
	for _, m := range moments {
		switch {
		case m.audited != "":
			s.line(inside, s.paint.effect("● audit: "+m.audited))
		case m.event != nil:
			s.event(m.event)
		case m.toServer != nil:
			s.sent(m.toServer, calls)
		default:
			s.received(m.toClient, calls)
		}
	}
}

func (s sequence) line(lane, text string) { fmt.Fprintln(s.w, s.paint.dim(lane)+text) }

func (s sequence) event(e *mrtr.Event) {
	if e.Kind == mrtr.HandlerEntered {
		what := "▸ handler entered, from its top"
		if e.Handler != "" {
			what = "▸ step " + e.Handler
		}
		s.line(inside, what)
	}
}

func (s sequence) sent(raw json.RawMessage, calls map[any]bool) {
	var m message
	if json.Unmarshal(raw, &m) != nil {
		return
	}
	switch {
	case m.Method == "tools/call":
		calls[m.ID] = true
		var p callParams
		if json.Unmarshal(m.Params, &p) != nil {
			return
		}
		s.line(toServer, s.paint.bold("tools/call ")+p.Name+" "+string(p.Arguments))
		for _, key := range sortedKeys(p.InputResponses) {
			s.line(inside, "+ answer: "+p.InputResponses[key].String())
		}
		if p.RequestState != "" {
			s.line(inside, fmt.Sprintf("+ request_state, %d bytes, as it came", len(p.RequestState)))
		}
	case m.Method == "" && m.Result != nil:
		var r elicitResponse
		if json.Unmarshal(m.Result, &r) == nil && r.Action != "" {
			s.line(toServer, "answer: "+r.String())
		}
	}
}

func (s sequence) received(raw json.RawMessage, calls map[any]bool) {
	var m message
	if json.Unmarshal(raw, &m) != nil {
		return
	}
	switch {
	case m.Method == "elicitation/create":
		var p elicitParams
		if json.Unmarshal(m.Params, &p) == nil {
			s.line(toClient, s.paint.bold("elicitation/create"))
			s.question(p)
		}
	case !calls[m.ID]:
	case m.Error != nil:
		s.line(toClient, s.paint.bad(fmt.Sprintf("error %d: %s", m.Error.Code, m.Error.Message)))
	default:
		var r callResult
		if json.Unmarshal(m.Result, &r) == nil {
			s.result(r)
		}
	}
}

func (s sequence) result(r callResult) {
	if r.InputRequests == nil {
		for _, c := range r.Content {
			if r.IsError {
				s.line(toClient, s.paint.bad("error result: ")+c.Text)
			} else {
				s.line(toClient, s.paint.good("complete: ")+c.Text)
			}
		}
		return
	}
	s.line(toClient, s.paint.bold("input_required"))
	for _, key := range sortedKeys(r.InputRequests) {
		s.question(r.InputRequests[key].Params)
	}
	s.line(inside, fmt.Sprintf("+ request_state, %d bytes, sealed", len(r.RequestState)))
}

func (s sequence) question(p elicitParams) {
	s.line(inside, "? "+p.Message)
	for _, name := range sortedKeys(p.RequestedSchema.Properties) {
		if choices := p.RequestedSchema.Properties[name].Enum; len(choices) > 0 {
			s.line(inside, "  "+name+": "+shorten(strings.Join(choices, " | "), 55-len(name)))
		}
	}
}

func (r elicitResponse) String() string {
	if r.Action != "accept" {
		return r.Action
	}
	var parts []string
	for _, name := range sortedKeys(r.Content) {
		parts = append(parts, fmt.Sprintf("%s = %v", name, r.Content[name]))
	}
	return strings.Join(parts, ", ")
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

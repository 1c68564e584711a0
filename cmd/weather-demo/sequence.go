package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mrtr-go/sdk/mrtr/observe"
)

// sequence prints a call: the messages between client and server, and the events
// on the server.
type sequence struct {
	printer
	calls map[any]bool // the ids of the client's tools/call requests
}

const (
	toServer = "  client ──▶ server  "
	toClient = "  client ◀── server  "
	inside   = "                     "
)

func (s sequence) moment(m moment) {
	switch {
	case m.audited != "":
		s.line(inside, s.effect, "● audit: "+m.audited, "")
	case m.event != nil:
		s.event(m.event)
	case m.toServer != nil:
		s.sent(m.toServer)
	default:
		s.received(m.toClient)
	}
}

// line prints a text in its lane, its head painted.
func (s sequence) line(lane string, how func(string) string, head, rest string) {
	for i, text := range wrap(head+rest, lineWidth-utf8.RuneCountInString(lane)) {
		if after, ok := strings.CutPrefix(text, strings.TrimSpace(head)); ok && i == 0 && head != "" {
			text = how(strings.TrimSpace(head)) + after
		}
		fmt.Fprintln(s, s.dim(lane)+text)
		lane = strings.Repeat(" ", utf8.RuneCountInString(lane))
	}
}

func (s sequence) said(lane, text string) { s.line(lane, s.bold, "", text) }

func (s sequence) event(e *observe.Event) {
	switch {
	case e.Kind != observe.HandlerEntered:
	case e.Handler == "":
		s.said(inside, "▸ handler entered, from the top")
	default:
		s.said(inside, "▸ step "+e.Handler)
	}
}

func (s sequence) sent(raw json.RawMessage) {
	var m message
	if json.Unmarshal(raw, &m) != nil {
		return
	}
	switch {
	case m.Method == "tools/call":
		s.calls[m.ID] = true
		var p callParams
		if json.Unmarshal(m.Params, &p) != nil {
			return
		}
		s.line(toServer, s.bold, "tools/call ", p.Name+" "+string(p.Arguments))
		for _, key := range sortedKeys(p.InputResponses) {
			s.said(inside, "+ answer: "+p.InputResponses[key].String())
		}
		if p.RequestState != "" {
			s.said(inside, fmt.Sprintf("+ request_state, %d bytes, unchanged", len(p.RequestState)))
		}
	case m.Method == "" && m.Result != nil:
		var r elicitResponse
		if json.Unmarshal(m.Result, &r) == nil && r.Action != "" {
			s.said(toServer, "answer: "+r.String())
		}
	}
}

func (s sequence) received(raw json.RawMessage) {
	var m message
	if json.Unmarshal(raw, &m) != nil {
		return
	}
	switch {
	case m.Method == "elicitation/create":
		var p elicitParams
		if json.Unmarshal(m.Params, &p) == nil {
			s.line(toClient, s.bold, "elicitation/create", "")
			s.question(p)
		}
	case !s.calls[m.ID]:
	case m.Error != nil:
		s.line(toClient, s.bad, fmt.Sprintf("error %d: ", m.Error.Code), m.Error.Message)
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
				s.line(toClient, s.bad, "error result: ", c.Text)
			} else {
				s.line(toClient, s.good, "complete: ", c.Text)
			}
		}
		return
	}
	s.line(toClient, s.bold, "input_required", "")
	for _, key := range sortedKeys(r.InputRequests) {
		s.question(r.InputRequests[key].Params)
	}
	s.said(inside, fmt.Sprintf("+ request_state, %d bytes, sealed", len(r.RequestState)))
}

func (s sequence) question(p elicitParams) {
	s.said(inside, "? "+p.Message)
	for _, name := range sortedKeys(p.RequestedSchema.Properties) {
		choices := p.RequestedSchema.Properties[name].Enum
		if len(choices) > 0 {
			s.said(inside+"  ", name+": "+strings.Join(choices, " | "))
		}
	}
}

// message holds the fields of a JSON-RPC message that are shown.
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
	Content       []struct{ Text string }  `json:"content"`
	IsError       bool                     `json:"isError"`
	InputRequests map[string]elicitRequest `json:"inputRequests"`
	RequestState  string                   `json:"requestState"`
}

type elicitRequest struct {
	Params elicitParams `json:"params"`
}

type elicitParams struct {
	Message         string `json:"message"`
	RequestedSchema form   `json:"requestedSchema"`
}

// form holds the choices in a question's schema.
type form struct {
	Properties map[string]struct {
		Enum []string `json:"enum"`
	} `json:"properties"`
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

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

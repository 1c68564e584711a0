package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mrtr-go/sdk/mrtr/observe"
)

// sequence prints a call: the messages between the client and one server, and the events
// on that server.
type sequence struct {
	printer
	toServer, toClient, under string       // the lanes
	calls                     map[any]bool // the ids of the client's tools/call requests
}

func newSequence(p printer, server string) sequence {
	lane := func(arrow string) string { return "  client " + arrow + " " + server + "  " }
	out := lane("──▶")
	return sequence{p, out, lane("◀──"), strings.Repeat(" ", utf8.RuneCountInString(out)), map[any]bool{}}
}

func (s sequence) moment(m moment) {
	switch {
	case m.charged != "":
		s.inside(s.effect("● " + m.charged))
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
		lane = s.under
	}
}

func (s sequence) said(lane, text string) { s.line(lane, s.bold, "", text) }

// inside prints what happened on the server, or came with a message.
func (s sequence) inside(text string) { fmt.Fprintln(s, s.under+text) }

func (s sequence) event(e *observe.Event) {
	switch {
	case e.Kind != observe.HandlerEntered:
	case e.Handler == "":
		s.inside("▸ handler entered, from the top")
	default:
		s.inside("▸ step " + e.Handler)
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
		s.line(s.toServer, s.bold, "tools/call ", p.Name+" "+string(p.Arguments))
		for _, key := range sortedKeys(p.InputResponses) {
			s.said(s.under, "+ "+p.InputResponses[key].String())
		}
		if p.RequestState != "" {
			s.inside(fmt.Sprintf("+ request_state, %d bytes, unchanged", len(p.RequestState)))
		}
	case m.Method == "" && m.Result != nil:
		var r elicitResponse
		if json.Unmarshal(m.Result, &r) == nil && r.Action != "" {
			s.said(s.toServer, "answer: "+r.String())
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
			s.said(s.toClient, p.question())
		}
	case !s.calls[m.ID]:
	case m.Error != nil:
		s.line(s.toClient, s.bad, fmt.Sprintf("error %d: ", m.Error.Code), m.Error.Message)
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
				s.line(s.toClient, s.bad, "error result: ", c.Text)
			} else {
				s.said(s.toClient, c.Text)
			}
		}
		return
	}
	lane := s.toClient
	for _, key := range sortedKeys(r.InputRequests) {
		s.said(lane, r.InputRequests[key].Params.question())
		lane = s.under
	}
	s.inside(fmt.Sprintf("+ request_state, %d bytes, sealed", len(r.RequestState)))
}

// question is a question with its choices.
func (p elicitParams) question() string {
	text := "? " + p.Message
	for _, name := range sortedKeys(p.RequestedSchema.Properties) {
		if choices := p.RequestedSchema.Properties[name].Enum; len(choices) > 0 {
			text += " (" + strings.Join(choices, " | ") + ")"
		}
	}
	return text
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

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

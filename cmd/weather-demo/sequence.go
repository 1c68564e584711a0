package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/mrtr-go/sdk/mrtr"
)

// sequence prints a call: the messages between client and server, and the events
// on the server.
type sequence struct {
	w     io.Writer
	paint paint
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
		s.line(inside, s.paint.effect, "● audit: "+m.audited, "")
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
		fmt.Fprintln(s.w, s.paint.dim(lane)+text)
		lane = strings.Repeat(" ", utf8.RuneCountInString(lane))
	}
}

func (s sequence) plain(lane, text string) { s.line(lane, s.paint.bold, "", text) }

func (s sequence) event(e *mrtr.Event) {
	switch {
	case e.Kind != mrtr.HandlerEntered:
	case e.Handler == "":
		s.plain(inside, "▸ handler entered, from the top")
	default:
		s.plain(inside, "▸ step "+e.Handler)
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
		s.line(toServer, s.paint.bold, "tools/call ", p.Name+" "+string(p.Arguments))
		for _, key := range sortedKeys(p.InputResponses) {
			s.plain(inside, "+ answer: "+p.InputResponses[key].String())
		}
		if p.RequestState != "" {
			s.plain(inside, fmt.Sprintf("+ request_state, %d bytes, unchanged", len(p.RequestState)))
		}
	case m.Method == "" && m.Result != nil:
		var r elicitResponse
		if json.Unmarshal(m.Result, &r) == nil && r.Action != "" {
			s.plain(toServer, "answer: "+r.String())
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
			s.line(toClient, s.paint.bold, "elicitation/create", "")
			s.question(p)
		}
	case !s.calls[m.ID]:
	case m.Error != nil:
		s.line(toClient, s.paint.bad, fmt.Sprintf("error %d: ", m.Error.Code), m.Error.Message)
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
				s.line(toClient, s.paint.bad, "error result: ", c.Text)
			} else {
				s.line(toClient, s.paint.good, "complete: ", c.Text)
			}
		}
		return
	}
	s.line(toClient, s.paint.bold, "input_required", "")
	for _, key := range sortedKeys(r.InputRequests) {
		s.question(r.InputRequests[key].Params)
	}
	s.plain(inside, fmt.Sprintf("+ request_state, %d bytes, sealed", len(r.RequestState)))
}

func (s sequence) question(p elicitParams) {
	s.plain(inside, "? "+p.Message)
	for _, name := range sortedKeys(p.RequestedSchema.Properties) {
		choices := p.RequestedSchema.Properties[name].Enum
		if len(choices) > 0 {
			s.plain(inside+"  ", name+": "+strings.Join(choices, " | "))
		}
	}
}

package model

import (
	"encoding/json"
	"time"
)

// request is one request as the model knows it. Sending it again is another
// request with the same contents.
type request struct {
	at   int
	who  caller
	tool *tool
	args int
	// A retry has the round whose state it sends, and the user's manner by question.
	from     *round
	manners  map[string]manner
	extra    bool // right answers to every question of the tool, asked or not
	altered  alteration
	position int  // where
	respelt  bool // the arguments are written differently
}

// round is an answer of a server that waits for another request.
type round struct {
	token string
	state *state
}

// answered is the retry of a round whose questions, in their order, are answered in
// these manners, and rightly where there is none.
func (from *round) answered(manners []manner) *request {
	s := from.state
	r := &request{at: s.at, who: s.who, tool: s.tool, args: s.args, from: from, manners: map[string]manner{}}
	for i, q := range s.openQuestions() {
		r.manners[q.key] = right
		if i < len(manners) {
			r.manners[q.key] = manners[i]
		}
	}
	return r
}

// opens reports whether the state of a retry opens for its request.
func (r *request) opens() bool {
	s := r.from.state
	return r.altered == "" && r.tool == s.tool && r.args == s.args && r.who.user == s.who.user && !r.who.legacy &&
		(r.at == elsewhere) == (s.at == elsewhere) && time.Now().Before(s.expires)
}

// responses are the answers of a retry, by key.
func (r *request) responses() map[string]json.RawMessage {
	responses := map[string]json.RawMessage{}
	if r.extra {
		responses["nobody"] = json.RawMessage(accepts(`{"nobody":"1A"}`))
		for _, it := range r.from.state.tool.plan.items {
			for _, q := range it.ask {
				responses[q.key] = q.response(right)
			}
		}
	}
	for _, q := range r.from.state.openQuestions() {
		delete(responses, q.key)
		if response := q.response(r.manners[q.key]); response != nil {
			responses[q.key] = response
		}
	}
	return responses
}

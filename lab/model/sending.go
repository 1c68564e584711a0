package model

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/mrtr-go/sdk/internal/wire"
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
	by    *request // that the server answered
}

// answered is the retry of a round whose questions, in their order, are answered in
// these manners, and rightly if there is none.
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

// patience is how long a reply may take, on the clock of the bubble, which stands
// still while anything runs.
const patience = 30 * time.Second

// received is the reply to a request.
type received struct {
	outcome
	token string
	err   error
}

// request makes a request, and returns its reply.
func (p *player) request(ctx context.Context, r *request) (reply <-chan received) {
	replies := make(chan received, 1)
	client, err := p.site.client(p.context, r.at, r.who)
	if err != nil {
		replies <- received{err: err}
		return replies
	}
	params := p.params(client, r)
	go func() {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		var got received
		reply, err := client.Send(ctx, wire.Request{Params: params})
		if err != nil {
			replies <- received{err: fmt.Errorf("no reply: %w", err)}
			return
		}
		got.outcome, got.err = observed(reply, !r.who.legacy)
		got.token = reply.State
		replies <- got
	}()
	return replies
}

// params are a request's params on the wire.
func (p *player) params(client *wire.Client, r *request) any {
	meta := client.Meta()
	if meta == nil {
		meta = map[string]any{}
	}
	p.requests++
	meta[requestTag] = fmt.Sprintf("request %6d", p.requests)
	arguments := fmt.Sprintf(`{"ref":%q,"size":1}`, refs[r.args])
	if r.respelt {
		arguments = fmt.Sprintf(`{"size":1,"ref":"\u0052%s"}`, refs[r.args][1:])
	}
	params := map[string]any{"_meta": meta, "name": r.tool.name, "arguments": json.RawMessage(arguments)}
	if r.from == nil {
		return params
	}
	params["requestState"] = r.altered.alter(r.from.token, r.position)
	if responses := r.responses(); len(responses) > 0 {
		params["inputResponses"] = responses
	}
	return params
}

// legacy makes a whole call as a legacy client.
func (p *player) legacy(c Command) error {
	t := p.tools[c.Tool%len(p.tools)]
	l := &legacyCall{request: &request{at: c.At, who: caller{user: c.User, caps: c.Caps, legacy: true}, tool: t, args: c.Args}, manners: c.Manners}
	want, questions := p.predictLegacy(l)
	p.tell("%s, answering %s", p.describe(l.request, "calls"), l.manners)
	before := p.site.desk.count()
	client, err := p.site.client(p.context, l.at, l.who)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(p.context, patience)
	defer cancel()
	out, err := client.Run(ctx, wire.Request{Params: p.params(client, l.request)}, l.answers())
	if err != nil {
		return fmt.Errorf("no reply: %w", err)
	}
	got, err := observed(&out.Reply, false)
	if err != nil {
		return err
	}
	p.tell("    -> %s, after %d questions", got, len(out.Questions))
	if want.kind != completes {
		want.undoes = mayUndo
	}
	if err := p.book(before, want); err != nil {
		return err
	}
	if err := want.meet(got); err != nil {
		return err
	}
	if questions >= 0 && len(out.Questions) != questions {
		return fmt.Errorf("%d questions were expected", questions)
	}
	_, err = p.accept(l.request, want, "")
	return err
}

// answers is the script of a legacy client's user.
func (l *legacyCall) answers() wire.Answers {
	var mu sync.Mutex // the questions of a round come at once
	nth := map[string]int{}
	return wire.Answers{"*": func(q wire.Question) any {
		asked := l.tool.asked(q)
		if asked == nil {
			return nil
		}
		mu.Lock()
		n := nth[asked.key]
		nth[asked.key]++
		mu.Unlock()
		if n >= mostAsks*(mostTries+1) { // no promise lets it be asked this often
			return nil
		}
		if response := asked.response(l.manner(asked, n)); response != nil {
			return response
		}
		return nil
	}}
}

package model

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
)

// atOnce makes a task of every call whose client takes tasks.
var atOnce = mrtr.TaskPolicy{AtOnce: true}

// asTask is behind the style of a call that was made as a task, where outcomes are counted.
const asTask = " as a task"

// task makes a whole call as a task, whose user's manners are used in turn, as those of a
// legacy client's are. With a store every request may go to the instance that did not get the
// one before (Both), and the instance may restart while the Nth questions wait. The client may
// cancel the task instead of answering them (After).
func (p *player) task(c Command) (steps int, err error) {
	r := &request{at: c.At, who: caller{user: c.User, caps: c.Caps, tasks: true}, tool: p.tools[c.Tool%len(p.tools)], args: c.Args}
	user := legacyCall{request: r, manners: c.Manners}
	p.tell("%s, answering %s", p.describe(r, "calls as a task"), user.manners)
	before := p.site.desk.count()
	want, nth := p.predictTask(r), map[string]int{}
	send := wire.Request{}
	for {
		steps++
		reply, err := p.follow(r, send)
		got, err := observedTask(reply, err)
		if err != nil {
			return steps, err
		}
		p.tell("    -> %s", got)
		if err := p.book(before, want); err != nil {
			return steps, err
		}
		if err := want.meet(got); err != nil {
			return steps, err
		}
		if want.next == nil {
			p.tally(r.tool.style+asTask, want.outcome)
			return steps, nil
		}
		at, now := r.at, steps == c.Nth
		if stored := p.site.store != nil && at != elsewhere; stored && now && !c.After {
			p.tell("-- %s restarts, killed: %t", instanceNames[at], c.Killed)
			p.site.instance(at).link.cut.Store(c.Killed)
			p.site.restart(at, p.site.instance(at).worded)
		} else if stored && c.Both {
			at = 1 - at
		}
		r = (&round{state: want.next}).answered(nil)
		r.at = at
		for _, q := range want.next.openQuestions() {
			r.manners[q.key] = user.manner(q.question, nth[q.key])
			nth[q.key]++
		}
		before = p.site.desk.count()
		if now && c.After {
			p.tell("%s", p.describe(r, "cancels instead of answering"))
			want, send = p.predictCancel(r), wire.Request{Method: "tasks/cancel", Task: reply.Task}
			continue
		}
		p.tell("%s", p.describe(r, "answers"))
		want, send = p.predictTask(r), wire.Request{Task: reply.Task}
		if send.Responses, err = r.script().Responses(reply.Asks); err != nil {
			return steps, err
		}
	}
}

// follow sends a request of a task, and polls until the task asks or has ended.
func (p *player) follow(r *request, send wire.Request) (*wire.Reply, error) {
	client, err := p.site.client(p.context, r.at, r.who)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(p.context, patience)
	defer cancel()
	switch {
	case send.Task == "":
		send.Params = p.params(client, r)
	case send.Method != "":
		params := map[string]any{"_meta": client.Meta(), "taskId": send.Task}
		if _, err := client.Exchange(ctx, wire.Request{Method: send.Method, Params: params}); err != nil {
			return nil, err
		}
		return client.Poll(ctx, send.Task)
	}
	return client.Send(ctx, send)
}

// script is the user who answers this request.
func (r *request) script() wire.Answers {
	return wire.Answers{"*": func(q wire.Question) any {
		for _, open := range r.from.state.openQuestions() {
			if open.key == q.Key {
				return open.response(r.manners[q.Key])
			}
		}
		return nil
	}}
}

// predictTask is the prediction of a request and of the rounds that a task makes without its
// client: those that ask nothing.
func (w *world) predictTask(r *request) *prediction {
	p := w.predict(r)
	for p.next != nil && len(p.next.openQuestions()) == 0 {
		onward := (&round{state: p.next}).answered(nil)
		onward.at = r.at
		then := w.predict(onward)
		then.runs, then.tell = slices.Concat(p.runs, then.runs), slices.Concat(p.tell, then.tell)
		p = then
	}
	return p
}

// predictCancel is the end of a task that is cancelled while it waits.
func (w *world) predictCancel(r *request) *prediction {
	s := r.from.state.clone()
	s.at = r.at
	p := &prediction{call: s.call, turns: true}
	p.stop(stopCancelled)
	w.over(p, s)
	return p
}

// observedTask reads how a task stands.
func observedTask(r *wire.Reply, err error) (outcome, error) {
	switch {
	case errors.Is(err, wire.ErrCancelled):
		return outcome{kind: stops, reason: stopCancelled}, nil
	case err != nil:
		return outcome{}, err
	case r.Task == "":
		return observed(r, false)
	case len(r.Asks) == 0:
		return outcome{}, fmt.Errorf("a task that waits for nothing")
	}
	o := outcome{kind: asksUser}
	for _, q := range r.Asks {
		o.asks = append(o.asks, asked{q.Key, q.Message})
	}
	sortAsked(o.asks)
	return o, nil
}

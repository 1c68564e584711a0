package model

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"github.com/mrtr-go/sdk/internal/wire"
)

// The values of a tool's arguments.
var refs = [2]string{"R1", "R2"}

// player plays one script.
type player struct {
	*world
	context  context.Context
	tools    []*tool
	rounds   []*round
	sent     []*request
	story    []string
	requests int
	tally    func(styleName, outcome)

	names map[int]string    // the engine's name of each call
	idems map[string]string // what each idempotency key is for, and which key that has
}

// Play plays a script inside a bubble of testing/synctest, whose clock it moves. It
// reports the first request on which the engine and the model disagree, with the
// story up to there, and anything that was left behind. It returns how many steps
// it took: requests, and other things that happened. Every outcome is passed to
// tally, which may be nil.
func Play(ctx context.Context, s Script, tally func(style, outcome string)) (steps int, err error) {
	p := &player{context: ctx, world: &world{}, names: map[int]string{}, idems: map[string]string{}, tally: func(s styleName, o outcome) {
		if tally != nil {
			tally(string(s), o.class())
		}
	}}
	for i, t := range s.Tools {
		p.tools = append(p.tools, &tool{name: fmt.Sprintf("%s-%s-%d", plans[t.Plan].name, t.Style, i), plan: plans[t.Plan], style: t.Style})
	}
	p.site = openSite(p.tools)
	for _, c := range s.Commands {
		taken, err := p.play(c)
		steps += taken
		if err != nil {
			_ = p.site.close()
			return steps, fmt.Errorf("%s\n  %s\n    but: %w", marker, strings.Join(p.story, "\n  "), err)
		}
	}
	if err := p.site.close(); err != nil {
		return steps, fmt.Errorf("%s\n  %s\n    but at the end: %w", marker, strings.Join(p.story, "\n  "), err)
	}
	return steps, nil
}

// marker begins the error of every disagreement.
const marker = "the engine disagrees with the model:"

// play does one command. A command about rounds or requests does nothing where
// there are none.
func (p *player) play(c Command) (steps int, err error) {
	switch c.Do {
	case start:
		_, err := p.send(&request{at: c.At, who: caller{user: c.User, caps: c.Caps}, tool: p.tools[c.Tool%len(p.tools)], args: c.Args}, "starts "+p.tools[c.Tool%len(p.tools)].name)
		return 1, err
	case legacy:
		return 1, p.legacy(c)
	case again:
		if len(p.sent) == 0 {
			return 0, nil
		}
		_, err := p.send(p.sent[max(0, len(p.sent)-1-c.Latest)], "sends again: ")
		return 1, err
	case restart:
		worded := p.site.instance(c.At).worded
		if c.Reworded {
			worded = 1 - worded
		}
		p.tell("-- %s restarts, wording %d", instanceNames[c.At], worded)
		p.site.restart(c.At, worded)
		return 1, nil
	case desks:
		p.deskClosed = !p.deskClosed
		p.site.desk.close(p.deskClosed)
		p.tell("-- the desk is closed: %t", p.deskClosed)
		return 1, nil
	case wait:
		p.tell("-- %s pass", c.Wait)
		time.Sleep(c.Wait)
		synctest.Wait() // for frames whose time is up
		return 1, nil
	}
	if len(p.rounds) == 0 {
		return 0, nil
	}
	return p.reply(c, p.rounds[max(0, len(p.rounds)-1-c.Latest)])
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

// reply sends retries of a round.
func (p *player) reply(c Command, from *round) (steps int, err error) {
	s := from.state
	r := from.answered(c.Manners)
	r.extra = c.Extra
	switch c.Do {
	case retry:
		if c.At > 0 && s.at != elsewhere {
			r.at = 1 - s.at
		}
		for steps < c.Times {
			next, err := p.send(r, "answers")
			steps++
			if err != nil || next == nil {
				return steps, err
			}
			if !c.Stubborn {
				c.Manners = nil
			}
			r = next.answered(c.Manners)
		}
		return steps, nil
	case twice:
		return 2, p.sendTwice(r)
	case alter:
		r.altered, r.position = c.Alter, c.Position
		_, err = p.send(r, "answers, state "+string(c.Alter))
		return 1, err
	case transplant:
		switch c.Move {
		case toTool:
			others := slices.DeleteFunc(slices.Clone(p.tools), func(t *tool) bool { return t == s.tool })
			r.tool = others[c.Tool%len(others)]
		case toArgs:
			r.args = 1 - r.args
		case toUser:
			r.who.user = (r.who.user + 1) % len(users)
		case toServer:
			if s.at != elsewhere {
				r.at = elsewhere
			} else {
				r.at = 0
			}
		case toLegacy:
			r.who.legacy = true
		case toItself:
			r.respelt = true
		case toSibling:
			if s.at != elsewhere {
				r.at = 1 - s.at
			}
		}
		_, err = p.send(r, "answers "+string(c.Move))
		return 1, err
	}
	return 0, fmt.Errorf("no such command: %q", c.Do)
}

// send makes a request and holds its reply against the prediction. It returns the
// round that the reply opens, if any.
func (p *player) send(r *request, doing string) (*round, error) {
	want := p.predict(r)
	p.sent = append(p.sent, r)
	p.tell("%s", p.describe(r, doing))
	before := p.site.desk.count()
	tag, replies := p.request(r)
	got := <-replies
	if got.err != nil {
		return nil, got.err
	}
	p.tell("    -> %s", got.outcome)
	runs := p.site.desk.since(before)[tag]
	if err := want.meet(got.outcome, runs); err != nil {
		return nil, err
	}
	return p.accept(r, want, got.token, runs)
}

// sendTwice makes a request twice at once. Which of the two the engine serves first
// is not known.
func (p *player) sendTwice(r *request) error {
	want := [2]*prediction{p.predict(r), p.predict(r)}
	p.sent = append(p.sent, r)
	p.tell("%s", p.describe(r, "answers twice at once"))
	before := p.site.desk.count()
	var tags [2]string
	var replies [2]<-chan received
	for i := range tags {
		tags[i], replies[i] = p.request(r)
	}
	var got [2]received
	for i := range got {
		if got[i] = <-replies[i]; got[i].err != nil {
			return got[i].err
		}
		p.tell("    -> %s", got[i].outcome)
	}
	all := p.site.desk.since(before)
	runs := [2][]run{all[tags[0]], all[tags[1]]}
	meet := func(first, second int) error {
		return firstError(want[first].meet(got[0].outcome, runs[0]), want[second].meet(got[1].outcome, runs[1]))
	}
	if err := meet(0, 1); err != nil {
		if meet(1, 0) != nil {
			return err
		}
		want[0], want[1] = want[1], want[0]
	}
	for i := range want {
		if _, err := p.accept(r, want[i], got[i].token, runs[i]); err != nil {
			return err
		}
	}
	return nil
}

// legacy makes a whole call as a legacy client.
func (p *player) legacy(c Command) error {
	t := p.tools[c.Tool%len(p.tools)]
	l := &legacyCall{request: &request{at: c.At, who: caller{user: c.User, caps: c.Caps, legacy: true}, tool: t, args: c.Args}, manners: c.Manners}
	want, questions := p.predictLegacy(l)
	p.tell("%s, answering %s", p.describe(l.request, "calls "+t.name), l.manners)
	before := p.site.desk.count()
	client, err := p.site.client(p.context, l.at, l.who)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(p.context, patience)
	defer cancel()
	tag := p.tag()
	out, err := client.Run(ctx, wire.Request{Params: p.params(client, l.request, tag)}, l.answers())
	if err != nil {
		return fmt.Errorf("no reply: %w", err)
	}
	got, err := observed(&out.Reply, false)
	if err != nil {
		return err
	}
	p.tell("    -> %s, after %d questions", got, len(out.Questions))
	runs := p.site.desk.since(before)[tag]
	if err := want.meet(got, runs); err != nil {
		return err
	}
	if questions >= 0 && len(out.Questions) != questions {
		return fmt.Errorf("%d questions were expected", questions)
	}
	_, err = p.accept(l.request, want, "", runs)
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
		if response := asked.response(l.manner(asked, n)); response != nil {
			return response
		}
		return nil
	}}
}

// meet holds an outcome, and the effects that ran, against the prediction.
func (want *prediction) meet(got outcome, runs []run) error {
	if len(runs) != len(want.runs) {
		return fmt.Errorf("it ran the effects [%s], where the model runs [%s]", names(runs), want.names())
	}
	for i, r := range runs {
		if r.key != want.runs[i].key || r.failed != want.runs[i].fails {
			return fmt.Errorf("it ran the effects [%s], where the model runs [%s]", names(runs), want.names())
		}
		want.runs[i].value = r.value
	}
	if want.tell != nil {
		want.tell(want)
	}
	if !want.same(got) {
		return fmt.Errorf("the model says that it %s", want.outcome)
	}
	return nil
}

// accept takes a reply that agrees with its prediction into the world.
func (p *player) accept(r *request, want *prediction, token string, runs []run) (*round, error) {
	p.tally(r.tool.style, want.outcome)
	for i, run := range runs {
		if err := p.note(want, want.runs[i], run); err != nil {
			return nil, err
		}
	}
	if want.next == nil {
		return nil, nil
	}
	for _, known := range p.rounds {
		if known.token == token {
			return nil, fmt.Errorf("two rounds have the same state")
		}
	}
	next := &round{token: token, state: want.next}
	p.rounds = append(p.rounds, next)
	return next, nil
}

// note holds the names of calls and effects against those before: a call keeps its
// id, and an idempotency key stands for one effect of one call after the same
// answers, as that for it.
func (p *player) note(want *prediction, expected *effectRun, r run) error {
	name, ok := p.names[want.call]
	if ok && name != r.call {
		return fmt.Errorf("the id of the call changed between two of its rounds")
	}
	p.names[want.call] = r.call
	if r.idem == "" {
		return nil
	}
	one := fmt.Sprintf("%s of %s after %s", r.key, r.call, expected.before)
	if other, ok := p.idems["of "+r.idem]; ok && other != one {
		return fmt.Errorf("effect %q has the idempotency key of another, or of itself after other answers", r.key)
	}
	if key, ok := p.idems[one]; ok && key != r.idem {
		return fmt.Errorf("effect %q has another idempotency key than in an earlier attempt after the same answers", r.key)
	}
	p.idems["of "+r.idem], p.idems[one] = one, r.idem
	return nil
}

func names(runs []run) string {
	words := make([]string, len(runs))
	for i, r := range runs {
		words[i] = spell(r.key, r.failed)
	}
	return strings.Join(words, " ")
}

func (want *prediction) names() string {
	words := make([]string, len(want.runs))
	for i, r := range want.runs {
		words[i] = spell(r.key, r.fails)
	}
	return strings.Join(words, " ")
}

func spell(key string, fails bool) string {
	if fails {
		return key + " (fails)"
	}
	return key
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// tell adds a line to the story.
func (p *player) tell(format string, args ...any) {
	p.story = append(p.story, fmt.Sprintf(format, args...))
}

func (p *player) describe(r *request, doing string) string {
	line := fmt.Sprintf("%s %s", users[r.who.user], doing)
	if r.from != nil {
		number := slices.Index(p.rounds, r.from) + 1
		line += fmt.Sprintf(" round %d of %s", number, r.from.state.tool.name)
		for _, key := range slices.Sorted(maps.Keys(r.manners)) {
			line += fmt.Sprintf(", %s: %s", key, r.manners[key])
		}
		if r.extra {
			line += ", and what was not asked"
		}
		if r.tool != r.from.state.tool {
			line += ", to " + r.tool.name
		}
	}
	return fmt.Sprintf("%s (%s) at %s", line, refs[r.args], instanceNames[r.at])
}

// patience is how long a reply may take, on the clock of the bubble, which stands
// still while anything runs.
const patience = 30 * time.Second

func (p *player) tag() string {
	p.requests++
	return fmt.Sprint("request ", p.requests)
}

// received is the reply to a request.
type received struct {
	outcome
	token string
	err   error
}

// request makes a request, and returns the tag of its effects and its reply.
func (p *player) request(r *request) (tag string, reply <-chan received) {
	tag = p.tag()
	replies := make(chan received, 1)
	client, err := p.site.client(p.context, r.at, r.who)
	if err != nil {
		replies <- received{err: err}
		return tag, replies
	}
	params := p.params(client, r, tag)
	go func() {
		ctx, cancel := context.WithTimeout(p.context, patience)
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
	return tag, replies
}

// params are a request's params on the wire.
func (p *player) params(client *wire.Client, r *request, tag string) any {
	meta := client.Meta()
	if meta == nil {
		meta = map[string]any{}
	}
	meta[requestTag] = tag
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

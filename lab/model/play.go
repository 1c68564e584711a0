// Package model explores the round engine of package mrtr at random and compares
// it with a model of its promises (docs/what-can-happen-twice.md), for calls that only the
// client remembers and for those that a store does.
//
// A [Script] is a list of commands: start a call, answer it well or badly, send a
// request again, send a state that was altered or belongs to another request,
// restart an instance, let time pass, run a legacy client's whole call. Clients hang up,
// instances die and handlers stall at an effect, which may fail, or end in doubt. [Play] gives
// them to real servers, over the raw client of internal/wire, and to the model. The
// model predicts for each request
//
//   - whether it is answered by questions, a result, an error result or a JSON-RPC
//     error, and the reason of the error;
//   - the keys and the wording of the questions;
//   - the effects that it runs, each with its idempotency key, and whether it undoes one;
//   - the text of the final result, which names every answer and the value of every
//     effect, so that a call that reads another chain's answers is found out.
//
// The first request on which the two disagree ends the script, and the error tells
// the whole story up to there. Property tests with rapid make the scripts, and
// shorten one that fails.
//
// The model knows the tools as data ([plan]): it shares no code with the engine and
// keeps no token, only the meaning of each one that it was given.
package model

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing/synctest"
	"time"
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
	idems map[string]string // the effect that each idempotency key is for, and the key of each effect
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
	p.site, p.mood, p.turns = openSite(p.tools, s.Stored), serving, map[turnKey]*turn{}
	p.first, p.split = map[intent]*firstTurn{}, map[split]int{}
	p.paid = map[string]*payments{}
	p.site.desk.feel(serving)
	if s.Stored {
		p.tell("-- with a store")
	}
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

// play does one command. A command about rounds or requests does nothing if
// there are none.
func (p *player) play(c Command) (steps int, err error) {
	switch c.Do {
	case start:
		_, err := p.send(&request{at: c.At, who: caller{user: c.User, caps: c.Caps}, tool: p.tools[c.Tool%len(p.tools)], args: c.Args}, "starts")
		return 1, err
	case legacy:
		return 1, p.legacy(c)
	case task:
		return p.task(c)
	case again:
		if len(p.sent) == 0 {
			return 0, nil
		}
		_, err := p.send(p.sent[max(0, len(p.sent)-1-c.Latest)], "sends again:")
		return 1, err
	case restart:
		worded := p.site.instance(c.At).worded
		if c.Reworded {
			worded = 1 - worded
		}
		p.tell("-- %s restarts, wording %d, killed: %t", instanceNames[c.At], worded, c.Killed)
		if c.Killed {
			p.site.instance(c.At).link.cut.Store(true)
		}
		p.site.restart(c.At, worded)
		return 1, nil
	case desks:
		p.mood = c.Mood
		p.site.desk.feel(c.Mood)
		p.tell("-- the desk %s", c.Mood)
		return 1, nil
	case wait:
		p.tell("-- %s pass", c.Wait)
		return 1, p.pass(c.Wait)
	case closed:
		p.tell("-- A and B are closed, and %s pass", closedFor)
		worded := [2]int{p.site.instance(0).worded, p.site.instance(1).worded}
		for at := range worded {
			p.site.stop(at)
		}
		time.Sleep(closedFor)
		for at, worded := range worded {
			p.site.restart(at, worded)
		}
		return 1, p.pass(2 * time.Minute)
	case spoilt:
		if p.site.store == nil {
			return 0, nil
		}
		p.tell("-- the first turns are those of another release")
		clear(p.first)
		return 1, p.site.store.spoil(p.context)
	}
	if len(p.rounds) == 0 {
		return 0, nil
	}
	return p.reply(c, p.rounds[max(0, len(p.rounds)-1-c.Latest)])
}

// closedFor is longer than the records of most calls live.
const closedFor = 12 * time.Hour

// pass lets time pass, in which frames end and instances look for calls that were abandoned. None of
// those has completed.
func (p *player) pass(d time.Duration) error {
	before := p.site.desk.count()
	time.Sleep(d)
	synctest.Wait()
	_, undone := p.site.desk.since(before)
	for key, t := range p.turns {
		if t.outcome != nil && t.outcome.kind == completes && slices.Contains(undone, p.names[key.call]) {
			return fmt.Errorf("it undid %q of a call that has completed", undoable)
		}
	}
	return nil
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
		return 2, p.sendAll("answers twice at once", p.site.desk.count(), nil, r, r)
	case replay:
		return p.replay(r, c.At)
	case leave, dies, stalls:
		return p.interrupt(c, r)
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
	got := <-p.request(p.context, r)
	if got.err != nil {
		return nil, got.err
	}
	p.tell("    -> %s", got.outcome)
	if err := p.book(before, want); err != nil {
		return nil, err
	}
	if err := want.meet(got.outcome); err != nil {
		return nil, err
	}
	return p.accept(r, want, got.token)
}

// sendAll makes equal requests at once. Which of them the engine serves first is not
// known. An earlier request may still be running, with the effects since before.
func (p *player) sendAll(doing string, before ledger, earlier []*prediction, requests ...*request) error {
	p.sent = append(p.sent, requests[0])
	var want []*prediction
	for _, r := range requests {
		want = append(want, p.predict(r))
		p.tell("%s", p.describe(r, doing))
	}
	var replies []<-chan received
	for _, r := range requests {
		replies = append(replies, p.request(p.context, r))
	}
	got := make([]received, len(requests))
	for i := range got {
		if got[i] = <-replies[i]; got[i].err != nil {
			return got[i].err
		}
		p.tell("    -> %s", got[i].outcome)
	}
	meet := func() error {
		if err := p.book(before, slices.Concat(earlier, want)...); err != nil {
			return err
		}
		for i := range want {
			if err := want[i].meet(got[i].outcome); err != nil {
				return err
			}
		}
		return nil
	}
	if err := meet(); err != nil {
		slices.Reverse(want)
		if len(want) == 1 || meet() != nil {
			return err
		}
	}
	for i := range want {
		if _, err := p.accept(requests[i], want[i], got[i].token); err != nil {
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
	if r.from == nil {
		line += " " + r.tool.name
	} else {
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

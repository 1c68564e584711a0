package model

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// interrupt answers a round in which its client hangs up, its instance dies, or its handler
// stalls, and sends the request again.
func (p *player) interrupt(c Command, r *request) (steps int, err error) {
	s := r.from.state
	stored, holder := s.turn > 0, s.frame
	if c.Do != leave && (!stored || holder != nil && holder.holder != p.site.instance(r.at) || c.Do == stalls && s.tool.style == stepList) {
		return 0, nil
	}
	in := incident{what: c.Do, nth: c.Nth, after: c.After}
	expected := in
	p.incident = &expected
	want := p.predict(r)
	p.incident = nil
	p.sent = append(p.sent, r)
	p.tell("%s, at effect %d, after it: %t", p.describe(r, string(c.Do)), c.Nth, c.After)
	ctx, hangUp := context.WithCancel(p.context)
	defer hangUp()
	switch c.Do {
	case leave:
		in.do = func() { in.hangUp(); hangUp() }
		p.site.instance(r.at).hungUp++
	case dies:
		in.do = func() { p.site.instance(r.at).link.cut.Store(true) }
	}
	before := p.site.desk.count()
	p.site.desk.expect(&in)
	got := <-p.request(ctx, r)
	if !want.reached || c.Do == stalls {
		p.site.desk.expect(nil)
		if got.err != nil {
			return 1, got.err
		}
		p.tell("    -> %s", got.outcome)
		if err := p.book(before, want); err != nil {
			return 1, err
		}
		if err := want.meet(got.outcome); err != nil {
			return 1, err
		}
		_, err := p.accept(r, want, got.token)
		return 1, err
	}
	if c.Do == dies {
		p.site.restart(r.at, p.site.instance(r.at).worded)
	}
	if !stored {
		time.Sleep(patience)
		p.site.desk.expect(nil)
		want.undoes = mayUndo
		return 1, p.book(before, want)
	}
	if c.Replayed {
		if err := p.book(before, want); err != nil {
			return 1, err
		}
		steps, err := p.replay(r, c.At)
		if err == nil {
			_, err = p.send(r, "sends again:")
		}
		return steps + 2, err
	}
	again, sibling := *r, *r
	sibling.at = 1 - r.at
	all := []*request{&again}
	if c.At == 1 {
		all[0] = &sibling
	}
	if c.Both && p.site.instance(0).worded == p.site.instance(1).worded {
		all = []*request{&again, &sibling}
	}
	return 1 + len(all), p.sendAll("sends again:", before, []*prediction{want}, all...)
}

// replay plays the call of a request from its first one, as a client does that resumes from its top.
func (p *player) replay(r *request, at int) (steps int, err error) {
	chain := []*request{r}
	for ; r.from != nil; chain = append(chain, r) {
		r = r.from.by
	}
	var from *round
	for _, was := range slices.Backward(chain) {
		again := *was
		if from != nil {
			again = *from.answered(nil)
			for key := range again.manners {
				again.manners[key] = cmp.Or(was.manners[key], right)
			}
			again.at = was.at
		}
		if at == 1 && was.at != elsewhere {
			again.at = 1 - was.at
		}
		from, err = p.send(&again, string(replay))
		if steps++; err != nil || from == nil {
			return steps, err
		}
	}
	return steps, nil
}

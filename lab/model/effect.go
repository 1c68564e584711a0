package model

import "fmt"

// effect runs an item's effect, unless it is remembered. It is false if the round ends there.
func (w *world) effect(p *prediction, s *state, i int, ran map[string]*effectRun, told told) bool {
	it, remembered, bare := s.tool.plan.items[i], s.effects, s.tool.style == native
	if bare {
		remembered = ran // in one entry alone
	}
	run, failed, goesOn := remembered[it.effect], s.failures[i], true
	if run == nil && !failed {
		run, failed, goesOn = w.settle(p, s, it)
		if run == nil && !failed && goesOn {
			run, failed, goesOn = w.run(p, s, it, bare)
		}
		if failed {
			s.failures[i] = s.tool.style.linear()
		} else if run != nil {
			remembered[it.effect] = run
		}
	}
	if failed {
		told.failed(i, it.effect)
	} else if run != nil {
		p.tell = append(p.tell, func() { told.effect(i, it.effect, run.told()) })
	}
	if goesOn && p.reached && w.incident.what == stalls {
		w.stalled(p, s)
		return false
	}
	return goesOn
}

// settle finds out about an effect in doubt. Neither run nor failed says that it may run.
func (w *world) settle(p *prediction, s *state, it item) (run *effectRun, failed, goesOn bool) {
	doubt := s.doubts[it.effect]
	switch {
	case doubt == nil, it.settles == repeat:
		return nil, false, true
	case it.settles == checks:
		delete(s.doubts, it.effect)
		return w.find(s, it), false, true
	}
	goesOn = s.tool.tolerates(it) && s.turn == 0
	if !goesOn {
		p.stop(stopUnknown)
		p.free = s.turn == 0
	}
	return nil, goesOn, goesOn
}

// entitled is the same for two attempts if they have the same idempotency key.
func (s *state) entitled(it item) string {
	return fmt.Sprint(s.call, it.effect, s.attempted(it.effect, it.free))
}

// pay notes that an effect has happened, for a check.
func (w *world) pay(s *state, it item, run *effectRun) {
	if run.paid {
		key := s.entitled(it)
		if w.paid[key] == nil {
			w.paid[key] = &payments{}
		}
		w.paid[key].runs = append(w.paid[key].runs, run)
	}
}

// find returns the effect that a check finds, nil if nothing happened.
func (w *world) find(s *state, it item) *effectRun {
	if found := w.paid[s.entitled(it)]; found != nil {
		return &effectRun{key: it.effect, paid: true, found: found}
	}
	return nil
}

// run runs an effect at the desk.
func (w *world) run(p *prediction, s *state, it item, bare bool) (run *effectRun, failed, goesOn bool) {
	if p.reached && w.incident.what == leave && s.turn == 0 && !bare {
		return nil, false, false // its round has ended
	}
	m := w.mood
	if bare && m == hanging {
		m = refusing
	}
	run = &effectRun{key: it.effect, fails: w.mood != serving, paid: m.pays(), again: it.settles == repeat, before: s.attempted(it.effect, it.free)}
	in := w.incident
	if in != nil {
		in.nth--
	}
	if in != nil && in.nth == 0 {
		p.reached = true
		if in.what == dies {
			p.cut = true
			if run.paid = run.paid && in.after; in.after {
				p.runs = append(p.runs, run)
				w.pay(s, it, run)
			}
			s.doubts[it.effect] = run
			return nil, false, false
		}
	}
	p.runs = append(p.runs, run)
	w.pay(s, it, run)
	checked := it.settles == checks && !bare && (m == breaking || m == unsure || m == losing)
	if found := w.find(s, it); checked && found != nil {
		delete(s.doubts, it.effect)
		return found, false, true
	}
	switch {
	case m == serving:
		delete(s.doubts, it.effect)
		return run, false, true
	case m.doubtful() && !bare && !checked:
		s.doubts[it.effect] = run
	}
	switch {
	case m == panicked:
		p.stop(stopPanic)
	case s.tool.tolerates(it):
		return nil, true, true
	default:
		p.stop(failedEffect)
		p.free = m == busy
	}
	return nil, true, false
}

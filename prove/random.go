package prove

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// Random traces, each shrunk to the shortest that shows its fault.

const (
	defaultTraces = 6
	longestTrace  = 9
	mostShrinks   = 40
)

func randomTraces(t *trial) {
	t.seesEffects()
	n := cmp.Or(t.options.Traces, defaultTraces)
	for i := range n {
		seed := t.options.Seed + uint64(i)
		acts := t.randomTrace(rand.New(rand.NewPCG(seed, 1)))
		if _, _, too := t.excess(acts); too == "" {
			continue
		}
		shortest := t.shrunk(acts)
		p, _, too := t.excess(shortest)
		if too == "" {
			continue // it came by chance; the strays tell of it
		}
		t.showTrace(shortest)
		t.finding.Seed, t.finding.Curl = seed, curlOf(t.url, shortest, p.replies)
		t.endAt(t.repeats(), p.last(), "%s in %d requests (seed %d)", too, len(shortest), seed)
	}
	t.because("%d traces", n)
}

// randomTrace makes acts that may follow each other, of those that the subject is able to.
func (t *trial) randomTrace(r *rand.Rand) []act {
	acts, rounds := []act{begin()}, []int{0}
	places, manners := []place{here, here, here, anew}, []manner{once, once, once, once, atOnce, hangUp}
	if t.subject.Fresh != nil && t.movable() {
		places = append(places, there)
	}
	if t.subject.Other != nil && !t.stateless() {
		places = append(places, another)
	}
	says := []say{yes, yes, yes, yes, others, decline, silent}
	if slices.ContainsFunc(t.honest.questions(), t.canRefuse) {
		says = append(says, no)
	}
	for len(acts) < longestTrace {
		on := r.IntN(len(acts))
		if r.IntN(3) > 0 {
			on = len(acts) - 1
		}
		if rounds[on] >= t.final() || acts[on].how == hangUp {
			if r.IntN(2) == 0 && rounds[len(acts)-1] >= t.final() {
				break
			}
			on = r.IntN(len(acts))
			for rounds[on] >= t.final() || acts[on].how == hangUp {
				on = max(on-1, 0)
			}
		}
		a := answer(on, says[r.IntN(len(says))])
		a.at, a.how = places[r.IntN(len(places))], manners[r.IntN(len(manners))]
		acts, rounds = append(acts, a), append(rounds, rounds[on]+1)
	}
	return acts
}

// movable says that a call goes on at another instance.
func (t *trial) movable() bool {
	if t.moves == nil {
		p := t.perform(append(straight(t.final()-1), act{on: t.final() - 1, say: yes, at: there, again: -1}))
		moves := p.last().complete()
		t.moves = &moves
	}
	return *t.moves
}

// shrunk takes acts out of a trace, and the peculiarities of those that stay, for as long as the
// fault shows.
func (t *trial) shrunk(acts []act) []act {
	tries := 0
	shows := func(shorter []act) bool {
		if tries++; tries > mostShrinks {
			return false
		}
		_, _, too := t.excess(shorter)
		return too != ""
	}
	for again := true; again; {
		again = false
		for i := len(acts) - 1; i > 0; i-- {
			if shorter, ok := without(acts, i); ok && shows(shorter) {
				acts, again = shorter, true
			}
		}
	}
	for i := range acts {
		for _, simpler := range []act{{acts[i].on, yes, here, once, -1, false}, {acts[i].on, acts[i].say, here, once, -1, false}, {acts[i].on, acts[i].say, acts[i].at, once, -1, false}} {
			if i == 0 || simpler == acts[i] {
				continue
			}
			changed := slices.Clone(acts)
			if changed[i] = simpler; shows(changed) {
				acts = changed
				break
			}
		}
	}
	return acts
}

// without is a trace without one act, if no other one answers its reply.
func without(acts []act, i int) (shorter []act, ok bool) {
	for at, a := range acts {
		if a.on == i || a.again == i {
			return nil, false
		}
		if at == i {
			continue
		}
		if a.on > i {
			a.on--
		}
		if a.again > i {
			a.again--
		}
		shorter = append(shorter, a)
	}
	return shorter, true
}

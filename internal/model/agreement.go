package model

import (
	"fmt"
	"strings"
)

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

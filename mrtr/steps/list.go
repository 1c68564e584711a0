package steps

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/internal/digest"
)

// list is a list of steps that was built, and does not change any more.
type list[In, Out any] struct {
	steps  []*step[In]
	end    func(ctx context.Context, at *At[In]) (Out, error)
	detach map[int]bool
	prints []string // of the list's beginnings, by their length
}

const stepsPrint = "a list of steps:"

func newList[In, Out any](b *List[In, Out]) *list[In, Out] {
	l := &list[In, Out]{steps: slices.Clone(b.steps), end: b.end, detach: maps.Clone(b.detach)}
	var text []byte
	for i := 0; ; i++ {
		l.prints = append(l.prints, stepsPrint+strconv.Itoa(i)+"."+digest.Short(text))
		if i == len(l.steps) {
			return l
		}
		text = l.steps[i].appendShape(text)
	}
}

// continues reports whether the list is the one that a state names, or that with more steps
// behind it.
func (l *list[In, Out]) continues(print string) bool {
	length, _, _ := strings.Cut(strings.TrimPrefix(print, stepsPrint), ".")
	n, err := strconv.Atoi(length)
	return err == nil && n >= 0 && n < len(l.prints) && l.prints[n] == print
}

// differs is the error of a list that does not go on from a state. It names the change if the
// history shows it.
func (l *list[In, Out]) differs(p *mrtr.Pass, print string) error {
	if !strings.HasPrefix(print, stepsPrint) {
		return nil
	}
	taken := make([]bool, len(l.steps))
	for _, key := range p.Keys() {
		own, filed := strings.CutPrefix(key, prefix)
		if _, isEffect := p.Happened(key); !filed && isEffect { // a Once inside a step
			continue
		}
		at := slices.IndexFunc(l.steps, func(s *step[In]) bool { return s.key == own })
		if at < 0 {
			return p.Diverge("step %q is gone from its list of steps", own)
		}
		taken[at] = true
		if lost := p.Mismatch(key, reflect.New(l.steps[at].typ).Interface()); lost != "" {
			return p.Diverge("the value of step %q %s", own, lost)
		}
	}
	if first := slices.Index(taken, false); first >= 0 && slices.Contains(taken[first:], true) {
		return p.Diverge("step %q now comes before steps that were taken", l.steps[first].key)
	}
	return p.Diverge("its list of steps")
}

// round is what a list keeps for one round, however often it is entered.
type round struct {
	asked  map[string]mrtr.AnyQuestion
	walked bool // once to a question, whose answer stood in: the values above it hold
}

// enter goes through the list: what happened is read, and what did not is taken.
func (l *list[In, Out]) enter(ctx context.Context, p *mrtr.Pass, in In) (_ *mrtr.IncompleteResult, none Out, _ error) {
	own, ok := (*p.Scratch()).(*round)
	if !ok {
		own = &round{asked: map[string]mrtr.AnyQuestion{}}
		*p.Scratch() = own
	}
	at := &At[In]{Call: p.Call(), In: in, pass: p, asked: own.asked, steps: l.steps, values: make([]value, len(l.steps))}
	for i, s := range l.steps {
		var err error
		if at.values[i], err = s.load(p); err != nil {
			return nil, none, p.Diverge("the value of step %q is of another type", s.key)
		}
	}
	var questions []mrtr.AnyQuestion
	for i, s := range l.steps {
		if len(questions) > 0 && !s.isTogether() {
			break
		}
		if l.detach[i] {
			at.Call.Detach()
		}
		q, err := l.step(ctx, at, i, own.walked)
		if err != nil {
			return nil, none, err
		}
		if q != nil {
			questions = append(questions, q)
		}
	}
	own.walked = true
	if len(questions) > 0 {
		return mrtr.Need(questions...), none, nil
	}
	if l.detach[len(l.steps)] {
		at.Call.Detach()
	}
	return l.finish(ctx, at)
}

// step takes a step, or finds that its value holds. It returns the question to ask.
func (l *list[In, Out]) step(ctx context.Context, at *At[In], i int, walked bool) (mrtr.AnyQuestion, error) {
	s, v := l.steps[i], &at.values[i]
	if v.happened && v.answered && !walked && s.mustHold(at.pass) {
		holds, q, err := s.holds(ctx, at)
		switch {
		case err != nil:
			return nil, err
		case holds:
		case !l.goBack(at, i):
			return nil, at.pass.Diverge("question %q is not worded as it was", s.key)
		default:
			*v = value{}
			return q, nil
		}
	}
	if v.happened && s.asks {
		return nil, nil
	}
	if s.asks {
		at.pass.Enter(s.key)
	}
	return s.take(ctx, at, v)
}

// mustHold reports whether an answer is held against the question that its step asks today: a
// person's consent in every round, and any answer after a deployment. Within one version the
// choices of a question may change between two rounds.
func (s *step[In]) mustHold(p *mrtr.Pass) bool {
	return isYesOrNo(s.typ) || p.Deployed()
}

// goBack forgets the steps that were taken because of the answer to step i, those behind the ones
// that are asked together with it. It is false where one of them did something or may have, and
// where any followed from a yes.
func (l *list[In, Out]) goBack(at *At[In], i int) bool {
	next := i + 1
	for next < len(l.steps) && l.steps[next].isTogether() {
		next++
	}
	var follow []int
	for j := next; j < len(l.steps); j++ {
		if s := l.steps[j]; at.values[j].happened && !s.free {
			if !s.asks || isYesOrNo(l.steps[i].typ) {
				return false
			}
			follow = append(follow, j)
		}
	}
	if len(follow) > 0 && !at.pass.Replaced() || !at.pass.Forget(l.steps[i].key) {
		return false
	}
	for _, j := range follow {
		at.pass.Unnote(prefix + l.steps[j].key)
		if !at.pass.Forget(l.steps[j].key) {
			return false
		}
		at.values[j] = value{}
	}
	return true
}

// finish runs the end.
func (l *list[In, Out]) finish(ctx context.Context, at *At[In]) (_ *mrtr.IncompleteResult, out Out, err error) {
	err = at.pass.FinishOnce(ctx, prefix+endKey, func() (err error) {
		at.pass.Enter(endKey)
		out, err = l.end(ctx, at)
		return err
	})
	return nil, out, err
}

// asking is a step that asks.
type asking[In, T any] struct {
	key      string
	question Question[In, T]
}

// make makes the question, once in a round.
func (a asking[In, T]) make(ctx context.Context, at *At[In]) (mrtr.Question[T], error) {
	if q, ok := at.asked[a.key].(mrtr.Question[T]); ok {
		return q, nil
	}
	q, err := a.question(ctx, at)
	if err == nil {
		err = q.Err()
	}
	if _, known := q.KnownValue(); err == nil && !known && q.Key() != a.key {
		err = misuse("step %q asks a question with another key, %q", a.key, q.Key())
	}
	if err == nil {
		at.asked[a.key] = q
	}
	return q, err
}

func (a asking[In, T]) take(ctx context.Context, at *At[In], v *value) (mrtr.AnyQuestion, error) {
	q, err := a.make(ctx, at)
	switch {
	case errors.Is(err, mrtr.ErrSkip):
		at.pass.Note(prefix+a.key, nil)
		*v = value{happened: true, skipped: true}
		return nil, nil
	case err != nil:
		return nil, err
	}
	known, ok := q.KnownValue()
	if !ok {
		return q, nil
	}
	text, err := json.Marshal(known)
	if err != nil {
		return nil, misuse("the value of step %q cannot be remembered: %v", a.key, err)
	}
	at.pass.Note(prefix+a.key, text)
	*v, err = loadNote[T](at.pass, a.key)
	if err != nil {
		return nil, misuse("the value of step %q is not a %s: %v", a.key, reflect.TypeFor[T](), err)
	}
	return nil, nil
}

// holds makes the question anew, and reports whether the answer was given to its words.
func (a asking[In, T]) holds(ctx context.Context, at *At[In]) (holds bool, _ mrtr.AnyQuestion, _ error) {
	at.pass.Enter(a.key)
	q, err := a.make(ctx, at)
	_, known := q.KnownValue()
	switch {
	case known, errors.Is(err, mrtr.ErrSkip):
		return false, nil, at.pass.Diverge("question %q is no longer asked", a.key)
	case err != nil:
		return false, nil, err
	}
	return at.pass.Answered(q), q, nil
}

// loadAsk reads the value of an asking step: an answer, or what Note has of a question that
// nobody was asked.
func loadAsk[T any](key string) func(p *mrtr.Pass) (value, error) {
	return func(p *mrtr.Pass) (value, error) {
		if !slices.Contains(p.Asked(), key) {
			return loadNote[T](p, key)
		}
		own, ok := mrtr.AnswerAs[T](p, key)
		return value{happened: ok, answered: ok, of: own}, nil
	}
}

func loadNote[T any](p *mrtr.Pass, key string) (v value, err error) {
	text, ok := p.Noted(prefix + key)
	switch {
	case !ok:
		return v, nil
	case len(text) == 0:
		return value{happened: true, skipped: true}, nil
	}
	own, err := readJSON[T](text)
	return value{happened: true, of: own}, err
}

// loadDo reads the value of a doing step.
func loadDo[T any](key string) func(p *mrtr.Pass) (value, error) {
	return func(p *mrtr.Pass) (value, error) {
		text, ok := p.Happened(prefix + key)
		if !ok {
			return loadNote[T](p, key)
		}
		own, err := readJSON[T](text)
		return value{happened: true, of: own}, err
	}
}

func takeDo[In, T any](ctx context.Context, at *At[In], key string, v *value, f func(ctx context.Context, at *At[In], idem string) (T, error), opts []*mrtr.EffectOptions[T]) error {
	if v.happened && v.skipped {
		return nil
	}
	own, err := mrtr.Once(ctx, at.pass.CallOf(styleName), key, func(ctx context.Context, idem string) (T, error) {
		at.pass.Enter(key)
		return f(ctx, at, idem)
	}, opts...)
	switch {
	case errors.Is(err, mrtr.ErrSkip):
		at.pass.Note(prefix+key, nil)
		*v = value{happened: true, skipped: true}
		return nil
	case err != nil:
		return err
	}
	*v = value{happened: true, of: own}
	return nil
}

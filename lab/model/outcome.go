package model

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mrtr-go/sdk/internal/wire"
)

// outcome is how a request is answered, as far as the model predicts it.
type outcome struct {
	kind kind
	// asks are the messages of the questions by key, in the order of the keys;
	// reason is that of an error result, and code that of a JSON-RPC error.
	asks   []asked
	reason string
	code   int64
	text   string
}

type kind string

const (
	asksUser  kind = "asks"
	completes kind = "completes"
	stops     kind = "stops"
	refuses   kind = "refuses"
)

// asked is a question on the wire.
type asked struct{ key, message string }

// Reasons of error results, as the errors' types name them.
const (
	stopDeclined    = "declined"
	stopCancelled   = "cancelled"
	stopUnanswered  = "unanswered"
	stopCannotAsk   = "client_cannot_be_asked"
	stopFrameGone   = "frame_gone"
	stopDiverged    = "diverged"
	stopTooMany     = "limit_exceeded"
	stopNoAnswer    = "legacy_failed"
	failedEffect    = "execution"
	stopUnknown     = "outcome_unknown"
	stopPanic       = "panic"
	stopUsage       = "usage"
	invalidParams   = -32602
	sendAgain       = -31001
	lacksCapability = -32021
)

func (o outcome) String() string {
	switch o.kind {
	case asksUser:
		keys := make([]string, len(o.asks))
		for i, q := range o.asks {
			keys[i] = q.key
			if strings.Contains(q.message, "(reworded)") {
				keys[i] += " (reworded)"
			}
		}
		return "asks " + strings.Join(keys, ", ")
	case stops:
		return "stops: " + o.reason
	case refuses:
		return fmt.Sprintf("refuses with %d", o.code)
	case completes:
		return fmt.Sprintf("completes: %q", o.text)
	}
	return string(o.kind)
}

// class is the outcome without what differs from call to call, for counting.
func (o outcome) class() string {
	switch o.kind {
	case stops:
		return string(stops) + " " + o.reason
	case refuses:
		return fmt.Sprintf("%s %d", refuses, o.code)
	}
	return string(o.kind)
}

// same reports whether a reply is the predicted one. The text of a question may
// have a note behind it.
func (o outcome) same(got outcome) bool {
	return o.kind == got.kind && o.reason == got.reason && o.code == got.code && o.text == got.text &&
		slices.EqualFunc(o.asks, got.asks, func(want, got asked) bool {
			return want.key == got.key && (got.message == want.message || strings.HasPrefix(got.message, want.message+"\n"))
		})
}

// observed reads a reply.
func observed(r *wire.Reply, modern bool) (outcome, error) {
	switch {
	case r.Error != nil:
		return outcome{kind: refuses, code: r.Error.Code}, nil
	case r.Incomplete():
		if r.ResultType != "input_required" || r.State == "" || !modern {
			return outcome{}, fmt.Errorf("an incomplete result of type %q, state of %d bytes", r.ResultType, len(r.State))
		}
		o := outcome{kind: asksUser}
		for _, q := range r.Asks {
			o.asks = append(o.asks, asked{q.Key, q.Message})
		}
		return o, nil
	case r.State != "":
		return outcome{}, fmt.Errorf("a final result with a state")
	case r.IsError:
		var result struct {
			Meta map[string]any `json:"_meta"`
		}
		if err := json.Unmarshal(r.Result, &result); err != nil {
			return outcome{}, err
		}
		reason, _ := result.Meta[reasonTag].(string)
		return outcome{kind: stops, reason: reason}, nil
	}
	var out output
	if err := json.Unmarshal(r.Structured, &out); err != nil {
		return outcome{}, fmt.Errorf("reading a final result: %w", err)
	}
	return outcome{kind: completes, text: out.Told}, nil
}

// book holds the effects that ran since a moment against those of predictions, one after
// the other, and fills these in.
func (p *player) book(before ledger, want ...*prediction) error {
	runs, undone := p.site.desk.since(before)
	if !want[0].turns { // requests at once take turns
		runs = slices.SortedStableFunc(slices.Values(runs), func(a, b run) int { return strings.Compare(a.request, b.request) })
	}
	for _, w := range want {
		n := min(len(runs), len(w.runs))
		if w == want[len(want)-1] {
			n = len(runs)
		}
		if err := w.ran(runs[:n]); err != nil {
			return err
		}
		for i, r := range runs[:n] {
			if err := p.note(w, w.runs[i], r); err != nil {
				return err
			}
		}
		runs = runs[n:]
	}
	for _, w := range want {
		for _, tell := range w.tell {
			tell()
		}
	}
	return p.undid(undone, want)
}

// undid holds the effects that were undone against predictions of one call.
func (p *player) undid(undone []string, want []*prediction) error {
	name, known := p.names[want[0].call]
	n, least, most := 0, 0, 0
	for _, call := range undone {
		if known && call == name {
			n++
		}
	}
	for _, w := range want {
		if w.undoes == undoes {
			least++
		}
		if w.undoes != keeps {
			most++
		}
	}
	if n < least || n > most {
		return fmt.Errorf("it undid %q %d times, where the model undoes it %d to %d times", undoable, n, least, most)
	}
	return nil
}

// ran holds the effects that ran against the prediction.
func (want *prediction) ran(runs []run) error {
	if len(runs) != len(want.runs) {
		return fmt.Errorf("it ran the effects [%s], where the model runs [%s]", names(runs), want.names())
	}
	for i, r := range runs {
		if r.key != want.runs[i].key || r.failed != want.runs[i].fails || r.paid != want.runs[i].paid {
			return fmt.Errorf("it ran the effects [%s], where the model runs [%s]", names(runs), want.names())
		}
		want.runs[i].value = r.value
	}
	return nil
}

// meet holds an outcome against the prediction.
func (want *prediction) meet(got outcome) error {
	if want.recalled != nil {
		want.outcome = want.recalled.outcome
	}
	if !want.same(got) {
		return fmt.Errorf("the model says that it %s", want.outcome)
	}
	return nil
}

// accept takes a reply that agrees with its prediction into the world.
func (p *player) accept(r *request, want *prediction, token string) (*round, error) {
	p.tally(r.tool.style, want.outcome)
	if want.next == nil {
		return nil, nil
	}
	for _, known := range p.rounds {
		switch {
		case known.token != token:
		case want.recalled != nil && known.state == want.next:
			return known, nil
		default:
			return nil, fmt.Errorf("two rounds have the same state")
		}
	}
	next := &round{token: token, state: want.next, by: r}
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
	if once := "paid " + r.call + r.key; want.turns && r.paid && !expected.again {
		if p.idems[once] != "" {
			return fmt.Errorf("effect %q happened twice in a call whose rounds are remembered", r.key)
		}
		p.idems[once] = r.idem
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

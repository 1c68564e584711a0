package model

import (
	"strings"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
)

// plan is the course of a tool, in any style.
type plan struct {
	name  string
	items []item
}

// item is one thing that a tool does: it asks questions in one round, runs an
// effect, or ends the call.
type item struct {
	ask      []*question
	effect   string
	tolerant bool // the handler goes on if the effect fails
	settles  settling
	free     bool   // the effect stands whatever the answers
	repeats  bool   // the effect is asked for although it happened in this entry
	quits    string // the handler ends its call if this question was answered by "false"
}

// settling is how a tool deals with an effect in doubt.
type settling string

const (
	leaves settling = "" // to whoever reads the error
	repeat settling = "again"
	checks settling = "check"
)

// options are those of the item's effect.
func (it item) options(d *door) *mrtr.EffectOptions[int] {
	o := &mrtr.EffectOptions[int]{Again: it.settles == repeat, AnyAnswers: it.free, Within: effectTime}
	if it.settles == checks {
		o.Check = d.find
	}
	return o
}

func asks(questions ...*question) item { return item{ask: questions} }
func effect(key string) item           { return item{effect: key} }
func attempt(key string) item          { return item{effect: key, tolerant: true} }

// plans have one to three questions and effects between them; the last one has as
// many rounds as a call may have, and one more. No effect stands before a question
// that every client must be able to answer, so that it makes no difference whether
// a client is refused at that question or before the tool starts.
var plans = []plan{
	{"one", []item{asks(seat("seat")), effect("hold")}},
	{"two", []item{asks(seat("seat")), effect("hold"), asks(pay), effect("charge")}},
	{"three", []item{
		asks(seat("seat")), attempt("mail"), asks(party), attempt("mail"), effect("hold"), asks(terms, pay), effect("charge"),
	}},
	{"client", []item{asks(folders), effect("index"), asks(motto), effect("print")}},
	{"early", []item{asks(party), effect("hold"), effect("charge"), asks(note)}},
	{"lenient", []item{asks(pay, note), effect("hold")}},
	{"settled", []item{
		asks(seat("seat")), {effect: "mail", tolerant: true, settles: checks}, asks(party), {effect: "mail", tolerant: true, settles: checks},
		{effect: "page", tolerant: true, settles: repeat}, asks(note), {effect: "page", settles: repeat}, effect("hold"),
	}},
	{"free", []item{asks(seat("seat")), {effect: "count", free: true}, asks(pay), {quits: "pay"}, effect("hold"), asks(party), effect("charge")}},
	{"repeated", []item{asks(seat("seat")), effect("hold"), asks(note), {effect: "hold", repeats: true}, effect("charge")}},
	{"long", []item{
		asks(seat("q1")), asks(seat("q2")), asks(seat("q3")), effect("hold"), asks(seat("q4")), asks(seat("q5")),
		asks(seat("q6")), asks(seat("q7")), asks(seat("q8")), asks(seat("q9")), asks(seat("q10")),
	}},
}

// styleName names a handler style.
type styleName string

const (
	native    styleName = "native"
	once      styleName = "once"
	stepList  styleName = "steps"
	coroutine styleName = "coroutine"
	journal   styleName = "journal"
	resumable styleName = "resumable"
	versions  styleName = "versions"
	answered  styleName = "given"
)

var styleNames = []styleName{native, once, stepList, coroutine, journal, resumable, versions, answered}

// The promises of the styles, as far as they differ.

// holds: a frame waits in the process between two rounds.
func (s styleName) holds() bool { return s == coroutine || s == resumable }

// replays: a call goes on without its frame, and compares its questions with those
// of the journal.
func (s styleName) replays() bool { return s == journal || s == resumable }

// linear: a failure that the code went on from is met again.
func (s styleName) linear() bool { return s == coroutine || s.replays() }

// again: a round that was cut off runs again, by its notes.
func (s styleName) again() bool { return s == stepList || s.replays() }

// guarded: every entry starts at the top, and looks each answer up.
func (s styleName) guarded() bool { return s == native || s == once || s == versions || s == answered }

// tool is a tool of the servers.
type tool struct {
	name  string
	plan  plan
	style styleName
}

// asked is the question that came over a session: its key leads its message.
func (t *tool) asked(q wire.Question) *question {
	for _, it := range t.plan.items {
		for _, known := range it.ask {
			switch q.Method {
			case "roots/list":
				if known.medium == roots {
					return known
				}
			case "sampling/createMessage":
				if known.medium == sampling {
					return known
				}
			default:
				if strings.HasPrefix(q.Message, known.key+": ") {
					return known
				}
			}
		}
	}
	return nil
}

// order is the order in which the items happen. A native handler has its effects
// below the last guard, and one that is given its answers does all else there.
func (t *tool) order() []int {
	var first, last []int
	for i, it := range t.plan.items {
		switch {
		case it.quits != "" && t.style == stepList, it.repeats && (t.style == native || t.style == stepList):
		case it.effect != "" && t.style == native, len(it.ask) == 0 && t.style == answered:
			last = append(last, i)
		default:
			first = append(first, i)
		}
	}
	return append(first, last...)
}

// tolerates reports whether the tool goes on if an effect fails. A step that
// fails always ends its call.
func (t *tool) tolerates(it item) bool { return it.tolerant && t.style != stepList }

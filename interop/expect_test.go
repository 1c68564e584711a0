package interop_test

import (
	"encoding/json"
	"strings"
)

var styles = []string{
	"native", "sse_shim", "version_branch", "two_handlers", "once", "steps", "coroutine", "journal",
}

// byDefault are the styles whose legacy clients are not asked: they get the
// questions' defaults, and a refusal where a question has none.
var byDefault = map[string]bool{"native": true}

// between are the styles whose audit stands between the two questions. A decline of
// the second keeps its text in every style; with these a hint names the effects.
var between = map[string]bool{"once": true, "coroutine": true, "journal": true}

const auditWasDone = "\n\"audit\" was done: do not call the tool again without checking."

var (
	place = elicitation{"Which Springfield?", []string{"place"}}
	units = elicitation{"Which units?", []string{"units"}}
)

// outcome is the result of a call, the questions before it, and the traffic of
// both.
type outcome struct {
	Text       string
	Structured any
	IsError    bool
	Questions  []elicitation
	Traffic    traffic
	Error      string // the client's own, where it failed the call
}

// scenario is a call, with its outcome for a client that is asked and for one that
// gets the defaults. Its marks stand for the two in the table.
type scenario struct {
	name                   string
	cell                   cell
	asked, byDefault       outcome
	askedMark, defaultMark string
}

var (
	metric   = map[string]string{"units": "metric"}
	illinois = map[string]string{"place": "Springfield, Illinois", "units": "imperial"}

	lisbon = outcome{
		Text:       "Weather in Lisbon: 22°C, partly cloudy.",
		Structured: map[string]any{"location": "Lisbon", "temperature": 22.0, "unit": "C", "conditions": "partly cloudy"},
	}
	springfield = outcome{
		Text:       "Weather in Springfield, Illinois: 64°F, clear.",
		Structured: map[string]any{"location": "Springfield, Illinois", "temperature": 64.0, "unit": "F", "conditions": "clear"},
	}
	declined = outcome{Text: `Stopped: "units" was declined.`, IsError: true}
	// refused names the question that has no default; the rest of its words are
	// not for clients to rely on.
	refused = outcome{Text: "place", IsError: true}
)

func (o outcome) after(questions ...elicitation) outcome {
	o.Questions = questions
	return o
}

var scenarios = []scenario{
	{"Lisbon", cell{Location: "Lisbon", Answers: metric},
		lisbon.after(units), lisbon, "A", "d"},
	{"Springfield", cell{Location: "Springfield", Answers: illinois},
		springfield.after(place, units), refused, "A", "r"},
	{"decline in Lisbon", cell{Location: "Lisbon", Answers: metric, Decline: "units"},
		declined.after(units), lisbon, "D", "d"},
	{"decline in Springfield", cell{Location: "Springfield", Answers: illinois, Decline: "units"},
		declined.after(place, units), refused, "D", "r"},
}

const legend = "per style Lisbon, Springfield, decline in Lisbon, decline in Springfield:\n" +
	"A answered, D declined, d answered by default, r refused for want of a default, X failed"

// expected is the outcome and its mark. A legacy client sees one call and is
// sent an elicitation for each question; a modern one calls once more for each.
func expected(s scenario, style, era string) (outcome, string) {
	want, mark := s.asked, s.askedMark
	if era == "legacy" && byDefault[style] {
		want, mark = s.byDefault, s.defaultMark
	}
	if mark == "D" && between[style] {
		want.Text += auditWasDone
	}
	asked := len(want.Questions)
	want.Traffic = traffic{Calls: 1 + asked, ModernCalls: 1 + asked, InputRequired: asked}
	if era == "legacy" {
		want.Traffic = traffic{Calls: 1, Elicitations: asked}
	}
	return want, mark
}

// observed makes a driver's report comparable with want.
func observed(want outcome, got reply, seen traffic) outcome {
	o := outcome{Text: got.Text, IsError: got.IsError, Traffic: seen, Error: got.Error}
	if len(got.Elicitations) > 0 {
		o.Questions = got.Elicitations
	}
	if err := json.Unmarshal(got.Structured, &o.Structured); err != nil && len(got.Structured) > 0 {
		o.Structured = string(got.Structured)
	}
	if want.Text == refused.Text && strings.Contains(o.Text, refused.Text) {
		o.Text = refused.Text
	}
	return o
}

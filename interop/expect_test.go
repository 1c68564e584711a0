package interop_test

import "encoding/json"

var styles = []string{
	"native", "sse_shim", "version_branch", "two_handlers", "once", "steps", "coroutine", "journal",
}

// between are the styles whose audit stands between the two questions. A decline of
// the second keeps its text in every style; with these a hint names the effects.
var between = map[string]bool{"once": true, "steps": true, "coroutine": true, "journal": true}

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

// scenario is a call with its outcome, for which the mark stands in the table.
type scenario struct {
	name string
	cell cell
	want outcome
	mark string
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
)

func (o outcome) after(questions ...elicitation) outcome {
	o.Questions = questions
	return o
}

var scenarios = []scenario{
	{"Lisbon", cell{Location: "Lisbon", Answers: metric}, lisbon.after(units), "A"},
	{"Springfield", cell{Location: "Springfield", Answers: illinois}, springfield.after(place, units), "A"},
	{"decline in Lisbon", cell{Location: "Lisbon", Answers: metric, Decline: "units"}, declined.after(units), "D"},
	{"decline in Springfield", cell{Location: "Springfield", Answers: illinois, Decline: "units"}, declined.after(place, units), "D"},
}

const legend = "per style Lisbon, Springfield, decline in Lisbon, decline in Springfield:\n" +
	"A answered, D declined, X failed"

// expected is the outcome of a scenario. A legacy client sees one call and is sent an
// elicitation for each question; a modern one calls once more for each.
func expected(s scenario, style, era string) outcome {
	want := s.want
	if want.IsError && between[style] {
		want.Text += auditWasDone
	}
	asked := len(want.Questions)
	want.Traffic = traffic{Calls: 1 + asked, ModernCalls: 1 + asked, InputRequired: asked}
	if era == "legacy" {
		want.Traffic = traffic{Calls: 1, Elicitations: asked}
	}
	return want
}

// observed is the outcome that a driver reports.
func observed(got reply, seen traffic) outcome {
	o := outcome{Text: got.Text, IsError: got.IsError, Traffic: seen, Error: got.Error}
	if len(got.Elicitations) > 0 {
		o.Questions = got.Elicitations
	}
	if err := json.Unmarshal(got.Structured, &o.Structured); err != nil && len(got.Structured) > 0 {
		o.Structured = string(got.Structured)
	}
	return o
}

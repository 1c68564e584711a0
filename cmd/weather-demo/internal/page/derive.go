package page

import (
	"encoding/json"
	"net/http"
	"slices"
)

// passage is one run of a handler, as the page knows it from messages and
// events: its beginning and its end.
type passage struct {
	Tool    string   `json:"tool"`
	Legacy  bool     `json:"legacy"`
	Part    string   `json:"part"`    // the step that was entered, or ""
	HeldAt  int      `json:"held_at"` // the line of the statement behind which a held handler went on
	Charges int      `json:"charges"` // that it made
	Asked   []string `json:"asked"`   // the keys of the questions that ended it
	Error   string   `json:"error"`   // the type of the error that ended it
	Key     string   `json:"key"`     // which that error names
	Works   bool     `json:"works"`   // whether it is at work still, in a task
	// Again is true if the engine entered the handler again at once, because the
	// question had a default for a client that cannot be asked.
	Again bool `json:"again"`
	// Refused is true if the answer to the held handler was a decline.
	Refused bool `json:"refused"`
}

// way is which lines a run passed, and the statement at which it stopped to ask.
type way struct {
	Trace   []passed   `json:"trace"`
	Stopped *statement `json:"stopped"`
}

type passed struct {
	Line int    `json:"line"`
	Kind string `json:"kind"` // ran, effect, or remembered
	Stop bool   `json:"stop,omitempty"`
}

// serveWay derives which lines a run passed.
func (h *Handler) serveWay(w http.ResponseWriter, r *http.Request) {
	var p passage
	if err := json.NewDecoder(r.Body).Decode(&p); err != nil {
		http.Error(w, "The body must be a run.", http.StatusBadRequest)
		return
	}
	for _, s := range h.styles {
		if s.Tool != p.Tool {
			continue
		}
		for _, part := range s.handlerFor(p.Legacy).parts {
			if part.key == p.Part {
				writeJSON(w, derive(part, s.handlerFor(p.Legacy).Engine, p))
				return
			}
		}
	}
	http.Error(w, "There is no such handler.", http.StatusNotFound)
}

// derive follows a run. The handlers are straight lines between guards, so two
// events determine the lines between them. An uncertain line is left out.
func derive(p part, engine string, run passage) way {
	d := &derivation{part: p, engine: engine, run: run}
	body := p.body
	if run.HeldAt > 0 {
		body = behind(body, run.HeldAt)
	}
	d.follow(body, run.Refused)
	return d.way
}

type derivation struct {
	part   part
	engine string
	run    passage
	way    way
}

func (d *derivation) pass(from, to int, kind string) {
	for line := from; line <= to; line++ {
		d.way.Trace = append(d.way.Trace, passed{Line: line, Kind: kind})
	}
}

func (d *derivation) stop(s statement) {
	d.way.Trace[len(d.way.Trace)-1].Stop = true
	d.way.Stopped = &s
}

// stopsAt reports whether the run found no answer to the question.
func (d *derivation) stopsAt(s statement) bool {
	switch {
	case d.run.Again:
		return s.hasDefault
	case d.run.Error == "client_cannot_be_asked":
		return s.key == d.run.Key
	}
	return slices.Contains(d.run.Asked, s.key)
}

// follow passes statements, and reports whether the run has ended in them.
// failed is true if the expression before them returned an error.
func (d *derivation) follow(body []statement, failed bool) (ended bool) {
	var missing *statement // the last Answer found none
	for i, s := range body {
		switch s.Kind {
		case "if-err":
			d.pass(s.From, s.From, "ran")
			if failed {
				return d.follow(s.body, false)
			}
		case "if-missing":
			d.pass(s.From, s.From, "ran")
			if missing != nil {
				d.follow(s.body, false)
				d.stop(*missing)
				return true
			}
		case "if-legacy":
			d.pass(s.From, s.From, "ran")
			if d.run.Legacy && d.follow(s.body, false) {
				return true
			}
		case "answer":
			d.pass(s.From, s.To, "ran")
			if d.stopsAt(s) {
				missing = &s
			}
		case "ask", "over":
			d.pass(s.From, s.To, "ran")
			if d.stopsAt(s) {
				d.stop(s)
				if d.engine != "rerun" {
					return true
				}
				failed = true // that engine hands the handler an error to return
			}
		case "once":
			d.once(s)
		case "effect":
			kind := "ran"
			if d.run.Charges > 0 {
				kind = "effect"
				d.run.Charges--
			}
			d.pass(s.From, s.To, kind)
		case "work":
			d.pass(s.From, s.To, "ran")
			if d.run.Works {
				d.way.Stopped = &s
				return true
			}
		case "return":
			d.pass(s.From, s.To, "ran")
			if d.part.key != "" && slices.Contains(d.run.Asked, d.part.key) {
				d.stop(s)
			}
			return true
		default:
			d.pass(s.From, s.To, "ran")
			failed = i == 0 && d.run.Error == "not_found"
		}
	}
	return false
}

// once passes an effect that runs, or one that is remembered.
func (d *derivation) once(s statement) {
	d.pass(s.From, s.From, "ran")
	if d.run.Charges > 0 {
		d.follow(s.body, false)
		d.pass(s.To, s.To, "ran")
		return
	}
	for _, inner := range s.body {
		if inner.Kind == "effect" {
			d.pass(inner.From, inner.To, "remembered")
		}
	}
}

// behind holds the statements that follow a line, in the same body.
func behind(body []statement, line int) []statement {
	for i, s := range body {
		if s.From == line {
			return body[i+1:]
		}
		if s.From < line && line < s.To {
			return behind(s.body, line)
		}
	}
	return nil
}

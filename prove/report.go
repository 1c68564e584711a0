package prove

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// Finding is the outcome of one rule.
type Finding struct {
	Rule    Rule    `json:"rule"`
	Outcome Outcome `json:"outcome"`
	// Detail says why, unless the rule was simply kept.
	Detail string `json:"detail,omitempty"`
	// Request and Reply are those that show it: the params and the result or
	// error. A sealed state is replaced by a description of it.
	Request json.RawMessage `json:"request,omitempty"`
	Reply   string          `json:"reply,omitempty"`
}

// Report is all that was found, in the order of [Rules].
type Report struct {
	// Tool is the tool's name. It is empty in the report of a [Sweep] about the
	// server.
	Tool string `json:"tool"`
	// Client is the kind of client that a [Sweep] was, "modern" or "legacy". It is
	// empty in the report of a proof, which is made as both.
	Client   string    `json:"client,omitempty"`
	Findings []Finding `json:"findings"`
}

// Count is the number of findings with an outcome.
func (r *Report) Count(o Outcome) int {
	n := 0
	for _, f := range r.Findings {
		if f.Outcome == o {
			n++
		}
	}
	return n
}

// Failures are the findings that failed at this level or a stronger one.
func (r *Report) Failures(at Level) []Finding {
	var failed []Finding
	for _, f := range r.Findings {
		if f.Outcome == Fail && at.Covers(f.Rule.Level) {
			failed = append(failed, f)
		}
	}
	return failed
}

// Of is the finding of the rule with this name.
func (r *Report) Of(rule string) (Finding, bool) {
	for _, f := range r.Findings {
		if f.Rule.Name == rule {
			return f, true
		}
	}
	return Finding{}, false
}

// String has one line for each rule, and for a failure its promise and the
// request that shows it.
func (r *Report) String() string {
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%s\n", f)
	}
	name := clean(r.name())
	if r.Client != "" {
		name += " (" + r.Client + " client)"
	}
	failed := fmt.Sprint(r.Count(Fail), " failed")
	if ours := r.Count(Fail) - len(r.Failures(Should)); ours > 0 {
		failed += fmt.Sprintf(" (%d of them by rules of ours)", ours)
	}
	fmt.Fprintf(&b, "%s: %d rules tried, %s, %d notes, %d skipped\n", name,
		len(r.Findings)-r.Count(Skip), failed, r.Count(Note), r.Count(Skip))
	return b.String()
}

// name is that of the tool, or says that there is none.
func (r *Report) name() string {
	if r.Tool == "" {
		return "the server"
	}
	return r.Tool
}

// String is the line of the rule, with further lines if it failed.
func (f Finding) String() string {
	line := fmt.Sprintf("%-4s  %-25s %-6s", f.Outcome, f.Rule.Name, f.Rule.Level)
	if f.Detail != "" {
		line += "  " + f.Detail
	}
	if f.Outcome != Fail {
		return strings.TrimRight(line, " ")
	}
	line += "\n        " + f.Rule.Says + " (" + f.Rule.Clause + ")"
	if len(f.Request) > 0 {
		line += "\n        request: " + printable(string(f.Request))
	}
	if f.Reply != "" {
		line += "\n        reply:   " + f.Reply
	}
	return line
}

// clean makes a server's text fit for a terminal and for one line.
func clean(text string) string {
	const longest = 400
	text = printable(text[:min(len(text), 4*longest)])
	if runes := []rune(text); len(runes) > longest {
		return string(runes[:longest]) + "…"
	}
	return text
}

// printable replaces whatever could steer a terminal.
func printable(text string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c == '\n' || c == '\t' || c == '\r':
			return ' '
		case !unicode.IsPrint(c):
			return '\ufffd'
		}
		return c
	}, text)
}

// Reports are several proofs, in the order in which they were made.
type Reports []*Report

// Count is the number of findings with an outcome.
func (all Reports) Count(o Outcome) int {
	n := 0
	for _, r := range all {
		n += r.Count(o)
	}
	return n
}

// Failures are the findings that failed at this level or a stronger one.
func (all Reports) Failures(at Level) []Finding {
	var failed []Finding
	for _, r := range all {
		failed = append(failed, r.Failures(at)...)
	}
	return failed
}

// String is the text of one report after the other.
func (all Reports) String() string {
	var b strings.Builder
	for _, r := range all {
		b.WriteString(r.String())
	}
	return b.String()
}

// WriteJSON writes the reports as one JSON array.
func (all Reports) WriteJSON(w io.Writer) error { return writeJSON(w, all) }

// WriteJUnit writes the reports as JUnit XML, one suite for each group of rules of
// each report. See [Report.WriteJUnit].
func (all Reports) WriteJUnit(w io.Writer, at Level) error {
	var suites junitSuites
	for _, r := range all {
		suites.add(r, at)
	}
	return suites.write(w)
}

// WriteJSON writes the report as one JSON object.
func (r *Report) WriteJSON(w io.Writer) error { return writeJSON(w, r) }

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	Failure *junitFailure `xml:"failure,omitempty"`
	Skipped *junitSkipped `xml:"skipped,omitempty"`
	Output  string        `xml:"system-out,omitempty"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

type junitSkipped struct {
	Message string `xml:"message,attr"`
}

// WriteJUnit writes the report as JUnit XML, one suite for each group of rules. A
// note is a case that passed, with the note as its output; so is a rule that failed and is
// weaker than the level, since the files of a CI know no other grade.
func (r *Report) WriteJUnit(w io.Writer, at Level) error { return Reports{r}.WriteJUnit(w, at) }

func (all *junitSuites) add(r *Report, at Level) {
	name := r.name()
	if r.Client != "" {
		name = r.Client + "/" + name
	}
	for _, f := range r.Findings {
		group := name + "/" + f.Rule.Group()
		if n := len(all.Suites); n == 0 || all.Suites[n-1].Name != group {
			all.Suites = append(all.Suites, junitSuite{Name: group})
		}
		suite := &all.Suites[len(all.Suites)-1]
		suite.Tests++
		c := junitCase{Name: f.Rule.Name, Class: group}
		switch {
		case f.Outcome == Fail && at.Covers(f.Rule.Level):
			suite.Failures++
			c.Failure = &junitFailure{Message: f.Detail, Text: f.String()}
		case f.Outcome == Skip:
			suite.Skipped++
			c.Skipped = &junitSkipped{Message: f.Detail}
		case f.Outcome == Fail:
			c.Output = f.String()
		default:
			c.Output = f.Detail
		}
		suite.Cases = append(suite.Cases, c)
	}
}

func (all *junitSuites) write(w io.Writer) error {
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

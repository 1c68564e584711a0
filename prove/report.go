package prove

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Finding is the outcome of one rule.
type Finding struct {
	Rule    Rule    `json:"rule"`
	Outcome Outcome `json:"outcome"`
	// Detail says why, unless the rule was simply kept.
	Detail string `json:"detail,omitempty"`
	// Lacks is the ability for want of which the rule was not tried, and Flag what gives it to
	// mrtr prove.
	Lacks string `json:"lacks,omitempty"`
	Flag  string `json:"flag,omitempty"`
	// Request and Reply are those that show it: the params and the result or
	// error. A sealed state is replaced by a description of it.
	Request json.RawMessage `json:"request,omitempty"`
	Reply   string          `json:"reply,omitempty"`
	// Trace are the acts that show it, the fewest that do. Seed and Curl are those of a random
	// one: Curl repeats it in a shell.
	Trace []string `json:"trace,omitempty"`
	Seed  uint64   `json:"seed,omitempty"`
	Curl  string   `json:"curl,omitempty"`

	unanswered bool // no reply came
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
	// Calls is how often a tool was called, and Effects how often each effect happened
	// meanwhile. Effects is nil if nobody counted.
	Calls   int            `json:"calls"`
	Effects map[string]int `json:"effects,omitempty"`

	dry bool
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

// String begins with what could not be tried. It has one line for each rule, and for a failure
// its promise, its clause and the request that shows it.
func (r *Report) String() string {
	var b strings.Builder
	b.WriteString(r.wants())
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%s\n", f)
	}
	if r.dry {
		return r.plan() + b.String()
	}
	return b.String() + r.sum()
}

// Summary says in a line how much was done, or would be.
func (r *Report) Summary() string {
	if r.dry {
		return r.plan()
	}
	return r.sum()
}

// wants is the line about what could not be tried; "" if all could.
func (r *Report) wants() string {
	lacking := lacking(r.Findings)
	if lacking == "" {
		return ""
	}
	return fmt.Sprintf("%s: not tried for want of %s\n", title(r.Tool, r.Client), lacking)
}

// sum is the line about what was tried.
func (r *Report) sum() string {
	var b strings.Builder
	failed := fmt.Sprint(r.Count(Fail), " failed")
	if ours := r.Count(Fail) - len(r.Failures(Should)); ours > 0 {
		failed += fmt.Sprintf(" (%d of them by rules of ours)", ours)
	}
	fmt.Fprintf(&b, "%s: %d rules tried, %s, %d notes, %d skipped", title(r.Tool, r.Client),
		len(r.Findings)-r.Count(Skip), failed, r.Count(Note), r.Count(Skip))
	if r.Calls > 0 {
		fmt.Fprintf(&b, "; %d calls", r.Calls)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Effects)) {
		fmt.Fprintf(&b, ", %s %d times", clean(name), r.Effects[name])
	}
	b.WriteString("\n")
	return b.String()
}

// lacking lists the abilities that nobody gave, with the number of rules that need each.
func lacking(findings []Finding) string {
	var abilities []string
	rules, flags := map[string]int{}, map[string]string{}
	for _, f := range findings {
		if f.Lacks == "" {
			continue
		}
		flags[f.Lacks] = f.Flag
		if rules[f.Lacks]++; rules[f.Lacks] == 1 {
			abilities = append(abilities, f.Lacks)
		}
	}
	for i, ability := range abilities {
		of := numbered(rules[ability], "rule")
		if flag := flags[ability]; flag != "" {
			of += "; " + flag
		}
		abilities[i] = fmt.Sprintf("%s (%s)", ability, of)
	}
	return strings.Join(abilities, ", ")
}

// numbered is a number of things.
func numbered(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// title is the name of the tool, and the client's kind if there is one. A report begins lines
// with it, and some CIs obey a line that begins with "::". So a name that no tool should have is
// quoted.
func title(tool, client string) string {
	name := clean(tool)
	switch {
	case tool == "":
		name = "the server"
	case !plainName.MatchString(name):
		name = strconv.Quote(name)
	}
	if client != "" {
		name += " (" + client + " client)"
	}
	return name
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9]`)

// String is the line of the rule, with further lines if it failed.
func (f Finding) String() string {
	line := fmt.Sprintf("%-4s  %-25s %-6s", f.Outcome, f.Rule.Name, f.Rule.Level)
	if f.Detail != "" {
		line += "  " + f.Detail
	}
	if f.Outcome != Fail {
		return strings.TrimRight(line, " ")
	}
	line += "\n        " + f.Rule.Says + " (" + string(f.Rule.Clause) + ")"
	if url := f.Rule.Clause.Source().URL; url != "" {
		line += "\n        " + url
	}
	if f.Rule.Cure != "" {
		line += "\n        cure:    " + f.Rule.Cure
	}
	for _, act := range f.Trace {
		line += "\n        " + act
	}
	if f.Curl != "" {
		line += "\n" + f.Curl
	}
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

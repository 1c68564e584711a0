package probe

import (
	"fmt"
	"strings"
	"unicode"
)

// A Finding is the outcome of one rule on one tool: kept, broken or not proved.
type Finding struct {
	Tool     string `json:"tool,omitempty"` // empty for what concerns the server
	Rule     string `json:"rule"`
	Fault    string `json:"fault,omitempty"`      // why the rule is broken
	Unproved string `json:"not_proved,omitempty"` // why it is neither broken nor kept
	Result   string `json:"result,omitempty"`
}

// A Report is all that was found, in the order it was tried.
type Report struct {
	Era      Era       `json:"era"`
	Findings []Finding `json:"findings"`
	Skipped  []string  `json:"skipped,omitempty"` // tools that are not read-only
}

func (r *Report) add(f Finding) {
	f.Tool, f.Fault, f.Unproved = clean(f.Tool), clean(f.Fault), clean(f.Unproved)
	r.Findings = append(r.Findings, f)
}

// clean makes text of the server's fit for a terminal and a line.
func clean(text string) string {
	const longest = 300
	text = strings.Map(func(c rune) rune {
		switch {
		case c == '\n' || c == '\t' || c == '\r':
			return ' '
		case !unicode.IsPrint(c):
			return '\ufffd'
		}
		return c
	}, text[:min(len(text), 4*longest)])
	if runes := []rune(text); len(runes) > longest {
		return string(runes[:longest]) + "…"
	}
	return text
}

// Faults is the number of rules that were broken.
func (r *Report) Faults() int {
	n := 0
	for _, f := range r.Findings {
		if f.Fault != "" {
			n++
		}
	}
	return n
}

// Unproved is the number of rules that may be kept or not.
func (r *Report) Unproved() int {
	n := 0
	for _, f := range r.Findings {
		if f.Fault == "" && f.Unproved != "" {
			n++
		}
	}
	return n
}

// String writes one line per finding.
func (r *Report) String() string {
	var b strings.Builder
	for _, f := range r.Findings {
		name := f.Tool
		if name == "" {
			name = "(server)"
		}
		mark, said := "ok   ", f.Result
		switch {
		case f.Fault != "":
			mark, said = "FAULT", f.Fault
		case f.Unproved != "":
			mark, said = "?    ", "not proved: "+f.Unproved
		}
		fmt.Fprintf(&b, "%s %-20s %-18s %s\n", mark, name, f.Rule, said)
	}
	for _, name := range r.Skipped {
		fmt.Fprintf(&b, "skip  %-20s not read-only\n", name)
	}
	fmt.Fprintf(&b, "%s: %d rules tried, %d broken, %d not proved\n", r.Era, len(r.Findings), r.Faults(), r.Unproved())
	return b.String()
}

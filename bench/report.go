package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

const legend = `Compared within each round: the median of the rounds and, in brackets, where it lies with 95% confidence.
A verdict with a question mark: the target lies within the brackets, so this run cannot tell.
go-sdk: the part of our cost that the same call costs with a handler that does nothing.`

// report writes the figures as tables in Markdown, aligned for a terminal.
func report(out io.Writer, sections []section, text string) error {
	p, err := readPrinted(text)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s, %s cores, %s, %s. %s.\n%s rounds of %s each, in %s minutes; load average %s before, %s after.\n\n%s\n",
		p.last("cpu"), p.last("cores"), p.last("os"), p.last("go"), strings.Join(p.config["peer"], ", "),
		p.last("rounds"), p.last("benchtime"), p.last("minutes"), p.last("load-before"), p.last("load-after"), legend)
	for _, s := range sections {
		rows := [][]string{{"", "ours", s.against, "compared", "target", "verdict", "go-sdk"}}
		for _, f := range s.figures {
			row, err := p.row(f)
			if err != nil {
				return err
			}
			rows = append(rows, row)
		}
		fmt.Fprintf(out, "\n### %s\n\n", s.title)
		writeTable(out, rows)
	}
	return nil
}

// last is the last value of a configuration line.
func (p *printed) last(key string) string {
	if values := p.config[key]; len(values) > 0 {
		return values[len(values)-1]
	}
	return "unknown"
}

func (p *printed) row(f figure) ([]string, error) {
	ours, theirs := p.of(f.ours), p.of(f.theirs)
	if len(ours) == 0 || len(theirs) == 0 && f.measured != given {
		return []string{f.what, "not measured", "", "", f.targetText(), "", ""}, nil
	}
	if len(ours) != len(theirs) && f.measured != given {
		return nil, fmt.Errorf("%s: %d rounds of ours and %d of theirs", f.what, len(ours), len(theirs))
	}
	compared := f.compare(ours, theirs)
	low, median, high := compared.spread()
	row := []string{
		f.what, ours.text(f.ours.unit), theirs.text(f.theirs.unit),
		fmt.Sprintf("%s (%s to %s)", f.text(median), f.text(low), f.text(high)),
		f.targetText(), f.verdict(compared), "",
	}
	if f.measured == given {
		row[1], row[6] = "", share(1/median)
	} else if idle := p.of(f.idle); len(idle) == len(ours) {
		_, median, _ := idle.over(ours).spread()
		row[6] = share(median)
	}
	return row, nil
}

// share is a part in percent.
func share(part float64) string { return fmt.Sprintf("%.0f%%", 100*part) }

// text is the median, "" where there is no sample.
func (s sample) text(unit string) string {
	if len(s) == 0 {
		return ""
	}
	_, median, _ := s.spread()
	return amount(median, unit)
}

// digits is a ratio with its significant digits.
func digits(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.3f", v)
}

// amount is a number in its unit, for people.
func amount(v float64, unit string) string {
	switch {
	case strings.HasSuffix(unit, allocs):
		return fmt.Sprintf("%.0f allocs", v)
	case !strings.HasSuffix(unit, clock) && v >= 1<<10:
		return fmt.Sprintf("%.3g KiB", v/(1<<10))
	case !strings.HasSuffix(unit, clock):
		return fmt.Sprintf("%.0f B", v)
	case v >= 1e6:
		return fmt.Sprintf("%.3g ms", v/1e6)
	case v >= 1e3:
		return fmt.Sprintf("%.3g µs", v/1e3)
	}
	return fmt.Sprintf("%.3g ns", v)
}

func writeTable(out io.Writer, rows [][]string) {
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	for n, row := range rows {
		for i, cell := range row {
			fmt.Fprintf(out, "| %s%s ", cell, strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell)))
		}
		fmt.Fprintln(out, "|")
		if n == 0 {
			for i := range row {
				fmt.Fprintf(out, "|%s", strings.Repeat("-", width[i]+2))
			}
			fmt.Fprintln(out, "|")
		}
	}
}

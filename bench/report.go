package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/mrtr-go/sdk/internal/sample"
)

const legend = `Figure: the median of all rounds, each compared with the same round's, and the interval in which another run finds it.
Undecided: the target lies within the interval. Where it does, instructions decide if they were counted.`

// report is everything that a run found.
type report struct {
	machine machine
	figures []figure
	curves  []measuredCurve
}

// measuredCurve is a curve with its values; a value is 0 where there is none.
type measuredCurve struct {
	curve
	values []float64
}

func makeReport(m machine, rows []row, curves []curve, found *results, short bool) report {
	r := report{machine: m}
	for _, row := range rows {
		f := row.judge(found)
		f.short = short
		r.figures = append(r.figures, f)
	}
	for _, c := range curves {
		with := measuredCurve{curve: c}
		for _, p := range c.points {
			v := 0.0
			if s := found.series[c.section][p.of.read(cpu)]; s != nil {
				v = sample.LowerQuartile(s.Flat())
			}
			with.values = append(with.values, v)
		}
		r.curves = append(r.curves, with)
	}
	return r
}

// writeTables writes the figures as Markdown that reads well in a terminal.
func (r *report) writeTables(out io.Writer) error {
	fmt.Fprintf(out, "%s\n\n%s\n", r.machine.String(), legend)
	for i := 0; i < len(r.figures); {
		section := r.figures[i].section
		cells := [][]string{{"", "ours", "compared with", "figure", "target", "verdict"}}
		for ; i < len(r.figures) && r.figures[i].section == section; i++ {
			cells = append(cells, r.figures[i].cells())
		}
		fmt.Fprintf(out, "\n### %s\n\n", section)
		writeTable(out, cells)
	}
	for i := 0; i < len(r.curves); {
		title := r.curves[i].title
		cells := [][]string{{""}}
		for _, p := range r.curves[i].points {
			cells[0] = append(cells[0], grouped(float64(p.x)))
		}
		for ; i < len(r.curves) && r.curves[i].title == title; i++ {
			row := []string{r.curves[i].name}
			for _, v := range r.curves[i].values {
				row = append(row, duration(v))
			}
			for len(row) < len(cells[0]) {
				row = append(row, "")
			}
			cells = append(cells, row)
		}
		fmt.Fprintf(out, "\n### %s\n\n", title)
		writeTable(out, cells)
	}
	return nil
}

func (f *figure) cells() []string {
	if f.missing != "" {
		return []string{f.name, "", "", f.missing, f.targetText(), ""}
	}
	// A difference is of the quantity too.
	q := f.ours.quantity
	theirs := ""
	if f.theirs != nil {
		theirs = q.amount(f.others.median)
	}
	return []string{
		f.name, q.amount(f.mine.median), theirs,
		fmt.Sprintf("%s (%s to %s)", f.text(f.estimate.Value), f.text(f.estimate.Low), f.text(f.estimate.High)),
		f.targetText(), f.verdict(),
	}
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

// writeJSON writes the same for programs. Times are in nanoseconds.
func (r *report) writeJSON(out io.Writer) error {
	type jsonFigure struct {
		Section string  `json:"section"`
		Name    string  `json:"name"`
		Unit    string  `json:"unit"`
		Ours    float64 `json:"ours"`
		OursLQ  float64 `json:"oursLowerQuartile"`
		Theirs  float64 `json:"theirs,omitempty"`
		TheirLQ float64 `json:"theirsLowerQuartile,omitempty"`
		Value   float64 `json:"value"`
		Low     float64 `json:"low"`
		High    float64 `json:"high"`
		Target  string  `json:"target,omitempty"`
		Verdict string  `json:"verdict,omitempty"`
		Missing string  `json:"missing,omitempty"`
	}
	type jsonCurve struct {
		Section string    `json:"section"`
		Name    string    `json:"name"`
		X       []int     `json:"x"`
		CPU     []float64 `json:"cpu"`
	}
	all := struct {
		Machine machine      `json:"machine"`
		Figures []jsonFigure `json:"figures"`
		Curves  []jsonCurve  `json:"curves"`
	}{Machine: r.machine}
	for _, f := range r.figures {
		all.Figures = append(all.Figures, jsonFigure{
			f.section, f.name, string(f.ours.quantity), f.mine.median, f.mine.lowerQuartile,
			f.others.median, f.others.lowerQuartile,
			f.estimate.Value, f.estimate.Low, f.estimate.High, f.targetText(), f.verdict(), f.missing,
		})
	}
	for _, c := range r.curves {
		jc := jsonCurve{Section: c.title, Name: c.name, CPU: c.values}
		for _, p := range c.points {
			jc.X = append(jc.X, p.x)
		}
		all.Curves = append(all.Curves, jc)
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(all)
}

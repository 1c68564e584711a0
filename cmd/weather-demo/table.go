package main

import (
	"context"
	"fmt"
	"io"

	"github.com/mrtr-go/sdk/options"
)

// row is one style in the table: its calls with a modern and an old client.
type row struct {
	option         options.Option
	modern, legacy []*run // by location
}

// tabulate plays every style in both eras at each location.
func tabulate(ctx context.Context, s selection) ([]row, error) {
	rows := make([]row, len(s.styles))
	for i, o := range s.styles {
		rows[i].option = o
		for _, location := range s.locations {
			m, err := scene{option: o, era: modern, location: location, answers: firstChoices}.play(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", o.Tool(), err)
			}
			l, err := scene{option: o, era: legacy, location: location, answers: firstChoices}.play(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s, legacy: %w", o.Tool(), err)
			}
			rows[i].modern = append(rows[i].modern, m)
			rows[i].legacy = append(rows[i].legacy, l)
		}
	}
	return rows, nil
}

// writeTable prints the rows, the locations' figures side by side.
func writeTable(w io.Writer, p paint, rows []row) {
	fmt.Fprintf(w, "%s\n", p.dim(tableHead))
	for _, r := range rows {
		audits := figures(r.modern, func(r *run) int { return r.Effects })
		if !r.soundAudits() {
			audits = p.bad(fmt.Sprintf("%-7s", audits))
		}
		fmt.Fprintf(w, " %s  %-15s %-7s %-7s %-8s %-10s %s\n",
			p.bold(r.option.Letter), r.option.Name,
			figures(r.modern, func(r *run) int { return r.Rounds }),
			audits,
			figures(r.modern, func(r *run) int { return r.HandlerEntries }),
			figures(r.modern, func(r *run) int { return r.StateBytes }),
			r.before())
	}
}

const tableHead = "    style           rounds  audits  entered  state      a client from before gets"

func figures(runs []*run, figure func(*run) int) string {
	s := ""
	for i, r := range runs {
		if i > 0 {
			s += " "
		}
		s += fmt.Sprint(figure(r))
	}
	return s
}

func (r row) soundAudits() bool {
	for _, m := range r.modern {
		if !m.IsError && m.Effects != 1 {
			return false
		}
	}
	return true
}

// before says what a client from before 2026-07-28 got.
func (r row) before() string {
	refused, asked, audits := 0, false, 0
	for _, l := range r.legacy {
		if l.IsError {
			refused++
		}
		asked = asked || len(l.Questions) > 0
		audits = max(audits, l.Effects)
	}
	switch {
	case refused == len(r.legacy):
		return "a refusal"
	case !asked && refused > 0:
		return "a default, or a refusal"
	case !asked:
		return "a default"
	case audits > 1:
		return fmt.Sprintf("all of it, audited %d times", audits)
	}
	return "all of it"
}

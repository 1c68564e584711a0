package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mrtr-go/sdk/options"
)

const tableAbout = `Plays every style with a modern and a legacy client, about Lisbon and about
Springfield, and prints one row for each style.`

// table prints the table alone.
func table(ctx context.Context, args []string, t terminal) error {
	f := flag.NewFlagSet("table", flag.ContinueOnError)
	if _, err := parse(f, args, t); err != nil {
		return err
	}
	return writeTable(ctx, t.out, []string{"Lisbon", "Springfield"})
}

// row is one style in the table.
type row struct {
	option         options.Option
	modern, legacy []*run // by location
}

// writeTable plays every style in both eras at each location, and prints the
// figures of the locations side by side.
func writeTable(ctx context.Context, w io.Writer, locations []string) error {
	rows, err := tabulate(ctx, locations)
	if err != nil {
		return err
	}
	p := painterFor(w)
	fmt.Fprintf(w, "The same tool in every style, asked about %s:\n\n", shorten(strings.Join(locations, " / "), 37))
	fmt.Fprintf(w, "%s\n", p.dim(tableHead))
	for _, r := range rows {
		audits := fmt.Sprintf("%-8s", figures(r.modern, func(r *run) int { return r.Effects }))
		if !r.soundAudits() {
			audits = p.bad(audits)
		}
		fmt.Fprintf(w, " %s  %-15s %-8s%s%-9s%-11s%s\n    %s\n",
			p.bold(r.option.Letter), r.option.Name,
			figures(r.modern, func(r *run) int { return r.Rounds }), audits,
			figures(r.modern, func(r *run) int { return r.HandlerEntries }),
			figures(r.modern, func(r *run) int { return r.StateBytes }),
			r.legacyOutcome(), p.dim(r.option.Lesson))
	}
	fmt.Fprint(w, "\n", tableLegend, "\n")
	writeResults(w, rows)
	return nil
}

const tableHead = "    style           rounds  audits  entered  state      legacy client"

const tableLegend = `  E, A, ... short names of the styles, for -style and compare
  rounds    requests of a modern client: one, and one more for each question
  audits    how often the audit line, the tool's one effect, was written
  entered   how often one of the author's functions was called
  state     size of the largest request_state, in bytes
  legacy client
            outcome with a client of revision 2025-11-25, compared with the
            modern one; it makes one request and is asked while that is open
`

func tabulate(ctx context.Context, locations []string) ([]row, error) {
	var rows []row
	for _, o := range everyStyle() {
		r := row{option: o}
		for _, location := range locations {
			s := plannedCall{option: o, era: modern, location: location, answers: firstChoices}
			m, err := s.play(ctx)
			if err != nil {
				return nil, err
			}
			s.era = legacy
			l, err := s.play(ctx)
			if err != nil {
				return nil, err
			}
			r.modern, r.legacy = append(r.modern, m), append(r.legacy, l)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

func figures(runs []*run, figure func(*run) int) string {
	var each []string
	for _, r := range runs {
		each = append(each, fmt.Sprint(figure(r)))
	}
	return strings.Join(each, " / ")
}

func (r row) soundAudits() bool {
	for _, m := range r.modern {
		if !m.IsError && m.Effects != 1 {
			return false
		}
	}
	return true
}

// legacyOutcome compares the legacy client's calls with the modern one's. Equal
// comparisons at several locations are given once.
func (r row) legacyOutcome() string {
	var each []string
	for i, run := range r.legacy {
		outcome := "same"
		switch {
		case run.IsError && !r.modern[i].IsError:
			outcome = "refused"
		case len(run.Questions) < len(r.modern[i].Questions):
			outcome = "default used"
		case run.Effects > 1:
			outcome = fmt.Sprintf("same, %d audits", run.Effects)
		}
		if !slices.Contains(each, outcome) {
			each = append(each, outcome)
		}
	}
	return strings.Join(each, " / ")
}

// writeResults prints the text of the results: one line for each location, or
// for each group of styles where they differ.
func writeResults(w io.Writer, rows []row) {
	for i := range rows[0].modern {
		letters := map[string]string{} // by text
		var texts []string
		for _, r := range rows {
			text := r.modern[i].Text
			if letters[text] == "" {
				texts = append(texts, text)
			}
			letters[text] += r.option.Letter
		}
		for _, text := range texts {
			who := "every style"
			if len(texts) > 1 {
				who = letters[text]
			}
			for _, line := range wrap(who+" answered: "+text, lineWidth-2) {
				fmt.Fprintf(w, "  %s\n", line)
			}
		}
	}
}

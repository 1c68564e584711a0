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

const tableAbout = `Plays every style with a modern client and with one from before, in Lisbon and
in Springfield, and tabulates what came of it.`

// table prints the table alone.
func table(ctx context.Context, args []string, t terminal) error {
	f := flag.NewFlagSet("table", flag.ContinueOnError)
	if _, err := parse(f, args, t); err != nil {
		return err
	}
	return writeTable(ctx, t.out, []string{"Lisbon", "Springfield"})
}

// row is one style in the table: its calls with a modern and an old client.
type row struct {
	option         options.Option
	modern, legacy []*run // by location
}

// writeTable plays every style in both eras at each location. The locations'
// figures stand side by side.
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
			r.before(), p.dim(r.option.Lesson))
	}
	fmt.Fprint(w, "\n", tableLegend, "\n")
	writeResults(w, rows)
	return nil
}

const tableHead = "    style           rounds  audits  entered  state      from before 2026-07-28"

const tableLegend = `  rounds    requests of a modern client: one, and one more for each question
  audits    how often the tool's one effect happened; once is right
  entered   how often a function of the author's was started
  state     bytes of the largest request_state
  from before 2026-07-28
            what an older client gets, compared with a modern one; it makes one
            request, and is asked while it waits
`

func tabulate(ctx context.Context, locations []string) ([]row, error) {
	var rows []row
	for _, o := range everyStyle() {
		r := row{option: o}
		for _, location := range locations {
			s := scene{option: o, era: modern, location: location, answers: firstChoices}
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

// before says what a client from before 2026-07-28 got, compared with a modern
// one: by location, if that makes a difference.
func (r row) before() string {
	var each []string
	for i, old := range r.legacy {
		got := "as modern"
		switch {
		case old.IsError && !r.modern[i].IsError:
			got = "a refusal"
		case len(old.Questions) < len(r.modern[i].Questions):
			got = "a default"
		case old.Effects > 1:
			got = fmt.Sprintf("as modern, %d audits", old.Effects)
		}
		if !slices.Contains(each, got) {
			each = append(each, got)
		}
	}
	return strings.Join(each, " / ")
}

// writeResults tells what the calls came to: one line a place where every
// style came to the same.
func writeResults(w io.Writer, rows []row) {
	for i := range rows[0].modern {
		letters := map[string]string{} // by what was said
		var said []string
		for _, r := range rows {
			text := r.modern[i].Text
			if letters[text] == "" {
				said = append(said, text)
			}
			letters[text] += r.option.Letter
		}
		for _, text := range said {
			who := "each"
			if len(said) > 1 {
				who = letters[text]
			}
			for _, line := range wrap(who+" answered: "+text, lineWidth-2) {
				fmt.Fprintf(w, "  %s\n", line)
			}
		}
	}
}

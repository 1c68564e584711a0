package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mrtr-go/sdk/cmd/weather-demo/internal/weather"
	"github.com/mrtr-go/sdk/options"
)

// row is one style in the table.
type row struct {
	option         options.Option
	modern, legacy []*run // by location
}

// writeTable plays every style in both eras at each location, and prints the
// figures of the locations side by side: one table for each axis.
func writeTable(ctx context.Context, p printer, locations []string) error {
	rows, err := tabulate(ctx, locations)
	if err != nil {
		return err
	}
	fmt.Fprintf(p, "The same tool in every style, asked about %s.\n", shorten(strings.Join(locations, " / "), 37))

	fmt.Fprintf(p, "\n%s\n\n%s\n", p.bold(effectQuestion), p.dim(effectHead))
	for _, r := range rows {
		if r.option.Axis == options.SingleEffect {
			r.write(p, r.modern, fmt.Sprintf("%-11s", figures(r.modern, stateBytes)))
			fmt.Fprintf(p, "    %s\n", p.dim(r.option.Lesson))
		}
	}
	fmt.Fprintf(p, "\n%s\n\n%s\n", p.bold(legacyQuestion), p.dim(legacyHead))
	for _, r := range rows {
		if r.option.Axis == options.LegacyClients {
			r.write(p, r.legacy, "")
			fmt.Fprintf(p, "    %s\n", p.dim(r.option.Lesson))
		}
	}
	fmt.Fprintf(p, "    %s\n", p.dim("The engine's own bridge asks for all others:"))
	for _, r := range rows {
		if r.option.Axis != options.LegacyClients {
			r.write(p, r.legacy, "")
		}
	}
	fmt.Fprint(p, "\n", tableLegend, "\n")
	writeResults(p, rows)
	return nil
}

// write prints the figures of one era.
func (r row) write(p printer, runs []*run, extra string) {
	audits := fmt.Sprintf("%-8s", figures(runs, func(r *run) int { return r.Effects }))
	if !auditedOnce(runs) {
		audits = p.bad(audits)
	}
	fmt.Fprintf(p, " %s  %-15s %-9s%s%-9s%s%s\n", p.bold(r.option.Letter), r.option.Name,
		figures(runs, func(r *run) int { return r.Rounds }), audits,
		figures(runs, func(r *run) int { return r.HandlerEntries }), extra, held(runs))
}

func stateBytes(r *run) int { return r.StateBytes }

const (
	effectQuestion = "How does an effect stay single? A modern client:"
	effectHead     = "    style           requests audits  entered  state      held between them"
	legacyQuestion = "How is a legacy client asked? One of revision 2025-11-25:"
	legacyHead     = "    style           requests audits  entered  held while the user thinks"
)

const tableLegend = `  E, F, ... short names of the styles, for -style and compare
  requests  of the client for this call: tools/call, and again with each answer
  audits    how often the audit line, the tool's one effect, was written; B and
            N are wrong on purpose
  entered   how often a function of the author's was called; of G and K, each
  state     size of the largest request_state, in bytes
  held      by the server while the user thinks, as counted in this run
`

func tabulate(ctx context.Context, locations []string) ([]row, error) {
	var rows []row
	for _, o := range weather.Styles() {
		r := row{option: o}
		for _, location := range locations {
			s := plannedCall{option: o, era: modern, location: location, answers: weather.FirstChoices}
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

// figures puts the figures of several calls side by side.
func figures[T any](calls []T, figure func(T) int) string {
	var each []string
	for _, c := range calls {
		each = append(each, fmt.Sprint(figure(c)))
	}
	return strings.Join(each, " / ")
}

func auditedOnce(runs []*run) bool {
	return !slices.ContainsFunc(runs, func(r *run) bool { return !r.IsError && r.Effects != 1 })
}

// held is the most that the server held while the user was asked.
func held(runs []*run) string {
	var most load
	asked := false
	for _, r := range runs {
		most.requests = max(most.requests, r.held.requests)
		most.handlers = max(most.handlers, r.held.handlers)
		asked = asked || len(r.Questions) > 0
	}
	switch {
	case !asked:
		return "nobody was asked"
	case most == load{}:
		return "nothing"
	case most.handlers == 0:
		return "the open request"
	case most.requests == 0:
		return "the handler"
	}
	return "the open request, and the handler"
}

// writeResults prints the text of the results: one line for each location, or
// for each group of styles where they differ.
func writeResults(p printer, rows []row) {
	for i := range rows[0].modern {
		who := map[string][]string{} // by text
		var texts []string
		answered := func(text, name string) {
			if who[text] == nil {
				texts = append(texts, text)
			}
			who[text] = append(who[text], name)
		}
		for _, r := range rows {
			answered(r.modern[i].Text, r.option.Letter)
		}
		for _, r := range rows {
			answered(r.legacy[i].Text, r.option.Letter+" (legacy)")
		}
		for _, text := range texts {
			line := "every style told both clients: " + text
			if len(texts) > 1 {
				line = strings.Join(who[text], ", ") + ": " + text
			}
			p.hang("  ", line, plain)
		}
	}
}

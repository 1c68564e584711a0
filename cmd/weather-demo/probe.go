package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/mrtr-go/sdk/internal/probe"
)

const probeAbout = `Calls the read-only tools of a running server with valid and invalid arguments,
and reports each rule of tool calls as kept or broken. The server is reached by
its URL, or started by a command and reached over stdio. Tools that are not
annotated read-only are never called. The status is 1 if a rule was broken.

  weather-demo probe http://127.0.0.1:8080/mcp
  weather-demo probe -era modern weather-demo serve -stdio`

// probeServer probes a server as a modern and as a legacy client.
func probeServer(ctx context.Context, args []string, t terminal) error {
	f := flag.NewFlagSet("probe", flag.ContinueOnError)
	only := f.String("era", "", "probe as a client of this `era` only: modern or legacy")
	words, err := parse(f, args, t)
	if err != nil {
		return err
	}
	eras := []probe.Era{probe.Modern, probe.Legacy}
	switch *only {
	case "":
	case string(probe.Modern), string(probe.Legacy):
		eras = []probe.Era{probe.Era(*only)}
	default:
		return usageError{unknown("era", *only, []string{string(probe.Modern), string(probe.Legacy)})}
	}
	faults := 0
	var failed []error
	for _, e := range eras {
		report, err := probeIn(ctx, strings.Join(words, " "), e)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", e, err))
			continue
		}
		faults += report.Faults()
		writeProbe(t.out, report)
	}
	switch {
	case len(failed) > 0:
		return errors.Join(failed...)
	case faults > 0:
		return errFound
	}
	return nil
}

func probeIn(ctx context.Context, target string, e probe.Era) (*probe.Report, error) {
	client, err := probe.Dial(ctx, target, e)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	return probe.Run(ctx, client, nil)
}

// writeProbe prints a report tool by tool. A rule that was kept takes one line.
func writeProbe(w io.Writer, report *probe.Report) {
	p := painterFor(w)
	fmt.Fprintf(w, "%s\n\n", p.bold("As a "+string(report.Era)+" client"))
	tool := "-"
	for _, f := range report.Findings {
		if f.Tool != tool {
			tool = f.Tool
			name := tool
			if name == "" {
				name = "the server"
			}
			fmt.Fprintf(w, "  %s\n", name)
		}
		if f.Fault == "" {
			fmt.Fprintf(w, "    %s  %-22s %s\n", p.good("ok   "), f.Rule, f.Result)
			continue
		}
		fmt.Fprintf(w, "    %s  %s\n", p.bad("FAULT"), f.Rule)
		for _, line := range wrap(f.Fault, lineWidth-11) {
			fmt.Fprintf(w, "           %s\n", line)
		}
	}
	if len(report.Skipped) > 0 {
		fmt.Fprintln(w, "  not called, as they are not read-only")
		for _, line := range wrap(strings.Join(report.Skipped, ", "), lineWidth-4) {
			fmt.Fprintf(w, "    %s\n", line)
		}
	}
	fmt.Fprintf(w, "\n  %s tried, %d broken\n\n", count(len(report.Findings), "rule"), report.Faults())
}

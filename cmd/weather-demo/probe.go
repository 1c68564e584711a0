package main

import (
	"context"
	"encoding/json"
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

A call that should work and ends in an error proves nothing: the rule is
reported as not proved. Give such a tool arguments that work, or put examples
into its schema. The questions of a call are answered with values that fit their
forms, round after round, or over the session of a legacy client.

  weather-demo probe http://127.0.0.1:8080/mcp
  weather-demo probe -args 'trip={"to":"Rome"}' http://127.0.0.1:8080/mcp
  weather-demo probe -era modern weather-demo serve -stdio`

// probeServer probes a server as a modern and as a legacy client.
func probeServer(ctx context.Context, args []string, t terminal) error {
	f := flag.NewFlagSet("probe", flag.ContinueOnError)
	only := f.String("era", "", "probe as a client of this `era` only: modern or legacy")
	good := map[string]map[string]any{}
	f.Func("args", "call a tool with these arguments: `tool=JSON`; may be repeated", func(text string) error {
		tool, object, ok := strings.Cut(text, "=")
		if !ok || tool == "" {
			return errors.New("want TOOL={...}")
		}
		var arguments map[string]any
		if err := json.Unmarshal([]byte(object), &arguments); err != nil || arguments == nil {
			return fmt.Errorf("the arguments of %s are no JSON object", tool)
		}
		good[tool] = arguments
		return nil
	})
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
		report, err := probe.Probe(ctx, strings.Join(words, " "), e, &probe.Options{Arguments: good})
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
		mark, said := p.bad("FAULT"), f.Fault
		switch {
		case f.Fault == "" && f.Unproved == "":
			fmt.Fprintf(w, "    %s  %-22s %s\n", p.good("ok   "), f.Rule, f.Result)
			continue
		case f.Fault == "":
			mark, said = "?    ", "not proved: "+f.Unproved
		}
		fmt.Fprintf(w, "    %s  %s\n", mark, f.Rule)
		for _, line := range wrap(said, lineWidth-11) {
			fmt.Fprintf(w, "           %s\n", line)
		}
	}
	if len(report.Skipped) > 0 {
		fmt.Fprintln(w, "  not called, as they are not read-only")
		for _, line := range wrap(strings.Join(report.Skipped, ", "), lineWidth-4) {
			fmt.Fprintf(w, "    %s\n", line)
		}
	}
	fmt.Fprintf(w, "\n  %s tried, %d broken, %d not proved\n\n", count(len(report.Findings), "rule"), report.Faults(), report.Unproved())
}

package prove

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/mrtr-go/sdk/internal/probe"
	"github.com/mrtr-go/sdk/internal/wire"
)

// SweepOptions configure [Sweep]. Nil, and the zero value, sweep as a modern and as
// a legacy client.
type SweepOptions struct {
	// Patience is how long one answer is waited for; zero is ten seconds.
	Patience time.Duration
	// Limit is how long the sweep may take as one of the clients; zero is ten
	// minutes. A rule that was not tried by then is a failure.
	Limit time.Duration
	// Clients are the kinds of clients that sweep, "modern" and "legacy"; none means
	// both.
	Clients []string
	// Arguments are good arguments of tools, by the tool's name. For other tools
	// they are the first of the input schema's examples, or are made from it.
	Arguments map[string]map[string]any
	// Progress, if set, gets each finding as it is made.
	Progress func(Finding)
}

// sweepLevels are the levels of the rules that a sweep tries, with the clauses that
// they stand on.
var sweepLevels = map[string]struct {
	level  Level
	clause string
}{
	"initialize":       {Must, "Lifecycle: a legacy client begins with initialize"},
	"tools_list":       {Must, "Tools: each tool has a name and an inputSchema"},
	"good_input":       {Ours, "what the schema allows is no mistake of the client's"},
	"missing_argument": {Must, validated},
	"wrong_type":       {Must, validated},
	"unknown_argument": {Must, validated},
	"not_an_object":    {Must, validated},
	"next_call":        {Ours, "one client's request must not end another's"},
	"stream_ends":      {Must, "Streamable HTTP: the server closes the stream after its response"},
	"time":             {Ours, "a server that takes its time is not usable"},
	"unknown_tool":     {Must, "Tools: unknown tools are protocol errors"},
	"one_answer":       {Must, jsonRPC},
}

// SweepRules are the rules of [Sweep]. They demand less than those of [Rules], and
// of every tool: it need not ask.
func SweepRules() []Rule {
	var all []Rule
	for _, r := range probe.Rules() {
		all = append(all, sweepRule(r[0], r[1]))
	}
	return all
}

// untouched is the rule of the sweep itself.
var untouched = Rule{Name: "sweep/read-only", Says: "A tool that is not annotated read-only is not called.", Level: Ours, Clause: "a sweep does no harm"}

func sweepRule(name, says string) Rule {
	l := sweepLevels[name]
	return Rule{Name: "sweep/" + strings.ReplaceAll(name, "_", "-"), Says: says, Level: l.level, Clause: l.clause}
}

// Sweep calls every tool that is annotated read-only, with good arguments and with
// bad ones, and answers its questions. It makes one report for each tool and kind of
// client, and one without a name for the server. Other tools are never called: they
// are skipped.
//
// An error means that nothing could be swept as one of the clients: there is no
// server, or none of its tools is read-only. The reports are those of the other.
// When ctx ends, the reports come with its error.
func Sweep(ctx context.Context, dial Dial, who *Caller, opts *SweepOptions) (Reports, error) {
	var o SweepOptions
	if opts != nil {
		o = *opts
	}
	if dial == nil {
		return nil, errors.New("prove: a sweep needs a Dial")
	}
	if len(o.Clients) == 0 {
		o.Clients = []string{string(probe.Modern), string(probe.Legacy)}
	}
	rules := map[string]Rule{}
	for _, r := range probe.Rules() {
		rules[r[0]] = sweepRule(r[0], r[1])
	}
	finding := func(f probe.Finding) Finding {
		g := Finding{Rule: rules[f.Rule], Outcome: Pass}
		switch {
		case f.Fault != "":
			g.Outcome, g.Detail = Fail, f.Fault
		case f.Unproved != "":
			g.Outcome, g.Detail = Skip, "not proved: "+f.Unproved
		}
		return g
	}
	var all Reports
	var failed []error
	for _, name := range o.Clients {
		era := probe.Era(name)
		if era != probe.Modern && era != probe.Legacy {
			return nil, fmt.Errorf("prove: there is no client %q", name)
		}
		po := &probe.Options{Patience: o.Patience, Limit: o.Limit, Arguments: o.Arguments}
		if o.Progress != nil {
			po.Progress = func(f probe.Finding) { o.Progress(finding(f)) }
		}
		var hangUp func() error
		found, err := probe.Probe(ctx, func(ctx context.Context, as *wire.Options) (*wire.Client, error) {
			e, err := dial(ctx, who)
			if err != nil {
				return nil, err
			}
			hangUp = e.Close
			if e.Transport != nil {
				return probe.Over(e.Transport)(ctx, as)
			}
			var base http.RoundTripper
			if e.HTTP != nil {
				base = e.HTTP.Transport
			}
			return probe.HTTP(e.URL, base)(ctx, as)
		}, era, po)
		if hangUp != nil {
			_ = hangUp() // the server may be gone
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("%s client: %w", name, err))
			continue
		}
		all = append(all, reportsOf(name, found, finding)...)
	}
	return all, errors.Join(append(failed, ctx.Err())...)
}

// reportsOf makes a report of the findings about each tool.
func reportsOf(client string, found *probe.Report, finding func(probe.Finding) Finding) Reports {
	var all Reports
	byTool := map[string]*Report{}
	of := func(tool string) *Report {
		if byTool[tool] == nil {
			byTool[tool] = &Report{Tool: tool, Client: client}
			all = append(all, byTool[tool])
		}
		return byTool[tool]
	}
	for _, f := range found.Findings {
		r := of(f.Tool)
		r.Findings = append(r.Findings, finding(f))
	}
	for _, tool := range found.Skipped {
		r := of(tool)
		r.Findings = append(r.Findings, Finding{Rule: untouched, Outcome: Skip, Detail: "not called: it is not annotated read-only"})
	}
	return all
}

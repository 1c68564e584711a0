package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/mrtr-go/sdk/prove"
)

const proveAbout = `usage: mrtr prove [flags] URL
       mrtr prove [flags] -- COMMAND [arguments]

It calls a tool that asks its users, honestly and as an attacker does, and says of
each rule whether the server kept it. The tool is really called, hundreds of times:
prove a server whose effects harm nobody. The server is reached by the URL of its
streamable HTTP endpoint, or started by the command, once for each connection, and
reached over stdio. Questions without an answer are answered with values made from
their forms. A rule that needs what is missing is skipped, and says what that is.

Without -tool it sweeps: it calls every tool that is annotated read-only, as a modern
and as a legacy client, with good arguments and with bad ones, and by fewer rules. A
tool need not ask for that. A call that should work and ends in an error proves
nothing: give such a tool arguments, or put examples into its schema.

  mrtr prove -tool weather_native -arguments '{"location":"Lisbon"}' http://127.0.0.1:8080/mcp
  mrtr prove -tool weather_native -secret MRTR_KEYS -brief '-ttl 1s' \
    -effects 'stderr:card charged' -- weather-demo serve -stdio
  mrtr prove -arguments '{"trip":{"to":"Rome"}}' http://127.0.0.1:8080/mcp

`

const proveEpilog = `
-effects says where the effects are counted:

  stderr:REGEXP   lines of the command's stderr that match; the first group of the
                  expression, if there is one, is the name of the effect
  tool:NAME       a tool of the server, called without arguments
  resource:URI    a resource of the server
  command:LINE    a command and its arguments
  URL             a GET request

All but stderr say a number, or a JSON object of numbers by the name of the effect. A
bare number is that of the effect that -times names. A name may say with what the
effect happened, 'charge amount=5 currency=EUR', or stand for a list with a JSON object
for each time: amounts and currencies are held against the words of the question.
An expression for stderr fits the line of the effect and no line of the log, which
is often written there too: 'stderr:^charged ', say, and not 'stderr:charge'.

A token and a header are sent to the server's own host alone. $NAME in them is read from
the environment, where -token-url finds MRTR_CLIENT_ID and MRTR_CLIENT_SECRET too.

It exits with 0 if no rule failed, with 1 if one did, and with 2 if nothing, or not
all, could be proved. A rule of ours, which no specification demands, is tried and
shown, and decides that with -level ours alone, or where -only asks for it.
`

// runProve proves one tool of one server, or sweeps.
func runProve(args []string, out, errOut io.Writer) status {
	p := newProof()
	fs := p.flags()
	if err := fs.Parse(args); err != nil {
		return misread(err, "prove", helpProve, out, errOut)
	}
	fs.Visit(func(f *flag.Flag) { p.given = append(p.given, f.Name) })
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if p.limit > 0 {
		limited, cancel := context.WithTimeout(ctx, p.limit)
		defer cancel()
		ctx = limited
	}
	reports, err := p.run(ctx, fs.Args(), errOut)
	r := newReport(reports, p.decisive(), err)
	r.file = p.file
	if err := p.write(r, out); err != nil {
		r.Error = message(err)
	}
	if r.Error != "" {
		fmt.Fprintln(errOut, "mrtr prove:", r.Error)
	}
	return r.status()
}

// message is an error without the name of the package that made it.
func message(err error) string { return strings.TrimPrefix(err.Error(), "prove: ") }

// decisive is the weakest level of a rule that decides the exit status.
func (p *proof) decisive() prove.Level {
	switch {
	case p.options.Level != "":
		return p.options.Level
	case len(p.options.Only) > 0:
		return prove.Ours
	}
	return prove.Should
}

// run says what it will do, and does it, unless it is a dry run.
func (p *proof) run(ctx context.Context, target []string, errOut io.Writer) (prove.Reports, error) {
	if err := p.fits(); err != nil {
		return nil, err
	}
	subject, err := p.subject(target)
	if err != nil {
		return nil, err
	}
	if p.sweeps() {
		return p.sweep(ctx, subject, errOut)
	}
	opts := p.options
	p.scenario.Arguments = p.arguments
	opts.Dry = true
	plan, err := prove.Run(ctx, subject, p.scenario, &opts)
	switch {
	case err != nil:
		return nil, p.explained(ctx, err)
	case p.dryRun:
		return prove.Reports{plan}, nil
	case !p.quiet:
		fmt.Fprint(errOut, plan.Summary())
	}
	next, done := p.progress(errOut)
	defer done()
	opts.Dry, opts.Progress = false, next
	report, err := prove.Run(ctx, subject, p.scenario, &opts)
	if report == nil {
		return nil, p.explained(ctx, err)
	}
	return prove.Reports{report}, err
}

// explained adds the stderr of a program that did not start, or the flags for a server that
// wants a token.
func (p *proof) explained(ctx context.Context, err error) error {
	if p.stderr == nil {
		if err != nil && strings.Contains(err.Error(), "error 401") {
			err = fmt.Errorf("%w\n-token and -token-url send a bearer token", err)
		}
		return err
	}
	return p.stderr.explain(ctx, err)
}

// progress is told of each finding, until done.
func (p *proof) progress(errOut io.Writer) (next func(prove.Finding), done func()) {
	if p.quiet {
		return nil, func() {}
	}
	shown := &progress{to: errOut, redraw: isTerminal(errOut), level: p.decisive()}
	return shown.next, shown.start()
}

// write prints the report, and writes the files that were asked for.
func (p *proof) write(r *report, out io.Writer) error {
	err := errors.Join(toFile(p.junit, r.writeJUnit), toFile(p.sarif, r.writeSARIF))
	if p.asJSON {
		return errors.Join(err, r.writeJSON(out))
	}
	err = errors.Join(err, r.writeText(out, p.quiet && !p.dryRun))
	if p.github {
		err = errors.Join(err, r.writeAnnotations(out))
	}
	return err
}

// helpProve explains the command and lists the rules, or explains one rule.
func helpProve(w io.Writer, args []string) error {
	if len(args) == 0 {
		fmt.Fprint(w, proveAbout)
		fs := newProof().flags()
		fs.SetOutput(w)
		fs.PrintDefaults()
		fmt.Fprint(w, proveEpilog+"\nThe rules, which -only selects by name or group:\n\n")
		list := func(rules []prove.Rule) {
			for _, r := range rules {
				fmt.Fprintf(w, "  %-26s%-8s%s\n", r.Name, r.Level, r.Says)
			}
		}
		list(prove.Rules())
		fmt.Fprint(w, "\nThe rules about tasks, for a server that offers them:\n\n")
		list(prove.TaskRules())
		fmt.Fprint(w, "\nThe rules of a sweep:\n\n")
		list(prove.SweepRules())
		return nil
	}
	for _, r := range slices.Concat(prove.Rules(), prove.TaskRules(), prove.SweepRules()) {
		if r.Name == args[0] {
			fmt.Fprintf(w, "%s (%s)\n\n%s\n\n%s\n", r.Name, r.Level, r.Says, r.Clause)
			if source := r.Clause.Source(); source.URL != "" {
				fmt.Fprintf(w, "\n  %s\n  %s\n", source.Quote, source.URL)
			}
			return nil
		}
	}
	return fmt.Errorf("there is no rule %q", args[0])
}

// onlyProof are the flags that have no meaning in a sweep, and onlySweep those that have none
// in the proof of one tool.
var (
	onlyProof = []string{
		"other-arguments", "answers", "other-answers", "other-tool", "optional", "times", "key", "repeatable", "harmless", "reset", "late", "seed", "traces", "other-token", "other-header",
		"fresh", "stranger", "brief", "expiry", "secret", "effects", "only",
	}
	onlySweep = []string{"client"}
)

func (p *proof) sweeps() bool { return p.scenario.Tool == "" }

// fits says which flags contradict each other, or the kind of the run.
func (p *proof) fits() error {
	for _, name := range p.given {
		if p.sweeps() && slices.Contains(onlyProof, name) {
			return fmt.Errorf("-%s is for the proof of one tool: -tool is missing", name)
		}
		if !p.sweeps() && slices.Contains(onlySweep, name) {
			return fmt.Errorf("-%s is for a sweep, without -tool", name)
		}
	}
	for name, value := range map[string]float64{"patience": p.options.Patience.Seconds(), "limit": p.limit.Seconds(), "expiry": p.expiry.Seconds(), "rate": p.rate} {
		if value < 0 {
			return fmt.Errorf("-%s is negative", name)
		}
	}
	if p.asJSON && p.github {
		return errors.New("-json and -github both print to standard output")
	}
	return nil
}

// sweep calls all tools that are read-only.
func (p *proof) sweep(ctx context.Context, subject prove.Subject, errOut io.Writer) (prove.Reports, error) {
	opts := &prove.SweepOptions{Patience: p.options.Patience, Limit: p.limit, Arguments: map[string]map[string]any{}}
	for tool, given := range p.arguments {
		arguments, ok := given.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("the -arguments of %s are no JSON object", tool)
		}
		opts.Arguments[tool] = arguments
	}
	switch p.client {
	case "":
	case "modern", "legacy":
		opts.Clients = []string{p.client}
	default:
		return nil, fmt.Errorf("-client: there is no client %q: modern or legacy", p.client)
	}
	if !p.quiet || p.dryRun {
		opts.Dry = true
		plans, err := prove.Sweep(ctx, subject.Dial, subject.First, opts)
		if p.dryRun {
			return plans, err
		}
		fmt.Fprint(errOut, sweepSummary(plans))
	}
	next, done := p.progress(errOut)
	defer done()
	opts.Dry, opts.Progress = false, next
	return prove.Sweep(ctx, subject.Dial, subject.First, opts)
}

// sweepSummary is the plans of all tools in one line.
func sweepSummary(plans prove.Reports) string {
	called, left, calls := map[string]bool{}, map[string]bool{}, 0
	for _, plan := range plans {
		calls += plan.Calls
		switch {
		case plan.Tool == "": // the server
		case plan.Calls > 0:
			called[plan.Tool] = true
		default:
			left[plan.Tool] = true
		}
	}
	return fmt.Sprintf("a sweep: about %[2]d calls of the read-only tools (%[1]d); never called, since not annotated so: %[3]d\n", len(called), calls, len(left))
}

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
	"time"

	"github.com/mrtr-go/sdk/prove"
)

const proveAbout = `usage: mrtr prove [flags] URL
       mrtr prove [flags] -- COMMAND [arguments]

It calls a tool that asks its users, honestly and as an attacker does, and says of
each rule whether the server kept it. The tool is really called, dozens of times:
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
    -effects 'stderr:audit line' -- weather-demo serve -stdio
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

All but stderr say a number, or a JSON object of numbers by the name of the effect.
An expression for stderr fits the line of the effect and no line of the log, which
is often written there too: 'stderr:^charged ', say, and not 'stderr:charge'.

It exits with 0 if no rule failed, with 1 if one did, and with 2 if nothing could be
proved. A rule of ours, which no specification demands, is tried and shown, and decides
that with -level ours alone, or where -only asks for it.
`

// runProve proves one tool of one server.
func runProve(args []string, out, errOut io.Writer) status {
	p := newProof()
	fs := p.flags()
	if err := fs.Parse(args); errors.Is(err, flag.ErrHelp) {
		_ = helpProve(out, nil)
		return statusClean
	} else if err != nil {
		fmt.Fprintf(errOut, "mrtr prove: %v; see mrtr help prove\n", err)
		return statusMisused
	}
	fs.Visit(func(f *flag.Flag) { p.given = append(p.given, f.Name) })
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if p.limit > 0 {
		limited, cancel := context.WithTimeout(ctx, p.limit)
		defer cancel()
		ctx = limited
	}
	report, err := p.run(ctx, fs.Args(), errOut)
	if report != nil { // as far as the proof came
		err = errors.Join(err, p.write(report, out))
	}
	if err != nil {
		fmt.Fprintln(errOut, "mrtr prove:", strings.TrimPrefix(err.Error(), "prove: "))
		return statusMisused
	}
	if len(report.Failures(p.decisive())) > 0 {
		return statusFound
	}
	return statusClean
}

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

// reported is a proof's report, or those of a sweep.
type reported interface {
	fmt.Stringer
	Failures(prove.Level) []prove.Finding
	WriteJSON(io.Writer) error
	WriteJUnit(io.Writer, prove.Level) error
}

func (p *proof) run(ctx context.Context, target []string, errOut io.Writer) (reported, error) {
	sweeps := p.scenario.Tool == ""
	if err := p.fits(sweeps); err != nil {
		return nil, err
	}
	for name, value := range map[string]time.Duration{"patience": p.options.Patience, "limit": p.limit, "expiry": p.expiry} {
		if value < 0 {
			return nil, fmt.Errorf("-%s is negative: %v", name, value)
		}
	}
	subject, err := p.subject(target)
	if err != nil {
		return nil, err
	}
	var next func(prove.Finding)
	if f, ok := errOut.(*os.File); ok && isTerminal(f) {
		bar := &progress{to: f, level: p.decisive()}
		defer bar.clear()
		next = bar.next
	}
	if sweeps {
		return p.sweep(ctx, subject, next)
	}
	opts := p.options
	opts.Progress = next
	p.scenario.Arguments = p.arguments
	report, err := prove.Run(ctx, subject, p.scenario, &opts)
	if report == nil {
		if p.stderr != nil {
			err = p.stderr.explain(ctx, err) // a program that did not start says why there
		}
		return nil, err
	}
	return report, err
}

// write prints the report, and writes the JUnit file that was asked for.
func (p *proof) write(report reported, out io.Writer) error {
	if p.junit != "" {
		f, err := os.Create(p.junit)
		if err != nil {
			return err
		}
		if err := errors.Join(report.WriteJUnit(f, p.decisive()), f.Close()); err != nil {
			return err
		}
	}
	if p.asJSON {
		return report.WriteJSON(out)
	}
	_, err := io.WriteString(out, report.String())
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
			return nil
		}
	}
	return fmt.Errorf("there is no rule %q", args[0])
}

// inASweep are the flags that a sweep knows. The proof of one tool knows all but those
// of onlySweep.
var (
	inASweep  = []string{"arguments", "client", "json", "junit", "level", "limit", "patience", "token"}
	onlySweep = []string{"client"}
)

// fits says which flag has no meaning in a sweep, or in a proof.
func (p *proof) fits(sweeps bool) error {
	for _, name := range p.given {
		if sweeps && !slices.Contains(inASweep, name) {
			return fmt.Errorf("-%s is for the proof of one tool: -tool is missing", name)
		}
		if !sweeps && slices.Contains(onlySweep, name) {
			return fmt.Errorf("-%s is for a sweep, without -tool", name)
		}
	}
	return nil
}

// sweep calls all tools that are read-only.
func (p *proof) sweep(ctx context.Context, subject prove.Subject, next func(prove.Finding)) (reported, error) {
	opts := &prove.SweepOptions{Patience: p.options.Patience, Limit: p.limit, Progress: next, Arguments: map[string]map[string]any{}}
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
	reports, err := prove.Sweep(ctx, subject.Dial, subject.First, opts)
	if len(reports) == 0 {
		return nil, err
	}
	return reports, err
}

// progress is one line on a terminal that says how far the proof is.
type progress struct {
	to          io.Writer
	level       prove.Level // of the rules that decide
	tried, fail int
}

func (p *progress) next(f prove.Finding) {
	p.tried++
	if f.Outcome == prove.Fail && p.level.Covers(f.Rule.Level) {
		p.fail++
	}
	fmt.Fprintf(p.to, "\r\x1b[K%d rules, %d failed: %s", p.tried, p.fail, f.Rule.Name)
}

func (p *progress) clear() { fmt.Fprint(p.to, "\r\x1b[K") }

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

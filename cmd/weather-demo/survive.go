package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/cmd/weather-demo/internal/charging"
	"github.com/mrtr-go/sdk/cmd/weather-demo/internal/weather"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

const surviveAbout = `Makes a call of two questions in every style, lets something happen to its last
request, and prints how the call ends and how often it audited.`

const chargingIntro = `
The audit is the one effect of these tools. F, G, H, J and HJ have it above
their last question, so the state of the last request says that it has happened.
An effect in the last round is in no state. The same with tools that charge a
card there, F, H, J, HJ and K in Once and G in a doing step; the number counts
the charges:

`

const chargingHead = "    style           sent twice     with a store"

const surviveIntro = `A modern client is asked about Springfield. Its first two requests reach one
server; then something happens to the third. The number counts the audit lines
of the whole call. The servers have no store, but for one column.

`

const surviveHead = "    style           sent twice     with a store   restart        new version"

const surviveLegend = `
  sent twice    the last request reaches the server twice: the second response.
                An effect below the last question happens again, as in E
  with a store  the same, with a store in which the server remembers rounds
  restart       it reaches a new process that has the same key
  new version   it reaches a process whose tool asks for the units first

  frame gone    the handler was held by a process that no longer has it
  diverged      the new version cannot go on with this call, and says so

At a process that has another key the state does not open (-32602):

`

// survive prints how the calls of each style end.
func survive(ctx context.Context, p printer) error {
	fmt.Fprintf(p, "%s%s\n", surviveIntro, p.dim(surviveHead))
	for _, v := range survivors {
		if err := v.writeRow(ctx, p, incidents); err != nil {
			return err
		}
	}
	fmt.Fprint(p, surviveLegend)
	letters := map[string][]string{}
	for _, v := range survivors {
		ending, err := v.meets(ctx, keyLost)
		if err != nil {
			return fmt.Errorf("%s: %w", v.name, err)
		}
		letters[ending] = append(letters[ending], v.letter)
	}
	for _, ending := range sortedKeys(letters) {
		fmt.Fprintf(p, "  %-12s  %s\n", ending, strings.Join(letters[ending], " "))
	}
	fmt.Fprintf(p, "%s%s\n", chargingIntro, p.dim(chargingHead))
	for _, o := range charging.All {
		v := survivor{letter: strings.ReplaceAll(o.Letter, "+", ""), name: strings.TrimSuffix(o.Name, charging.Suffix), now: o.New}
		if err := v.writeRow(ctx, p, []incident{sentTwice, sentTwiceRemembered}); err != nil {
			return err
		}
	}
	return nil
}

// writeRow prints how the calls of one style end.
func (v survivor) writeRow(ctx context.Context, p printer, incidents []incident) error {
	line := fmt.Sprintf(" %-2s %-16s", v.letter, v.name)
	for _, incident := range incidents {
		ending, err := v.meets(ctx, incident)
		if err != nil {
			return fmt.Errorf("%s: %w", v.name, err)
		}
		line += fmt.Sprintf("%-15s", ending)
	}
	fmt.Fprintln(p, strings.TrimRight(line, " "))
	return nil
}

// weatherMaker makes the weather tool in one style.
type weatherMaker = func(*mrtr.Runtime, *options.Audit) options.Handler

// survivor is a style, with a later version of it that asks in another order.
type survivor struct {
	letter, name string
	now, later   weatherMaker
}

var survivors = []survivor{
	{"E", "native", options.Native, laterGuards(audited)},
	{"F", "once", options.Once, laterGuards(auditedByName)},
	{"G", "steps", options.Steps, laterSteps},
	{"H", "coroutine", options.Coroutine, laterLinear(mrtr.Coroutine[options.Query, options.Report])},
	{"J", "journal", options.Journal, laterLinear(mrtr.Journal[options.Query, options.Report])},
	{"HJ", "resumable", options.Resumable, laterLinear(mrtr.Resumable[options.Query, options.Report])},
	{"K", "given", options.Given, laterGiven},
	{"A", "sse_shim", options.SSEShim, laterGuards(audited)},
	{"C", "version_branch", options.VersionBranch, laterGuards(audited)},
	{"D", "two_handlers", options.TwoHandlers, laterGuards(audited)},
}

// incident befalls the last request of a call.
type incident int

const (
	sentTwice incident = iota
	sentTwiceRemembered
	restarted
	deployed
	keyLost
)

var incidents = []incident{sentTwice, sentTwiceRemembered, restarted, deployed}

// meets makes a call to which the incident happens, and returns how it ends.
func (v survivor) meets(ctx context.Context, befalls incident) (string, error) {
	audit, key := &options.Audit{}, statecodec.GenerateKey()
	opts := sharing(key)
	if befalls == sentTwiceRemembered {
		opts = &mrtr.Options{Store: store.NewMemory(nil)}
	}
	first, err := v.serve(ctx, v.now, audit, opts)
	if err != nil {
		return "", err
	}
	defer first.close()
	request := wire.Request{Name: "weather", Arguments: map[string]string{"location": "Springfield"}}
	for range 2 {
		reply, err := first.Send(ctx, request)
		if err != nil {
			return "", err
		}
		if len(reply.Asks) != 1 {
			return "", fmt.Errorf("asked %d questions in one round", len(reply.Asks))
		}
		request = answering(request, reply, firstChoices[reply.Asks[0].Key])
	}
	last := first
	switch befalls {
	case sentTwice, sentTwiceRemembered:
		if _, err := first.Send(ctx, request); err != nil {
			return "", err
		}
	case restarted:
		last, err = v.serve(ctx, v.now, audit, sharing(key))
	case deployed:
		last, err = v.serve(ctx, v.later, audit, sharing(key))
	case keyLost:
		last, err = v.serve(ctx, v.now, audit, sharing(statecodec.GenerateKey()))
	}
	if err != nil {
		return "", err
	}
	if last != first {
		defer last.close()
	}
	last.stopped = nil
	reply, err := last.Send(ctx, request)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s, %d", last.ending(reply), len(audit.Lines())), nil
}

// instance is one process of a server, with a client.
type instance struct {
	*connection
	stopped error // with which the last call that stopped has stopped
}

func (v survivor) serve(ctx context.Context, handler weatherMaker, audit *options.Audit, opts *mrtr.Options) (i *instance, err error) {
	i = &instance{}
	opts.Observer = i
	i.connection, err = connect(ctx, opts, nil, func(rt *mrtr.Runtime, server *mcp.Server) error {
		mrtr.AddTool(server, &mcp.Tool{Name: "weather"}, handler(rt, audit))
		return nil
	}, nil)
	return i, err
}

// Observe notes with which error a call stopped. It runs before the response is
// sent.
func (i *instance) Observe(_ context.Context, e mrtr.Event) {
	if e.Kind == mrtr.CallStopped {
		i.stopped = e.Err
	}
}

func (i *instance) ending(reply *wire.Reply) string {
	switch {
	case reply.Error != nil:
		return "refused"
	case i.stopped != nil:
		return strings.ReplaceAll(weather.ErrorType(i.stopped), "_", " ")
	}
	return "completes"
}

// The later version of the weather tool asks for the units first, in each style.

// auditing writes the audit line of a call.
type auditing func(ctx context.Context, c *mrtr.Call, audit *options.Audit, place string) error

func audited(_ context.Context, _ *mrtr.Call, audit *options.Audit, place string) error {
	audit.Record(place)
	return nil
}

func auditedByName(ctx context.Context, c *mrtr.Call, audit *options.Audit, place string) error {
	_, err := mrtr.Once(ctx, c, "audit", func(context.Context, string) (bool, error) {
		audit.Record(place)
		return true, nil
	})
	return err
}

func laterGuards(record auditing) weatherMaker {
	return func(rt *mrtr.Runtime, audit *options.Audit) options.Handler {
		return mrtr.Tool(rt, mrtr.Native(func(ctx context.Context, c *mrtr.Call, q options.Query) (*mrtr.IncompleteResult, options.Report, error) {
			units, ok := mrtr.Answer(c, options.Units)
			if !ok {
				return mrtr.Need(options.Units), options.Report{}, nil
			}
			which, err := options.WhichPlace(q.Location)
			if err != nil {
				return nil, options.Report{}, err
			}
			place, ok := mrtr.Answer(c, which)
			if !ok {
				return mrtr.Need(which), options.Report{}, nil
			}
			if err := record(ctx, c, audit, place); err != nil {
				return nil, options.Report{}, err
			}
			return nil, options.NewReport(place, units), nil
		}), nil)
	}
}

func laterSteps(rt *mrtr.Runtime, audit *options.Audit) options.Handler {
	var b mrtr.Steps[options.Query, options.Report]
	units := mrtr.AskQuestion(&b, "units", options.Units)
	place := mrtr.AskStep(&b, "place", func(ctx context.Context, at *mrtr.At[options.Query]) (mrtr.Question[string], error) {
		return options.WhichPlace(at.In.Location)
	})
	mrtr.DoStep(&b, "audit", func(ctx context.Context, at *mrtr.At[options.Query], idem string) (bool, error) {
		audit.Record(place.Of(at))
		return true, nil
	})
	b.End(func(ctx context.Context, at *mrtr.At[options.Query]) (options.Report, error) {
		return options.NewReport(place.Of(at), units.Of(at)), nil
	})
	return mrtr.Tool(rt, b.MustBuild(), nil)
}

func laterLinear(style func(mrtr.LinearFunc[options.Query, options.Report]) mrtr.Style[options.Query, options.Report]) weatherMaker {
	return func(rt *mrtr.Runtime, audit *options.Audit) options.Handler {
		return mrtr.Tool(rt, style(func(ctx context.Context, c *mrtr.Call, q options.Query) (options.Report, error) {
			units, err := mrtr.Ask(ctx, c, options.Units)
			if err != nil {
				return options.Report{}, err
			}
			which, err := options.WhichPlace(q.Location)
			if err != nil {
				return options.Report{}, err
			}
			place, err := mrtr.Ask(ctx, c, which)
			if err != nil {
				return options.Report{}, err
			}
			if err := auditedByName(ctx, c, audit, place); err != nil {
				return options.Report{}, err
			}
			return options.NewReport(place, units), nil
		}), nil)
	}
}

func laterGiven(rt *mrtr.Runtime, audit *options.Audit) options.Handler {
	units := mrtr.ResolveQuestion[options.Query](options.Units)
	place := mrtr.ResolveAfter(units, "place", func(_ context.Context, q options.Query, _ string) (mrtr.Question[string], error) {
		return options.WhichPlace(q.Location)
	})
	return mrtr.Tool(rt, mrtr.Given2(place, units, func(_ context.Context, _ *mrtr.Call, _ options.Query, place, units string) (options.Report, error) {
		audit.Record(place)
		return options.NewReport(place, units), nil
	}), nil)
}

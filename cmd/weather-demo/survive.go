package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

const surviveAbout = `Makes a call of two questions in every style, lets something happen to its last
request, and prints how the call ends and how often it audited.`

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
func survive(ctx context.Context, args []string, t terminal) error {
	f := flag.NewFlagSet("survive", flag.ContinueOnError)
	if _, err := parse(f, args, t); err != nil {
		return err
	}
	w, p := t.out, painterFor(t.out)
	fmt.Fprintf(w, "%s%s\n", surviveIntro, p.dim(surviveHead))
	for _, v := range survivors {
		line := fmt.Sprintf(" %-2s %-16s", v.letter, v.name)
		for _, incident := range incidents {
			ending, err := v.meets(ctx, incident)
			if err != nil {
				return fmt.Errorf("%s: %w", v.name, err)
			}
			line += fmt.Sprintf("%-15s", ending)
		}
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
	fmt.Fprint(w, surviveLegend)
	endings := map[string][]string{}
	for _, v := range survivors {
		ending, err := v.meets(ctx, keyLost)
		if err != nil {
			return fmt.Errorf("%s: %w", v.name, err)
		}
		endings[ending] = append(endings[ending], v.letter)
	}
	for _, ending := range sortedKeys(endings) {
		fmt.Fprintf(w, "  %-12s  %s\n", ending, strings.Join(endings[ending], " "))
	}
	return nil
}

// survivor is a style, with a later version of it that asks in another order.
type survivor struct {
	letter, name string
	now, later   func(*mrtr.Runtime, *options.Audit) options.Handler
}

var survivors = []survivor{
	{"E", "native", options.Native, laterGuards},
	{"F", "once", options.Once, laterOnce},
	{"G", "steps", options.Steps, laterSteps},
	{"H", "coroutine", options.Coroutine, laterLinear(mrtr.Coroutine[options.Query, options.Report])},
	{"J", "journal", options.Journal, laterLinear(mrtr.Journal[options.Query, options.Report])},
	{"HJ", "resumable", options.Resumable, laterLinear(mrtr.Resumable[options.Query, options.Report])},
	{"A", "sse_shim", options.SSEShim, laterGuards},
	{"C", "version_branch", options.VersionBranch, laterGuards},
	{"D", "two_handlers", options.TwoHandlers, laterGuards},
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

// meets makes a call to which the incident happens, and tells how it ends.
func (v survivor) meets(ctx context.Context, what incident) (string, error) {
	audit, key := &options.Audit{}, statecodec.GenerateKey()
	sharing := func(key statecodec.Key) *mrtr.Options {
		return &mrtr.Options{State: &statecodec.Options{Keys: []statecodec.Key{key}}}
	}
	opts := sharing(key)
	if what == sentTwiceRemembered {
		opts = &mrtr.Options{Store: store.NewMemory(nil)}
	}
	first, err := v.serve(ctx, v.now, audit, opts)
	if err != nil {
		return "", err
	}
	defer first.close()
	request := wire.Request{Name: "weather", Arguments: map[string]string{"location": "Springfield"}}
	for range 2 {
		reply, err := first.client.Send(ctx, request)
		if err != nil {
			return "", err
		}
		if len(reply.Asks) != 1 {
			return "", fmt.Errorf("asked %d questions in one round", len(reply.Asks))
		}
		q := reply.Asks[0]
		request.State = reply.State
		request.Responses = map[string]any{q.Key: firstChoices[q.Key](q)}
	}
	last := first
	switch what {
	case sentTwice, sentTwiceRemembered:
		if _, err := first.client.Send(ctx, request); err != nil {
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
	reply, err := last.client.Send(ctx, request)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s, %d", last.ending(reply), len(audit.Lines())), nil
}

// instance is one process of a server, with a client.
type instance struct {
	runtime *mrtr.Runtime
	client  *wire.Client
	stopped error // with which the last call that stopped has stopped
}

func (v survivor) serve(ctx context.Context, handler func(*mrtr.Runtime, *options.Audit) options.Handler, audit *options.Audit, opts *mrtr.Options) (*instance, error) {
	i := &instance{}
	opts.Observer = i
	var err error
	i.runtime, err = mrtr.New(opts)
	if err != nil {
		return nil, err
	}
	server := mcp.NewServer(implementation, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "weather"}, handler(i.runtime, audit))
	i.client, err = wire.Connect(ctx, server, nil)
	if err != nil {
		return nil, errors.Join(err, i.runtime.Close())
	}
	return i, nil
}

// Observe notes with which error a call stopped. It runs before the response is
// sent.
func (i *instance) Observe(_ context.Context, e mrtr.Event) {
	if e.Kind == mrtr.CallStopped {
		i.stopped = e.Err
	}
}

func (i *instance) close() {
	_ = i.client.Close()
	_ = i.runtime.Close()
}

func (i *instance) ending(reply *wire.Reply) string {
	switch {
	case reply.Error != nil:
		return "refused"
	case i.stopped != nil:
		return strings.ReplaceAll(typeOf(i.stopped), "_", " ")
	}
	return "completes"
}

package docs_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/given"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/mrtr/steps"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// duplicatesTable shows how a call ends if something happens to its last request. Its first
// two requests reach one server; the number counts the charges of the whole call.
func duplicatesTable(t *testing.T) string {
	table := "    style           sent twice     with a store   restart        new version\n"
	for _, v := range survivors {
		line := fmt.Sprintf(" %-2s %-16s", v.letter, v.name)
		for _, befalls := range []incident{sentTwice, sentTwiceRemembered, restarted, deployed} {
			line += fmt.Sprintf("%-15s", v.meets(t, befalls))
		}
		table += strings.TrimRight(line, " ") + "\n"
	}
	return table
}

// A process with another key opens no state: it refuses the request.
func TestAnotherKeyRefusesEveryStyle(t *testing.T) {
	for _, v := range survivors {
		require.Contains(t, v.meets(t, keyLost), "refused, ", v.name)
	}
}

// maker makes the weather tool in one style.
type maker = func(*mrtr.Runtime, *options.Card) options.Handler

// survivor is a style, with a later version of it that asks for the units first.
type survivor struct {
	letter, name string
	now, later   maker
}

var survivors = []survivor{
	{"E", "native", options.Native, laterGuards(charged)},
	{"F", "once", options.Once, laterGuards(chargedOnce)},
	{"G", "steps", options.Steps, laterSteps},
	{"H", "coroutine", options.Coroutine, laterLinear(linear.Coroutine[options.Query, options.Report])},
	{"J", "journal", options.Journal, laterLinear(linear.Journal[options.Query, options.Report])},
	{"HJ", "resumable", options.Resumable, laterLinear(linear.Resumable[options.Query, options.Report])},
	{"K", "given", options.Given, laterGiven},
	{"A", "sse_shim", options.SSEShim, laterGuards(charged)},
	{"C", "version_branch", options.VersionBranch, laterGuards(charged)},
	{"D", "two_handlers", options.TwoHandlers, laterGuards(charged)},
}

// incident befalls the last request of a call.
type incident int

const (
	sentTwice           incident = iota // the second response counts
	sentTwiceRemembered                 // on a server with a store
	restarted                           // it reaches a new process with the same key
	deployed                            // and with the later version of the tool
	keyLost                             // it reaches a process with another key
)

// meets makes a call to which the incident happens, and returns how it ends.
func (v survivor) meets(t *testing.T, befalls incident) string {
	card, key := &options.Card{}, statecodec.GenerateKey()
	opts := &mrtr.Options{State: &statecodec.Options{Keys: []statecodec.Key{key}}}
	if befalls == sentTwiceRemembered {
		opts = &mrtr.Options{Durable: durable.In(store.NewMemory(nil), nil)}
	}
	var stopped lastStop // with which the last request has stopped
	serving := func(tool maker, opts *mrtr.Options) *wire.Client {
		opts.Listener = observe.With(&stopped)
		return connected(t, opts, func(server *mcp.Server, rt *mrtr.Runtime) {
			mrtr.AddTool(server, &mcp.Tool{Name: "weather"}, tool(rt, card))
		})
	}
	client := serving(v.now, opts)
	send := func(request wire.Request) *wire.Reply {
		reply, err := client.Send(t.Context(), request)
		require.NoError(t, err)
		return reply
	}
	request := wire.Request{Name: "weather", Arguments: map[string]string{"location": "Springfield"}}
	for _, choice := range []string{"Springfield, Illinois", "metric"} {
		reply := send(request)
		require.Len(t, reply.Asks, 1)
		q := reply.Asks[0]
		request.State, request.Responses = reply.State, map[string]any{q.Key: wire.Value(choice)(q)}
	}
	switch befalls {
	case sentTwice, sentTwiceRemembered:
		send(request)
	case restarted:
		client = serving(v.now, &mrtr.Options{State: opts.State})
	case deployed:
		client = serving(v.later, &mrtr.Options{State: opts.State})
	case keyLost:
		client = serving(v.now, &mrtr.Options{})
	}
	stopped.err = nil
	return fmt.Sprintf("%s, %d", stopped.ending(send(request)), len(card.Charges()))
}

// lastStop holds the error of the call that stopped last. An observer hears of it before the
// response is sent.
type lastStop struct{ err error }

func (s *lastStop) Observe(_ context.Context, e observe.Event) {
	if e.Kind == observe.CallStopped {
		s.err = e.Err
	}
}

func (s *lastStop) ending(reply *wire.Reply) string {
	var typed interface{ ToolErrorType() string }
	switch {
	case reply.Error != nil:
		return "refused"
	case errors.As(s.err, &typed):
		return strings.ReplaceAll(typed.ToolErrorType(), "_", " ")
	}
	return "completes"
}

// charging charges for a call.
type charging func(ctx context.Context, c *mrtr.Call, card *options.Card, place string) error

func charged(_ context.Context, _ *mrtr.Call, card *options.Card, place string) error {
	card.Charge(place)
	return nil
}

func chargedOnce(ctx context.Context, c *mrtr.Call, card *options.Card, place string) error {
	_, err := mrtr.Once(ctx, c, "charge", func(context.Context, string) (bool, error) {
		card.Charge(place)
		return true, nil
	})
	return err
}

func laterGuards(record charging) maker {
	return func(rt *mrtr.Runtime, card *options.Card) options.Handler {
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
			return nil, options.NewReport(place, units), record(ctx, c, card, place)
		}), nil)
	}
}

func laterSteps(rt *mrtr.Runtime, card *options.Card) options.Handler {
	var b steps.List[options.Query, options.Report]
	units := steps.Always(&b, options.Units)
	place := steps.Ask(&b, "place", func(ctx context.Context, at *steps.At[options.Query]) (mrtr.Question[string], error) {
		return options.WhichPlace(at.In.Location)
	})
	steps.Do(&b, "charge", func(ctx context.Context, at *steps.At[options.Query], idem string) (bool, error) {
		card.Charge(place.Of(at))
		return true, nil
	})
	b.End(func(ctx context.Context, at *steps.At[options.Query]) (options.Report, error) {
		return options.NewReport(place.Of(at), units.Of(at)), nil
	})
	return mrtr.Tool(rt, b.MustBuild(), nil)
}

func laterLinear(style func(linear.Func[options.Query, options.Report]) mrtr.Style[options.Query, options.Report]) maker {
	return func(rt *mrtr.Runtime, card *options.Card) options.Handler {
		return mrtr.Tool(rt, style(func(ctx context.Context, c *mrtr.Call, q options.Query) (options.Report, error) {
			units, err := linear.Ask(ctx, c, options.Units)
			if err != nil {
				return options.Report{}, err
			}
			which, err := options.WhichPlace(q.Location)
			if err != nil {
				return options.Report{}, err
			}
			place, err := linear.Ask(ctx, c, which)
			if err != nil {
				return options.Report{}, err
			}
			return options.NewReport(place, units), chargedOnce(ctx, c, card, place)
		}), nil)
	}
}

func laterGiven(rt *mrtr.Runtime, card *options.Card) options.Handler {
	units := given.Always[options.Query](options.Units)
	place := given.After(units, "place", func(_ context.Context, q options.Query, _ string) (mrtr.Question[string], error) {
		return options.WhichPlace(q.Location)
	})
	return mrtr.Tool(rt, given.Handler2(place, units, func(_ context.Context, _ *mrtr.Call, _ options.Query, place, units string) (options.Report, error) {
		card.Charge(place)
		return options.NewReport(place, units), nil
	}), nil)
}

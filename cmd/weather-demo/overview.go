package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/cmd/weather-demo/internal/weather"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// overview is for readers new to all of it: one call over two servers, what happens to a
// charge, and where to go. Every number in it was counted in this run.
func overview(ctx context.Context, p printer) error {
	fmt.Fprint(p, whyItForgets)
	if err := overTwoServers(ctx, p); err != nil {
		return err
	}
	fmt.Fprint(p, thePrice)
	for _, stands := range []struct {
		where, file string
		style       options.New
	}{
		{"below the last question", "options/native.go", options.Native},
		{"above a question", "options/naive.go", options.Naive},
		{"above a question, in mrtr.Once", "options/once.go", options.Once},
	} {
		charged, err := charges(ctx, stands.style, nil, 1)
		if err != nil {
			return err
		}
		fmt.Fprintf(p, "  %-32s %s     %s\n", stands.where, p.charged(charged), p.dim(stands.file))
	}
	fmt.Fprint(p, lostResponse)
	for _, has := range []struct {
		what, option string
		opts         *mrtr.Options
	}{
		{"without a store", "", nil},
		{"with a store", "mrtr.Options.Durable", &mrtr.Options{Durable: durable.In(store.NewMemory(nil), nil)}},
	} {
		charged, err := charges(ctx, options.Native, has.opts, 2)
		if err != nil {
			return err
		}
		fmt.Fprintln(p, strings.TrimRight(fmt.Sprintf("  %-32s %s     %s", has.what, p.charged(charged), p.dim(has.option)), " "))
	}
	same, err := everyStyle(ctx)
	if err != nil {
		return err
	}
	fmt.Fprint(p, "\n", same, whereToGo)
	return nil
}

// charged is a number of charges. More than one is a fault.
func (p printer) charged(n int) string {
	if n == 1 {
		return p.good("1")
	}
	return p.bad(fmt.Sprint(n))
}

const whyItForgets = `mrtr is a Go library for tools that ask their user something. Since revision
2026-07-28 of the Model Context Protocol a server cannot call its client back:
it returns the question and forgets the call; the client asks, and calls again.

`

const thePrice = `
The sealed state brings the call to B. The price: the handler runs from its top
in every round. What happens to a charge in it, counted just now:

  where the charge stands          charged
`

const lostResponse = `
  The last answer is sent twice, because its response was lost:

`

const whereToGo = `
To write a tool, copy examples/server. go run ./cmd/weather-demo also takes:

  page          in your browser: answer, kill a server, attack the call
  -ask          here: answer the questions yourself
  -style basic  the smallest handler, explained; then multiround, then any style
  -trace        the messages as they are sent, the state decoded
  compare       what the styles differ in, line by line
  serve         for your own client, over stdio, HTTP or WebSocket
  help          all commands; docs/styles.md has the rest
`

var lisbon = wire.Request{Name: "weather_native", Arguments: map[string]string{"location": "Lisbon"}}

// overTwoServers plays one call on two servers, which share nothing but a key.
func overTwoServers(ctx context.Context, p printer) error {
	key, card := statecodec.GenerateKey(), &options.Card{}
	send := func(server string, request wire.Request) (*wire.Reply, error) {
		rec := &recorder{card: card, watch: newSequence(p, "server "+server).moment}
		opts := &mrtr.Options{State: &statecodec.Options{Keys: []statecodec.Key{key}}, Listener: observe.With(rec)}
		link, err := connect(ctx, opts, nil, func(rt *mrtr.Runtime, on *mcp.Server) {
			mrtr.AddTool(on, &mcp.Tool{Name: lisbon.Name}, options.Native(rt, card))
		}, rec.recording)
		if err != nil {
			return nil, err
		}
		defer link.close()
		return link.Send(ctx, request)
	}
	first, err := send("A", lisbon)
	if err != nil {
		return err
	}
	if !first.Incomplete() {
		return fmt.Errorf("%s asked nothing", lisbon.Name)
	}
	newSequence(p, "server A").inside(p.bad("✗ server A is stopped"))
	if _, err := send("B", answering(lisbon, first, wire.Value("metric"))); err != nil {
		return err
	}
	fmt.Fprintf(p, "\n  2 requests, 2 servers, %s. B had never seen this call. It has A's key.\n", count(len(card.Charges()), "charge"))
	return nil
}

// charges plays the call of a style, whose last request arrives this often, and counts.
func charges(ctx context.Context, style options.New, opts *mrtr.Options, arrives int) (int, error) {
	card := &options.Card{}
	link, err := connect(ctx, opts, nil, func(rt *mrtr.Runtime, server *mcp.Server) {
		mrtr.AddTool(server, &mcp.Tool{Name: lisbon.Name}, style(rt, card))
	}, nil)
	if err != nil {
		return 0, err
	}
	defer link.close()
	first, err := link.Send(ctx, lisbon)
	if err != nil {
		return 0, err
	}
	for range arrives {
		last, err := link.Send(ctx, answering(lisbon, first, wire.Value("metric")))
		if err != nil {
			return 0, err
		}
		if last.Error != nil || last.Incomplete() {
			return 0, fmt.Errorf("the call did not complete: %s", last.Text)
		}
	}
	return len(card.Charges()), nil
}

// everyStyle calls all styles as both kinds of client, and says whether they differ.
func everyStyle(ctx context.Context) (string, error) {
	texts, effects := map[string]bool{}, map[int]bool{}
	for _, o := range options.All {
		for _, e := range []era{modern, legacy} {
			r, err := plannedCall{option: o, era: e, location: "Lisbon", answers: weather.FirstChoices}.play(ctx)
			if err != nil {
				return "", err
			}
			texts[r.Text], effects[r.Effects] = true, true
		}
	}
	if len(texts) > 1 || len(effects) > 1 || !effects[1] {
		return "", fmt.Errorf("the styles differ: %d results, and charges of %v", len(texts), sortedKeys(effects))
	}
	return fmt.Sprintf("A legacy client cannot call again. mrtr asks it while its one request is open;\n"+
		"the handler is the same. There are %d styles of handler: all gave a modern and\n"+
		"a legacy client this result, with one charge.\n", len(options.All)), nil
}

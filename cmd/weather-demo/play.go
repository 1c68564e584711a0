package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/cmd/weather-demo/internal/weather"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/statecodec"
)

// era names a kind of client on the command line.
type era = weather.Era

const (
	modern = weather.Modern
	legacy = weather.Legacy
)

// plannedCall is a call to be played.
type plannedCall struct {
	option   options.Option
	era      era
	location string
	answers  wire.Answers
	// watch is called with each moment as it happens. It may be nil.
	watch func(moment)
}

// run is one call of one style, from its first request to its result.
type run struct {
	Style          string          `json:"style"`
	Letter         string          `json:"letter"`
	Era            era             `json:"era"`
	Location       string          `json:"location"`
	Rounds         int             `json:"rounds"`
	Questions      []string        `json:"questions"`
	Text           string          `json:"text"`
	Structured     json.RawMessage `json:"structured"`
	IsError        bool            `json:"is_error"`
	Effects        int             `json:"effects"`
	HandlerEntries int             `json:"handler_entries"`
	StateBytes     int             `json:"state_bytes"`
}

// play makes the call in memory, with a server and a client of its own.
func (s plannedCall) play(ctx context.Context) (*run, error) {
	card := &options.Card{}
	rec := &recorder{card: card, watch: s.watch}
	arguments := map[string]string{"location": s.location}
	link, err := connect(ctx, &mrtr.Options{Listener: observe.With(rec)}, s.era.Client(), func(rt *mrtr.Runtime, server *mcp.Server) {
		mrtr.AddTool(server, weather.Tool(s.option), s.option.New(rt, card))
		rec.inspect = func(state string) (json.RawMessage, error) {
			raw, err := json.Marshal(arguments)
			if err != nil {
				return nil, err
			}
			return rt.Inspect(state, statecodec.Binding{Target: s.option.Tool(), Arguments: raw})
		}
	}, rec.recording)
	if err != nil {
		return nil, err
	}
	defer link.close()
	out, err := link.Call(ctx, s.option.Tool(), arguments, s.answers)
	if err != nil {
		return nil, err
	}
	if out.Error != nil {
		return nil, fmt.Errorf("%s: %w", s.option.Tool(), out.Error)
	}
	rec.mu.Lock()
	entered := rec.entered
	rec.mu.Unlock()
	r := &run{
		Style: s.option.Name, Letter: s.option.Letter, Era: s.era, Location: s.location,
		Rounds: link.Requests("tools/call"), Questions: []string{},
		Text: out.Text, Structured: out.Structured, IsError: out.IsError,
		Effects: len(card.Charges()), HandlerEntries: entered,
	}
	for _, q := range out.Questions {
		r.Questions = append(r.Questions, q.Key)
	}
	for _, token := range out.States {
		r.StateBytes = max(r.StateBytes, len(token))
	}
	return r, nil
}

func (s plannedCall) title() string {
	return fmt.Sprintf("%s, %q, %s client", s.option.Tool(), shorten(s.location, 20), s.era)
}

func (r *run) summary() string {
	entered := "handler entered " + count(r.HandlerEntries, "time")
	if r.Style == "steps" {
		entered = count(r.HandlerEntries, "step") + " entered"
	}
	return fmt.Sprintf("%s, %s, %s.", count(r.Rounds, "request"), entered, count(r.Effects, "charge"))
}

// prompter lets a person answer the questions of a call.
type prompter struct {
	ctx context.Context
	printer
	lines <-chan string
	// echoes says that the terminal shows the typed text by itself.
	echoes bool

	mu sync.Mutex // one question at a time
}

func newPrompter(ctx context.Context, t terminal) *prompter {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for in := bufio.NewScanner(t.in); in.Scan(); {
			select {
			case lines <- in.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return &prompter{ctx: ctx, printer: printerFor(t.out), lines: lines, echoes: isTerminal(t.in)}
}

// answer asks until the person types an answer that fits. The end of the input
// cancels the question.
func (p *prompter) answer(q wire.Question) any {
	p.mu.Lock()
	defer p.mu.Unlock()
	choices := choicesOf(q)
	fmt.Fprintf(p, "\n  %s\n", p.bold(q.Message))
	for i, choice := range choices {
		fmt.Fprintf(p, "    %d  %s\n", i+1, choice)
	}
	fmt.Fprint(p, "    d  decline\n    c  cancel\n")
	for {
		fmt.Fprint(p, "  your answer: ")
		select {
		case <-p.ctx.Done():
			return wire.Cancel(q)
		case typed, ok := <-p.lines:
			if !ok {
				fmt.Fprint(p, "\n  (end of input: cancelled)\n\n")
				return wire.Cancel(q)
			}
			if !p.echoes {
				fmt.Fprintln(p, typed)
			}
			if response := understand(q, typed, choices); response != nil {
				fmt.Fprintln(p)
				return response
			}
			fmt.Fprintf(p, "  %s\n", p.bad(fmt.Sprintf("%q is not a choice: type a number from 1 to %d, d or c.", shorten(typed, 20), len(choices))))
		}
	}
}

// understand turns the typed text into a response, nil if it fits none.
func understand(q wire.Question, typed string, choices []string) any {
	typed = strings.TrimSpace(typed)
	switch strings.ToLower(typed) {
	case "d", "decline":
		return wire.Decline(q)
	case "c", "cancel":
		return wire.Cancel(q)
	}
	i := slices.IndexFunc(choices, func(choice string) bool { return strings.EqualFold(choice, typed) })
	if n, err := strconv.Atoi(typed); err == nil {
		i = n - 1
	}
	if i < 0 || i >= len(choices) {
		return nil
	}
	return wire.Value(choices[i])(q)
}

// choicesOf are the values that a question's form allows.
func choicesOf(q wire.Question) []string {
	var f form
	if json.Unmarshal(q.Schema, &f) != nil {
		return nil
	}
	return f.Properties[q.Key].Enum
}

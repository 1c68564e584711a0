package main

import (
	"context"
	"encoding/json"
	"fmt"

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

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/statecodec"
)

const errorsAbout = `Provokes every error of this demo by a real call through package boundary, and
prints it as an agent gets it: the text that its model reads, and the report
that the boundary adds under one key of _meta.`

// showErrors provokes each error and prints it as the agent sees it.
func showErrors(ctx context.Context, p printer) error {
	fmt.Fprint(p, errorsIntro)
	heading := ""
	for _, m := range mistakes {
		if m.heading != heading {
			heading = m.heading
			fmt.Fprintf(p, "%s\n\n", p.bold(strings.ToUpper(heading)))
		}
		reply, err := m.setup.play(ctx, m.act)
		if err != nil {
			return fmt.Errorf("%s: %w", m.title, err)
		}
		fmt.Fprintf(p, "%s\n", p.bold(m.title))
		writeReply(p, reply)
	}
	return nil
}

const errorsIntro = `Every call ends in one well-formed result. An error result is for the model,
which can often correct the call. A protocol error is for the client: the
request itself was wrong. "expected" is true if the agent can correct the error,
and false if an operator has to repair the server. Not shown: hints, which
repeat the last block of the text, and the tool, request id and duration, which
every result has.

`

func writeReply(p printer, reply *wire.Reply) {
	if reply.Error != nil {
		fmt.Fprintf(p, "  %s\n", p.bad(fmt.Sprintf("protocol error %d", reply.Error.Code)))
		writeText(p, cut(reply.Error.Message, 200))
		if len(reply.Error.Data) > 0 {
			fmt.Fprintf(p, "    %s\n", p.dim(layout(reply.Error.Data, "    ", nil)))
		}
		fmt.Fprintln(p)
		return
	}
	var r callResult
	report, err := reportOf(reply)
	if err != nil || json.Unmarshal(reply.Result, &r) != nil || !r.IsError {
		fmt.Fprintf(p, "  %s\n\n", p.bad("not an error result: "+string(reply.Result)))
		return
	}
	fmt.Fprintf(p, "  %s\n", p.bad("error result"))
	for _, block := range r.Content {
		writeText(p, block.Text)
	}
	writeFacts(p, report)
	fmt.Fprintln(p)
}

// reportOf reads the report that the boundary adds to a result.
func reportOf(reply *wire.Reply) (report boundary.Report, err error) {
	var r struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	if err := json.Unmarshal(reply.Result, &r); err != nil {
		return report, err
	}
	return report, json.Unmarshal(r.Meta[boundary.MetaKey], &report)
}

func writeText(p printer, text string) {
	for _, line := range wrap(text, lineWidth-4) {
		fmt.Fprintf(p, "  │ %s\n", line)
	}
}

// cut shortens a message of go-sdk's that repeats the whole request.
func cut(s string, width int) string {
	if short := shorten(s, width); short != s {
		return fmt.Sprintf("%s (and %d bytes more)", short, len(s)-len(short))
	}
	return s
}

// writeFacts prints the report that the boundary adds to a result, without the
// fields that errorsIntro names.
func writeFacts(p printer, report boundary.Report) {
	var fields []string
	for _, f := range report.Fields {
		fields = append(fields, f.Pointer+" "+f.Problem)
	}
	expected := report.Expected != nil && *report.Expected
	for _, fact := range []struct{ name, text string }{
		{"type", report.Type},
		{"code", report.Code},
		{"expected", fmt.Sprint(expected)},
		{"fields", strings.Join(fields, "\n")},
		{"selector", report.Selector},
		{"candidates", strings.Join(report.Candidates, ", ")},
		{"operation", report.Operation},
		{"effect", report.Effect},
	} {
		if fact.text == "" {
			continue
		}
		name := fact.name
		for _, line := range wrap(fact.text, lineWidth-16) {
			fmt.Fprintf(p, "    %s%s\n", p.dim(fmt.Sprintf("%-12s", name)), line)
			name = ""
		}
	}
}

// mistake is an error, with the call that provokes it.
type mistake struct {
	heading, title string
	setup          setup
	act            act
}

const (
	inTheCall    = "the call is wrong"
	byTheUser    = "the user does not answer"
	byTheClient  = "the client cannot answer, or cheats"
	betweenRound = "the server cannot go on"
	inTheTool    = "the tool is broken"
)

// mistakes are all errors, in the order in which they are shown. The client is
// modern and declares every capability, unless a mistake says otherwise.
var mistakes = []mistake{
	{inTheCall, "The place is unknown.", setup{}, whole("weather_native", `{"location":"Lisbonn"}`, nil)},
	{inTheCall, "An argument has the wrong name.", setup{}, whole("weather_native", `{"locaton":"Lisbon"}`, nil)},
	{inTheCall, "An argument has the wrong type.", setup{}, whole("weather_native", `{"location":5}`, nil)},
	{inTheCall, "The arguments hold a scheduling flag of the agent's.", setup{}, whole("weather_native", `{"location":"Lisbon","wait_for_previous":true}`, nil)},
	{inTheCall, "There is no such tool.", setup{}, whole("weather_natve", `{"location":"Lisbon"}`, nil)},
	{inTheCall, "The server denies tools of this tier.", setup{boundary: boundary.Options{Deny: []boundary.Tier{boundary.Write}}}, whole("resolve_work_item", `{"work_item_id":4522}`, nil)},

	{byTheUser, "A question is declined.", setup{}, whole("weather_native", lisbon, wire.Answers{"units": wire.Decline})},
	{byTheUser, "A question is cancelled.", setup{}, whole("weather_native", lisbon, wire.Answers{"units": wire.Cancel})},
	{byTheUser, "No answer fits the question.", setup{}, whole("weather_native", lisbon, wire.Answers{"units": wire.Value("kelvin")})},

	{byTheClient, "A legacy client cannot be asked, and the question has no default.", setup{
		runtime: mrtr.Options{Legacy: mrtr.LegacyNever, Unaskable: mrtr.UnaskableLegacyDefaults}, client: wire.Options{Version: wire.Legacy, Capabilities: wire.Nothing},
	}, whole("weather_steps", springfield, nil)},
	{byTheClient, "A modern client does not declare the capability.", setup{client: wire.Options{Capabilities: wire.Nothing}}, whole("weather_native", lisbon, nil)},
	{byTheClient, "The state was forged.", setup{}, second("weather_native", lisbon, forged)},
	{byTheClient, "The state belongs to a call with other arguments.", setup{}, second("weather_native", lisbon, transplanted)},
	{byTheClient, "The answer is of no kind that the protocol knows.", setup{}, whole("weather_native", lisbon, wire.Answers{"units": wire.Raw(`{"yes":true}`)})},

	{betweenRound, "The held handler is in another process (style coroutine).", setup{}, elsewhere("weather_coroutine", nil)},
	{betweenRound, "The list of steps has changed since the call began.", setup{}, elsewhere("weather_steps", laterSteps)},
	{betweenRound, "Too many handlers are held.", setup{runtime: mrtr.Options{Limits: mrtr.Limits{MaxFrames: 1}}}, twice("weather_coroutine", lisbon)},
	{betweenRound, "The state exceeds its limit.", setup{runtime: mrtr.Options{Limits: mrtr.Limits{MaxStateBytes: 64}}}, whole("weather_native", lisbon, nil)},

	{inTheTool, "It panics.", setup{}, whole("panics", `{}`, nil)},
	{inTheTool, "Its result cannot be sent.", setup{}, whole("unsendable", `{}`, nil)},
	{inTheTool, "It does not return in time.", setup{boundary: boundary.Options{Deadline: 50 * time.Millisecond}}, whole("hangs", `{}`, nil)},
}

const (
	lisbon      = `{"location":"Lisbon"}`
	springfield = `{"location":"Springfield"}`
)

// forged changes one bit of a state.
func forged(r *wire.Request) {
	state := []byte(r.State)
	state[len(state)/2] ^= 1
	r.State = string(state)
}

// transplanted sends the state of one call with the arguments of another.
func transplanted(r *wire.Request) { r.Arguments = map[string]string{"location": "Tokyo"} }

// elsewhere makes the second round on another server, which has the same key. If
// other is not nil, it replaces weather_steps there.
func elsewhere(tool string, other weatherMaker) act {
	return func(ctx context.Context, _ *wire.Client) (*wire.Reply, error) {
		s := setup{runtime: *sharing(statecodec.GenerateKey())}
		var request wire.Request
		if _, err := s.play(ctx, second(tool, springfield, func(r *wire.Request) { request = *r })); err != nil {
			return nil, err
		}
		s.instead = other
		return s.play(ctx, func(ctx context.Context, c *wire.Client) (*wire.Reply, error) { return c.Send(ctx, request) })
	}
}

const levelsAbout = `Makes calls that end in every way there is, through package boundary, and prints
which kind of end the client and the log get. Then it names the layers.`

const levelsHead = "  the call                client gets           expected log gets"

// levels prints the end of each call as the client gets it and as it is logged.
func levels(ctx context.Context, p printer) error {
	fmt.Fprintln(p, p.dim(levelsHead))
	for _, e := range endings {
		var logged bytes.Buffer
		e.setup.boundary.Logger = slog.New(slog.NewJSONHandler(&logged, nil))
		reply, err := e.setup.play(ctx, e.act)
		if err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
		client, expected, err := gotByClient(reply)
		level, message, logErr := gotByLog(logged.Bytes())
		if err := errors.Join(err, logErr); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
		fmt.Fprintf(p, "  %-24s%-22s%-9s%-6s%s\n", e.name, client, expected, level, message)
		if e.secret == "" {
			continue
		}
		raw, err := json.Marshal(reply)
		if err != nil {
			return err
		}
		readers := ""
		if strings.Contains(string(raw), e.secret) {
			readers += " client"
		}
		if strings.Contains(logged.String(), e.secret) {
			readers += " log"
		}
		fmt.Fprintf(p, "    %s\n", p.dim("its cause reaches:"+readers))
	}
	fmt.Fprintln(p)
	p.hang("  ", fmt.Sprintf("The layers, outermost first: %s, and then the tool.", strings.Join(boundary.Layers(), ", ")), plain)
	return nil
}

// ending is a way in which a call ends.
type ending struct {
	name   string
	setup  setup
	act    act
	secret string // in the cause, which is not for clients
}

var endings = []ending{
	{"completes", setup{}, only("places", `{}`), ""},
	{"asks its user", setup{}, only("weather_native", lisbon), ""},
	{"is declined", setup{}, second("weather_native", lisbon, func(r *wire.Request) {
		r.Responses = map[string]any{"units": wire.Decline(wire.Question{})}
	}), ""},
	{"names no known place", setup{}, only("weather_native", `{"location":"Lisbonn"}`), ""},
	{"has a wrong argument", setup{}, only("weather_native", `{"locaton":"Lisbon"}`), ""},
	{"is of a denied tier", setup{boundary: boundary.Options{Deny: []boundary.Tier{boundary.Write}}}, only("resolve_work_item", `{"work_item_id":1}`), ""},
	{"brings a forged state", setup{}, second("weather_native", lisbon, func(r *wire.Request) { r.State = "forged" }), ""},
	{"names no known tool", setup{}, only("weather", lisbon), ""},
	{"returns no JSON", setup{}, only("unsendable", `{}`), "NaN"},
	{"does not return in time", setup{boundary: boundary.Options{Deadline: 50 * time.Millisecond}}, only("hangs", `{}`), ""},
	{"panics", setup{}, only("panics", `{}`), "a secret that belongs in the log"},
}

// gotByClient is the kind of a reply and, of an error result, whether the agent can
// correct it.
func gotByClient(reply *wire.Reply) (kind, expected string, err error) {
	switch {
	case reply.Error != nil:
		return fmt.Sprintf("JSON-RPC error %d", reply.Error.Code), "-", nil
	case reply.Incomplete():
		return "the question", "-", nil
	}
	report, err := reportOf(reply)
	if err != nil {
		return "", "", err
	}
	if !reply.IsError {
		return "the result", "-", nil
	}
	return "error, " + report.Type, fmt.Sprint(*report.Expected), nil
}

// gotByLog is the one record of a call.
func gotByLog(raw []byte) (level, message string, err error) {
	lines := bytes.Split(bytes.TrimSpace(raw), []byte("\n"))
	var record struct{ Level, Msg string }
	if err := json.Unmarshal(lines[len(lines)-1], &record); err != nil {
		return "", "", err
	}
	return record.Level, record.Msg, nil
}

const batchAbout = `Calls one tool for several places, of which some fail, and prints the outcome of
each item as an agent gets it.`

// batch calls the tool forecasts twice: some of the first places fail, and all of the
// second.
func batch(ctx context.Context, p printer) error {
	for i, locations := range []string{`["Lisbon","Lisbonn","Tokyo","Springfield","Reykjavik"]`, `["Lisbonn","Springfield"]`} {
		if i > 0 {
			fmt.Fprintln(p)
		}
		arguments := `{"locations":` + locations + `}`
		fmt.Fprintf(p, "%s\n", p.bold("forecasts "+arguments))
		reply, err := setup{}.play(ctx, only("forecasts", arguments))
		if err != nil {
			return err
		}
		if reply.IsError {
			writeReply(p, reply)
			continue
		}
		var out struct {
			Summary string
			Items   []struct {
				ID    string
				Value json.RawMessage
				Error *struct{ Type, Text string }
			}
		}
		if err := json.Unmarshal(reply.Structured, &out); err != nil {
			return err
		}
		fmt.Fprintf(p, "  %s\n", out.Summary)
		for _, item := range out.Items {
			if item.Error == nil {
				fmt.Fprintf(p, "  %-12s %s\n", item.ID, shorten(string(item.Value), 64))
				continue
			}
			p.hang(fmt.Sprintf("  %-12s ", item.ID), p.bad("failed")+", "+item.Error.Type+": "+item.Error.Text, plain)
		}
	}
	return nil
}

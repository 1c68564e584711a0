package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/wire"
)

const levelsAbout = `Makes calls that end in every way there is, through package boundary, and prints
which kind of end the client and the log get. Then it names the layers.`

const levelsHead = "  the call                client gets           expected log gets"

// levels prints the end of each call as the client gets it and as it is logged.
func levels(ctx context.Context, args []string, t terminal) error {
	f := flag.NewFlagSet("levels", flag.ContinueOnError)
	if _, err := parse(f, args, t); err != nil {
		return err
	}
	w, p := t.out, painterFor(t.out)
	fmt.Fprintln(w, p.dim(levelsHead))
	for _, e := range endings() {
		var logged bytes.Buffer
		e.setup.boundary.Logger = slog.New(slog.NewJSONHandler(&logged, nil))
		reply, err := e.make(ctx, e.setup)
		if err != nil {
			return fmt.Errorf("%s: %w", e.what, err)
		}
		client, expected, err := gotByClient(reply)
		if err != nil {
			return fmt.Errorf("%s: %w", e.what, err)
		}
		level, message, err := gotByLog(logged.Bytes())
		if err != nil {
			return fmt.Errorf("%s: %w", e.what, err)
		}
		fmt.Fprintf(w, "  %-24s%-22s%-9s%-6s%s\n", e.what, client, expected, level, message)
		if e.secret == "" {
			continue
		}
		raw, err := json.Marshal(reply)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "    %s\n", p.dim(fmt.Sprintf("its cause: %s by the client, %s in the log",
			found(strings.Contains(string(raw), e.secret), "read", "not read"), found(strings.Contains(logged.String(), e.secret), "written", "not written"))))
	}
	layers := fmt.Sprintf("The layers, outermost first: %s, and then the tool.", strings.Join(boundary.Layers(), ", "))
	fmt.Fprintf(w, "\n  %s\n", strings.Join(wrap(layers, lineWidth-2), "\n  "))
	return nil
}

func found(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}

// ending is a way in which a call ends.
type ending struct {
	what   string
	setup  setup
	make   func(context.Context, setup) (*wire.Reply, error)
	secret string // in the cause, which is not for clients
}

func endings() []ending {
	whole := func(tool, arguments string) func(context.Context, setup) (*wire.Reply, error) {
		return func(ctx context.Context, s setup) (*wire.Reply, error) {
			return s.send(ctx, wire.Request{Name: tool, Arguments: json.RawMessage(arguments)})
		}
	}
	declined := func(ctx context.Context, s setup) (*wire.Reply, error) {
		return s.secondRoundAlone(ctx, func(r *wire.Request) {
			r.Responses = map[string]any{"units": wire.Decline(wire.Question{})}
		})
	}
	forgedState := func(ctx context.Context, s setup) (*wire.Reply, error) {
		return s.secondRoundAlone(ctx, func(r *wire.Request) { r.State = "forged" })
	}
	return []ending{
		{"completes", setup{}, whole("places", `{}`), ""},
		{"asks its user", setup{}, whole("weather_native", lisbon), ""},
		{"is declined", setup{}, declined, ""},
		{"names no known place", setup{}, whole("weather_native", `{"location":"Lisbonn"}`), ""},
		{"has a wrong argument", setup{}, whole("weather_native", `{"locaton":"Lisbon"}`), ""},
		{"is of a denied tier", setup{boundary: boundary.Options{Deny: []boundary.Tier{boundary.Write}}}, whole("resolve_work_item", `{"work_item_id":1}`), ""},
		{"brings a forged state", setup{}, forgedState, ""},
		{"names no known tool", setup{}, whole("weather", lisbon), ""},
		{"returns no JSON", setup{}, whole("unsendable", `{}`), "NaN"},
		{"does not return in time", setup{boundary: boundary.Options{Deadline: 50 * time.Millisecond}}, whole("hangs", `{}`), ""},
		{"panics", setup{}, whole("panics", `{}`), "a secret that belongs in the log"},
	}
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
	var r struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	var report boundary.Report
	if err := json.Unmarshal(reply.Result, &r); err != nil {
		return "", "", err
	}
	if err := json.Unmarshal(r.Meta[boundary.MetaKey], &report); err != nil {
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

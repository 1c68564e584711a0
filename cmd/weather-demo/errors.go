package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/wire"
)

const errorsAbout = `Provokes every error of this demo by a real call through package boundary, and
prints it as an agent gets it: the text that its model reads, and the report
that the boundary adds under one key of _meta.`

// showErrors provokes each error and prints it as the agent sees it.
func showErrors(ctx context.Context, args []string, t terminal) error {
	f := flag.NewFlagSet("errors", flag.ContinueOnError)
	if _, err := parse(f, args, t); err != nil {
		return err
	}
	fmt.Fprint(t.out, errorsIntro)
	p := painterFor(t.out)
	heading := ""
	for _, m := range mistakes {
		if m.heading != heading {
			heading = m.heading
			fmt.Fprintf(t.out, "%s\n\n", p.bold(strings.ToUpper(heading)))
		}
		reply, err := m.provoke(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", m.title, err)
		}
		fmt.Fprintf(t.out, "%s\n", p.bold(m.title))
		writeReply(t.out, p, reply)
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

func writeReply(w io.Writer, p paint, reply *wire.Reply) {
	if reply.Error != nil {
		fmt.Fprintf(w, "  %s\n", p.bad(fmt.Sprintf("protocol error %d", reply.Error.Code)))
		writeText(w, cut(reply.Error.Message, 200))
		if len(reply.Error.Data) > 0 {
			fmt.Fprintf(w, "    %s\n", p.dim(layout(reply.Error.Data, "    ", nil)))
		}
		fmt.Fprintln(w)
		return
	}
	var r struct {
		callResult
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	var report boundary.Report
	if json.Unmarshal(reply.Result, &r) != nil || json.Unmarshal(r.Meta[boundary.MetaKey], &report) != nil || !r.IsError {
		fmt.Fprintf(w, "  %s\n\n", p.bad("not an error result: "+string(reply.Result)))
		return
	}
	fmt.Fprintf(w, "  %s\n", p.bad("error result"))
	for _, block := range r.Content {
		writeText(w, block.Text)
	}
	writeFacts(w, p, report)
	fmt.Fprintln(w)
}

func writeText(w io.Writer, text string) {
	for _, line := range wrap(text, lineWidth-4) {
		fmt.Fprintf(w, "  │ %s\n", line)
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
func writeFacts(w io.Writer, p paint, report boundary.Report) {
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
			fmt.Fprintf(w, "    %s%s\n", p.dim(fmt.Sprintf("%-12s", name)), line)
			name = ""
		}
	}
}

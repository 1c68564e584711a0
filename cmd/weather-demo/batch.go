package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"

	"github.com/mrtr-go/sdk/internal/wire"
)

const batchAbout = `Calls one tool for several places, of which some fail, and prints the outcome of
each item as an agent gets it.`

// batch calls the tool forecasts: for places of which some fail, and for places
// that all fail.
func batch(ctx context.Context, args []string, t terminal) error {
	f := flag.NewFlagSet("batch", flag.ContinueOnError)
	if _, err := parse(f, args, t); err != nil {
		return err
	}
	w, p := t.out, painterFor(t.out)
	for i, locations := range []string{`["Lisbon","Lisbonn","Tokyo","Springfield","Reykjavik"]`, `["Lisbonn","Springfield"]`} {
		if i > 0 {
			fmt.Fprintln(w)
		}
		arguments := `{"locations":` + locations + `}`
		fmt.Fprintf(w, "%s\n", p.bold("forecasts "+arguments))
		reply, err := setup{}.send(ctx, wire.Request{Name: "forecasts", Arguments: json.RawMessage(arguments)})
		if err != nil {
			return err
		}
		if reply.IsError {
			writeReply(w, p, reply)
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
		fmt.Fprintf(w, "  %s\n", out.Summary)
		for _, item := range out.Items {
			if item.Error == nil {
				fmt.Fprintf(w, "  %-12s %s\n", item.ID, shorten(string(item.Value), 64))
				continue
			}
			for j, line := range wrap(p.bad("failed")+", "+item.Error.Type+": "+item.Error.Text, lineWidth-15) {
				name := item.ID
				if j > 0 {
					name = ""
				}
				fmt.Fprintf(w, "  %-12s %s\n", name, line)
			}
		}
	}
	return nil
}

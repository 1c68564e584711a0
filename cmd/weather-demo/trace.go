package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
)

// traces prints every message of the selected calls. Their states are sealed
// readable, which makes them shorter and changes nothing else.
func (s selection) traces(ctx context.Context, w io.Writer, answers wire.Answers) error {
	p := painterFor(w)
	return s.each(func(sc plannedCall) error {
		fmt.Fprintf(w, "%s\n\n", p.bold(sc.title()))
		sc.answers, sc.readable, sc.watch = answers, true, tracer{w, p}.moment
		r, err := sc.play(ctx)
		if err == nil {
			fmt.Fprintf(w, "%s\n\n", p.dim(r.summary()))
		}
		return err
	})
}

// tracer prints the messages of a call.
type tracer struct {
	w     io.Writer
	paint paint
}

func (t tracer) moment(m moment) {
	switch {
	case m.toServer != nil:
		t.message("client ──▶ server", m.toServer)
	case m.toClient != nil:
		t.message("client ◀── server", m.toClient)
	case m.audited != "":
		fmt.Fprintf(t.w, "%s\n\n", t.paint.effect("● audit: "+m.audited))
	case m.event.Kind == mrtr.HandlerEntered && m.event.Handler != "":
		fmt.Fprintf(t.w, "▸ step %s\n\n", m.event.Handler)
	case m.event.Kind == mrtr.HandlerEntered:
		fmt.Fprint(t.w, "▸ handler entered, from the top\n\n")
	}
}

// message prints one message, its state shortened, and below it the content of
// the state.
func (t tracer) message(head string, raw json.RawMessage) {
	fmt.Fprintln(t.w, t.paint.bold(head))
	var shown string
	text := layout(raw, "  ", func(name string, value json.RawMessage) json.RawMessage {
		if name != "requestState" || json.Unmarshal(value, &shown) != nil || shown == "" {
			return value
		}
		return json.RawMessage(fmt.Sprintf(`"%s… %d bytes"`, shown[:min(12, len(shown))], len(shown)))
	})
	fmt.Fprintf(t.w, "  %s\n", text)
	if shown != "" {
		t.state(shown)
	}
	fmt.Fprintln(t.w)
}

func (t tracer) state(token string) {
	held, err := readToken(token)
	if err != nil {
		fmt.Fprintf(t.w, "    └ this requestState cannot be read: %v\n", err)
		return
	}
	fmt.Fprintln(t.w, t.paint.dim(fmt.Sprintf("    └ sealed with key %x, valid until %s, holds:", held.key, held.expires.Format("15:04:05"))))
	fmt.Fprintf(t.w, "      %s\n", t.paint.effect(layout(held.payload, "      ", nil)))
}

package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mrtr-go/sdk/internal/jsontext"
	"github.com/mrtr-go/sdk/mrtr/observe"
)

// tracer prints the messages of a call.
type tracer struct{ printer }

func (t tracer) moment(m moment) {
	switch {
	case m.toServer != nil:
		t.message("client ──▶ server", m.toServer, m.inspect)
	case m.toClient != nil:
		t.message("client ◀── server", m.toClient, m.inspect)
	case m.charged != "":
		fmt.Fprintf(t, "%s\n\n", t.effect("● "+m.charged))
	case m.event.Kind == observe.HandlerEntered && m.event.Handler != "":
		fmt.Fprintf(t, "▸ step %s\n\n", m.event.Handler)
	case m.event.Kind == observe.HandlerEntered:
		fmt.Fprint(t, "▸ handler entered, from the top\n\n")
	}
}

// message prints one message, its state shortened, and below it the content of
// the state.
func (t tracer) message(head string, raw json.RawMessage, inspect func(string) (json.RawMessage, error)) {
	fmt.Fprintln(t, t.bold(head))
	var state string
	text := layout(raw, "  ", func(name string, value json.RawMessage) json.RawMessage {
		if name != "requestState" || json.Unmarshal(value, &state) != nil || state == "" {
			return value
		}
		return json.RawMessage(fmt.Sprintf(`"%s… %d bytes"`, state[:min(12, len(state))], len(state)))
	})
	fmt.Fprintf(t, "  %s\n", text)
	if state != "" {
		held, err := inspect(state)
		if err != nil {
			held = json.RawMessage(err.Error())
		}
		fmt.Fprintf(t, "%s\n      %s\n", t.dim("    └ sealed; the server opens it and finds:"), t.effect(layout(held, "      ", nil)))
	}
	fmt.Fprintln(t)
}

// layout formats JSON for people: a value that fits on a line stays on one, and
// members keep their order. The first line is not indented. replace, if not nil,
// returns the value to show for a member.
func layout(raw json.RawMessage, indent string, replace func(name string, value json.RawMessage) json.RawMessage) string {
	if !json.Valid(raw) {
		return string(raw)
	}
	return nodeOf(raw, replace).layout(indent, len(indent))
}

// node is a JSON value.
type node struct {
	name    string // of a member of an object, with its colon
	flat    string // the value on one line
	members []node // of an object or an array
}

func nodeOf(raw json.RawMessage, replace func(string, json.RawMessage) json.RawMessage) (n node) {
	w := jsontext.Walk(raw, jsontext.MaxDepth)
	var each []string
	add := func(name string, m node) {
		m.name = name
		n.members, each = append(n.members, m), append(each, name+m.flat)
	}
	switch w.Kind() {
	case '{':
		for name := range w.Members {
			value := json.RawMessage(w.Value())
			if replace != nil {
				value = replace(string(name), value)
			}
			add(quoted(string(name))+": ", nodeOf(value, replace))
		}
		n.flat = "{" + strings.Join(each, ", ") + "}"
	case '[':
		for range w.Elements {
			add("", nodeOf(w.Value(), replace))
		}
		n.flat = "[" + strings.Join(each, ", ") + "]"
	default:
		n.flat = string(raw)
	}
	return n
}

// layout formats a value that begins in the given column.
func (n node) layout(indent string, column int) string {
	if len(n.members) == 0 || column+utf8.RuneCountInString(n.flat) < lineWidth {
		return n.flat
	}
	deeper := indent + "  "
	var lines []string
	for _, m := range n.members {
		lines = append(lines, "\n"+deeper+m.name+m.layout(deeper, len(deeper)+utf8.RuneCountInString(m.name)))
	}
	return n.flat[:1] + strings.Join(lines, ",") + "\n" + indent + n.flat[len(n.flat)-1:]
}

func quoted(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	return strings.TrimSuffix(b.String(), "\n")
}

package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// layout formats JSON for people: a value that fits on a line stays on one, and
// members keep their order. The first line is not indented. replace, if not nil,
// returns the value to show for a member.
func layout(raw json.RawMessage, indent string, replace func(name string, value json.RawMessage) json.RawMessage) string {
	l := layouter{replace}
	return l.value(raw, indent, len(indent))
}

type layouter struct {
	replace func(name string, value json.RawMessage) json.RawMessage
}

// member is a value, with its name in objects.
type member struct {
	name  string
	value json.RawMessage
}

// value formats a value that begins in the given column.
func (l layouter) value(raw json.RawMessage, indent string, column int) string {
	brackets, members := l.open(raw)
	flat := l.flat(raw)
	if brackets == "" || len(members) == 0 || column+utf8.RuneCountInString(flat) < lineWidth {
		return flat
	}
	var b strings.Builder
	b.WriteString(brackets[:1])
	deeper := indent + "  "
	for i, m := range members {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString("\n" + deeper + m.name)
		b.WriteString(l.value(m.value, deeper, len(deeper)+utf8.RuneCountInString(m.name)))
	}
	b.WriteString("\n" + indent + brackets[1:])
	return b.String()
}

// flat is a value on one line.
func (l layouter) flat(raw json.RawMessage) string {
	brackets, members := l.open(raw)
	if brackets == "" {
		return string(raw)
	}
	var each []string
	for _, m := range members {
		each = append(each, m.name+l.flat(m.value))
	}
	return brackets[:1] + strings.Join(each, ", ") + brackets[1:]
}

func quoted(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	return strings.TrimSuffix(b.String(), "\n")
}

// open returns the members of an object or an array. Any other value has no
// brackets.
func (l layouter) open(raw json.RawMessage) (brackets string, members []member) {
	raw = bytes.TrimSpace(raw)
	d := json.NewDecoder(bytes.NewReader(raw))
	if len(raw) == 0 || raw[0] != '{' && raw[0] != '[' {
		return "", nil
	}
	if _, err := d.Token(); err != nil {
		return "", nil
	}
	for d.More() {
		var m member
		if raw[0] == '{' {
			name, err := d.Token()
			if err != nil {
				return "", nil
			}
			m.name, _ = name.(string)
		}
		if err := d.Decode(&m.value); err != nil {
			return "", nil
		}
		if raw[0] == '{' {
			if l.replace != nil {
				m.value = l.replace(m.name, m.value)
			}
			m.name = quoted(m.name) + ": "
		}
		members = append(members, m)
	}
	if raw[0] == '{' {
		return "{}", members
	}
	return "[]", members
}

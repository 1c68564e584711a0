package main

import (
	"io"
	"os"
)

// paint colours text if it is true.
type paint bool

// painterFor paints for terminals, unless NO_COLOR is set or TERM is dumb.
func painterFor(w io.Writer) paint {
	return paint(isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb")
}

func (p paint) with(code, s string) string {
	if !p || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p paint) bold(s string) string   { return p.with("1", s) }
func (p paint) dim(s string) string    { return p.with("2", s) }
func (p paint) good(s string) string   { return p.with("32", s) }
func (p paint) bad(s string) string    { return p.with("31", s) }
func (p paint) effect(s string) string { return p.with("33", s) }

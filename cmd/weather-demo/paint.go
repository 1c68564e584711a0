package main

import (
	"io"
	"os"
)

// paint colours text for a terminal, and leaves it alone elsewhere.
type paint bool

// painterFor paints for terminals, unless NO_COLOR says otherwise.
func painterFor(w io.Writer) paint {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return paint(err == nil && info.Mode()&os.ModeCharDevice != 0)
}

func (p paint) with(code, s string) string {
	if !p {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p paint) bold(s string) string   { return p.with("1", s) }
func (p paint) dim(s string) string    { return p.with("2", s) }
func (p paint) good(s string) string   { return p.with("32", s) }
func (p paint) bad(s string) string    { return p.with("31", s) }
func (p paint) effect(s string) string { return p.with("33", s) }

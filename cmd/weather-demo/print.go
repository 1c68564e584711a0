package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// printer prints text, in colour on a terminal.
type printer struct {
	io.Writer
	paint
}

func printerFor(w io.Writer) printer {
	return printer{w, paint(isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb")}
}

// paint colours text if it is true: on terminals, unless NO_COLOR is set or TERM is dumb.
type paint bool

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

// lineWidth is the widest line that any command prints, except the code of compare.
const lineWidth = 80

// wrap breaks a text into lines of at most width runes, between words where
// possible. It returns at least one line.
func wrap(text string, width int) []string {
	var lines []string
	for _, paragraph := range strings.Split(text, "\n") {
		line := ""
		for _, word := range strings.Fields(paragraph) {
			if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
				lines, line = append(lines, line), ""
			}
			if line != "" {
				line += " "
			}
			line += word
			for utf8.RuneCountInString(line) > width {
				r := []rune(line)
				lines, line = append(lines, string(r[:width])), string(r[width:])
			}
		}
		lines = append(lines, line)
	}
	return lines
}

func shorten(s string, width int) string {
	if r := []rune(s); len(r) > width {
		return string(r[:width-1]) + "…"
	}
	return s
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"
)

const compareAbout = `Shows the code of two styles and marks the lines that differ: side by side, or
one below the other in a terminal of less than 100 columns. A handler that a
style takes from another style's file is shown in full. The doc comments stand
above the code and do not count. Names that only tell the styles apart are made
equal: New makes a style, and handler is its function.

  weather-demo compare E A        guards, and the same guards in sse.Bridge
  weather-demo compare E F        one call moves up and into mrtr.Once
  weather-demo compare F G        guards with Once, and steps
  weather-demo compare H J        linear code, held and replayed: one word
  weather-demo compare E N        the same line above a guard: the landmine`

// compare shows the code of two styles and marks the lines that differ.
func compare(ctx context.Context, args []string, t terminal) error {
	f := flag.NewFlagSet("compare", flag.ContinueOnError)
	width := f.Int("width", 0, "the width in `columns` (default: the terminal's, else 120)")
	names, err := parse(f, args, t)
	if err != nil {
		return err
	}
	if *width == 0 {
		*width = widthOf(t.out)
	}
	var heads [2]string
	var sources [2]source
	for i, name := range names {
		o, err := findStyle(name)
		if err != nil {
			return err
		}
		if sources[i], err = sourceOf(o); err != nil {
			return err
		}
		heads[i] = fmt.Sprintf("%s  %s", o.Letter, sources[i].file)
	}
	c := comparison{t.out, painterFor(t.out), *width}
	pairs := align(sources[0].code, sources[1].code)
	if c.width < sideBySideWidth {
		c.stacked(heads, sources, pairs)
	} else {
		c.sideBySide(heads, sources, pairs)
	}
	fmt.Fprintln(c.w)
	for _, line := range wrap(tally(pairs), c.width) {
		fmt.Fprintln(c.w, c.paint.dim(line))
	}
	return nil
}

// tally counts the lines that differ.
func tally(pairs []pair) string {
	changed, left, right := 0, 0, 0
	for _, p := range pairs {
		switch {
		case p.same():
		case p.left == nil:
			right++
		case p.right == nil:
			left++
		default:
			changed++
		}
	}
	if changed+left+right == 0 {
		return fmt.Sprintf("None of %d lines differs.", len(pairs))
	}
	return fmt.Sprintf("%d of %d lines differ: %d changed, %d left only, %d right only.", changed+left+right, len(pairs), changed, left, right)
}

func widthOf(w io.Writer) int {
	if n := columns(w); n > 0 {
		return n
	}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	return 120
}

// comparison writes aligned lines.
type comparison struct {
	w     io.Writer
	paint paint
	width int
}

const sideBySideWidth = 100

func (c comparison) sideBySide(heads [2]string, sources [2]source, pairs []pair) {
	half := (c.width - 3) / 2
	row := func(left, mark, right string) {
		fmt.Fprintln(c.w, strings.TrimRight(fmt.Sprintf("%s %s %s", pad(left, half), mark, right), " "))
	}
	leftHead, rightHead := wrap(heads[0], half), wrap(heads[1], half)
	for i := range max(len(leftHead), len(rightHead)) {
		fmt.Fprintf(c.w, "%s   %s\n", c.paint.bold(pad(at(leftHead, i), half)), c.paint.bold(at(rightHead, i)))
	}
	fmt.Fprintln(c.w)
	left, right := wrap(sources[0].doc, half), wrap(sources[1].doc, half)
	for i := range max(len(left), len(right)) {
		row(at(left, i), " ", at(right, i))
	}
	fmt.Fprintln(c.w)
	for _, p := range pairs {
		mark := " "
		left, right := fold(p.left, half), fold(p.right, half)
		switch {
		case p.same():
		case p.left == nil:
			mark = c.paint.good(">")
		case p.right == nil:
			mark = c.paint.bad("<")
		default:
			mark = c.paint.effect("|")
		}
		for i := range max(len(left), len(right)) {
			row(at(left, i), mark, at(right, i))
		}
	}
}

// stacked writes the left lines of each difference above the right ones.
func (c comparison) stacked(heads [2]string, sources [2]source, pairs []pair) {
	marks := [2]func(string) string{
		func(line string) string { return c.paint.bad("- " + line) },
		func(line string) string { return c.paint.good("+ " + line) },
	}
	for i, mark := range marks {
		for _, line := range wrap(heads[i], c.width-2) {
			fmt.Fprintln(c.w, mark(line))
		}
		for _, line := range wrap(sources[i].doc, c.width-2) {
			fmt.Fprintln(c.w, strings.TrimRight("  "+line, " "))
		}
		fmt.Fprintln(c.w)
	}
	var right []string
	flush := func() {
		for _, line := range right {
			fmt.Fprintln(c.w, marks[1](line))
		}
		right = nil
	}
	for _, p := range pairs {
		if p.same() {
			flush()
			for _, line := range fold(p.left, c.width-2) {
				fmt.Fprintln(c.w, strings.TrimRight("  "+line, " "))
			}
			continue
		}
		for _, line := range fold(p.left, c.width-2) {
			fmt.Fprintln(c.w, marks[0](line))
		}
		right = append(right, fold(p.right, c.width-2)...)
	}
	flush()
}

// fold breaks a line of code that is too long, and indents the rest.
func fold(line *string, width int) []string {
	if line == nil {
		return nil
	}
	text := strings.TrimLeft(*line, " ")
	indent := strings.Repeat(" ", min(len(*line)-len(text), width/2))
	hanging := indent + "    "
	var lines []string
	for i, part := range wrap(text, width-len(hanging)) {
		if i == 0 {
			lines = append(lines, indent+part)
			continue
		}
		lines = append(lines, hanging+part)
	}
	return lines
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
}

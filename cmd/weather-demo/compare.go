package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mrtr-go/sdk/cmd/weather-demo/internal/weather"
	"github.com/mrtr-go/sdk/options"
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
func compare(_ context.Context, c command, args []string, t terminal) error {
	f := c.flags()
	width := f.Int("width", 0, "the width in `columns` (default: the terminal's, else 120)")
	names, err := c.parse(f, args, t)
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
	both := comparison{printerFor(t.out), *width}
	pairs := align(sources[0].code, sources[1].code)
	if both.width < sideBySideWidth {
		both.stacked(heads, sources, pairs)
	} else {
		both.sideBySide(heads, sources, pairs)
	}
	fmt.Fprintln(both)
	for _, line := range wrap(tally(pairs), both.width) {
		fmt.Fprintln(both, both.dim(line))
	}
	return nil
}

type pair = weather.Pair[string]

func align(left, right []string) []pair {
	return weather.Align(left, right, func(a, b string) bool { return a == b })
}

// tally counts the lines that differ.
func tally(pairs []pair) string {
	changed, left, right := 0, 0, 0
	for _, p := range pairs {
		switch {
		case p.Same:
		case p.Left == nil:
			right++
		case p.Right == nil:
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
	printer
	width int
}

const sideBySideWidth = 100

func (c comparison) sideBySide(heads [2]string, sources [2]source, pairs []pair) {
	half := (c.width - 3) / 2
	row := func(left, mark, right string) {
		fmt.Fprintln(c, strings.TrimRight(fmt.Sprintf("%s %s %s", pad(left, half), mark, right), " "))
	}
	leftHead, rightHead := wrap(heads[0], half), wrap(heads[1], half)
	for i := range max(len(leftHead), len(rightHead)) {
		fmt.Fprintf(c, "%s   %s\n", c.bold(pad(at(leftHead, i), half)), c.bold(at(rightHead, i)))
	}
	fmt.Fprintln(c)
	left, right := wrap(sources[0].doc, half), wrap(sources[1].doc, half)
	for i := range max(len(left), len(right)) {
		row(at(left, i), " ", at(right, i))
	}
	fmt.Fprintln(c)
	for _, p := range pairs {
		mark := " "
		left, right := fold(p.Left, half), fold(p.Right, half)
		switch {
		case p.Same:
		case p.Left == nil:
			mark = c.good(">")
		case p.Right == nil:
			mark = c.bad("<")
		default:
			mark = c.effect("|")
		}
		for i := range max(len(left), len(right)) {
			row(at(left, i), mark, at(right, i))
		}
	}
}

// stacked writes the left lines of each difference above the right ones.
func (c comparison) stacked(heads [2]string, sources [2]source, pairs []pair) {
	marks := [2]func(string) string{
		func(line string) string { return c.bad("- " + line) },
		func(line string) string { return c.good("+ " + line) },
	}
	for i, mark := range marks {
		for _, line := range wrap(heads[i], c.width-2) {
			fmt.Fprintln(c, mark(line))
		}
		for _, line := range wrap(sources[i].doc, c.width-2) {
			fmt.Fprintln(c, strings.TrimRight("  "+line, " "))
		}
		fmt.Fprintln(c)
	}
	var right []string
	flush := func() {
		for _, line := range right {
			fmt.Fprintln(c, marks[1](line))
		}
		right = nil
	}
	for _, p := range pairs {
		if p.Same {
			flush()
			for _, line := range fold(p.Left, c.width-2) {
				fmt.Fprintln(c, strings.TrimRight("  "+line, " "))
			}
			continue
		}
		for _, line := range fold(p.Left, c.width-2) {
			fmt.Fprintln(c, marks[0](line))
		}
		right = append(right, fold(p.Right, c.width-2)...)
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

// source is the code of a style as compare shows it.
type source struct {
	file string
	doc  string   // the style's doc comment
	code []string // its functions without their doc comments
}

// sourceOf reads a style: the function that makes it, the other functions of its
// file, and last the handlers that it takes from another style's file. Names that
// only tell the styles apart are made equal: the function that makes the style is
// New, and the first handler that it names is handler.
func sourceOf(o options.Option) (source, error) {
	parsed, err := weather.ParseSource()
	if err != nil {
		return source{}, err
	}
	made, err := parsed.Maker(o)
	if err != nil {
		return source{}, err
	}
	funcs := parsed.Beside(made)
	src := source{file: parsed.Excerpt(made).Path, doc: strings.Join(strings.Fields(made.Doc.Text()), " ")}
	equal := []string{"\t", "  ", "options.", "", "func " + made.Name.Name + "(", "func New("}
	for i, h := range parsed.Handlers(made) {
		if i == 0 {
			equal = append(equal, h.Func.Name.Name+"(", "handler(")
		}
		if !slices.Contains(funcs, h.Func) {
			funcs = append(funcs, h.Func)
			src.file += " and " + parsed.Excerpt(h.Func).Path
		}
	}
	for i, f := range funcs {
		if i > 0 {
			src.code = append(src.code, "")
		}
		for _, line := range parsed.Excerpt(f).Lines {
			src.code = append(src.code, strings.NewReplacer(equal...).Replace(line))
		}
	}
	return src, nil
}

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

	"github.com/mrtr-go/sdk/options"
)

const compareAbout = `Shows the code of two styles and marks the lines that differ: side by side, or
one below the other in a terminal of less than 100 columns. Package clause and
imports are left out.

  weather-demo compare E G        guards and steps
  weather-demo compare once N     an effect that runs once, and one that repeats`

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
	var sources [2][]string
	for i, name := range names {
		o, err := findStyle(name)
		if err != nil {
			return err
		}
		file, source, err := sourceOf(o)
		if err != nil {
			return err
		}
		heads[i], sources[i] = fmt.Sprintf("%s  %s", o.Letter, file), source
	}
	c := comparison{t.out, painterFor(t.out), *width}
	pairs := align(sources[0], sources[1])
	if c.width < sideBySideWidth {
		c.stacked(heads, pairs)
	} else {
		c.sideBySide(heads, pairs)
	}
	return nil
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

// sourceOf reads the file of a style, without package clause and imports.
func sourceOf(o options.Option) (file string, lines []string, err error) {
	file = o.Name + ".go"
	raw, err := options.Source.ReadFile(file)
	if err != nil {
		file = "landmine/" + file
		if raw, err = options.Source.ReadFile(file); err != nil {
			return "", nil, err
		}
	}
	_, code, _ := strings.Cut(string(raw), "\nimport ")
	end := "\n"
	if strings.HasPrefix(code, "(") {
		end = "\n)\n"
	}
	_, code, _ = strings.Cut(code, end)
	code = strings.ReplaceAll(strings.TrimSpace(code), "\t", "  ")
	return "options/" + file, joinComments(strings.Split(code, "\n")), nil
}

// joinComments makes one line of each paragraph of comments, which is then
// wrapped to the width of its column.
func joinComments(lines []string) []string {
	var joined []string
	for _, line := range lines {
		last := len(joined) - 1
		if strings.HasPrefix(line, "// ") && last >= 0 && strings.HasPrefix(joined[last], "// ") {
			joined[last] += strings.TrimPrefix(line, "//")
			continue
		}
		joined = append(joined, line)
	}
	return joined
}

// comparison writes aligned lines.
type comparison struct {
	w     io.Writer
	paint paint
	width int
}

const sideBySideWidth = 100

func (c comparison) sideBySide(heads [2]string, pairs []pair) {
	half := (c.width - 3) / 2
	fmt.Fprintf(c.w, "%s   %s\n\n", c.paint.bold(pad(heads[0], half)), c.paint.bold(heads[1]))
	differing := 0
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
		if !p.same() {
			differing++
		}
		for i := range max(len(left), len(right)) {
			line := fmt.Sprintf("%s %s %s", pad(at(left, i), half), mark, at(right, i))
			fmt.Fprintln(c.w, strings.TrimRight(line, " "))
		}
	}
	fmt.Fprintf(c.w, "\n%s\n", c.paint.dim(fmt.Sprintf("%d of %d lines differ: | changed, < left only, > right only.", differing, len(pairs))))
}

// stacked writes the left lines of each difference above the right ones.
func (c comparison) stacked(heads [2]string, pairs []pair) {
	fmt.Fprintf(c.w, "%s\n%s\n\n", c.paint.bad("- "+heads[0]), c.paint.good("+ "+heads[1]))
	var right []string
	flush := func() {
		for _, line := range right {
			fmt.Fprintln(c.w, c.paint.good("+ "+line))
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
			fmt.Fprintln(c.w, c.paint.bad("- "+line))
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
	if strings.HasPrefix(text, "// ") {
		hanging = indent + "// "
	}
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

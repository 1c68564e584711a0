package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/mrtr-go/sdk/cmd/weather-demo/internal/weather"
	"github.com/mrtr-go/sdk/options"
)

const compareAbout = `Shows the code of two styles as a diff, without their doc comments. The function
that makes a style is New on both sides. Without styles it shows what differs in
six pairs, in the order in which to read them. The page shows two side by side.

  weather-demo compare            six short diffs
  weather-demo compare E F        one call moves up and into mrtr.Once
  weather-demo compare F G        guards with Once, and steps`

// pairs are read in this order. In each, one thing changes.
var pairs = []struct{ left, right, says string }{
	{"E", "N", "The landmine: the charge moves above a question, and every round charges."},
	{"E", "F", "The cure: it moves into Once, which remembers that it ran."},
	{"E", "A", "A legacy client cannot call again. A bridge of your own asks it."},
	{"E", "C", "Or a branch asks it, over its open session."},
	{"E", "D", "Or another handler does, for legacy clients alone."},
	{"H", "J", "Linear code: held where it asks, or run again and replayed."},
}

// compare shows the code of two styles and marks the lines that differ.
func compare(_ context.Context, c command, args []string, t terminal) error {
	names, err := c.parse(c.flags(), args, t)
	if err != nil {
		return err
	}
	p := printerFor(t.out)
	if len(names) == 0 {
		return comparePairs(p)
	}
	d, err := diffOf(names[0], names[1])
	if err != nil {
		return err
	}
	d.print(p, func(int) bool { return true })
	return nil
}

// comparePairs prints each pair, and of its code what differs.
func comparePairs(p printer) error {
	for _, pair := range pairs {
		d, err := diffOf(pair.left, pair.right)
		if err != nil {
			return err
		}
		fmt.Fprintf(p, "%s\n\n", p.bold(pair.left+" "+pair.right+"  "+pair.says))
		d.print(p, d.near)
		fmt.Fprintln(p)
	}
	fmt.Fprint(p, "diff options/native.go options/once.go shows the same. The styles, one by one:\ndocs/styles.md.\n")
	return nil
}

// diff is the code of two styles, line by line.
type diff struct {
	left, right source
	lines       []weather.Pair[string]
}

func diffOf(left, right string) (d diff, err error) {
	for i, side := range []*source{&d.left, &d.right} {
		o, err := findStyle([]string{left, right}[i])
		if err != nil {
			return d, err
		}
		if *side, err = sourceOf(o); err != nil {
			return d, err
		}
	}
	d.lines = weather.Align(d.left.code, d.right.code, func(a, b string) bool { return a == b })
	return d, nil
}

// near reports whether a line differs, or stands beside one that does.
func (d diff) near(i int) bool {
	for _, line := range d.lines[max(0, i-1):min(len(d.lines), i+2)] {
		if !line.Same {
			return true
		}
	}
	return false
}

// print prints the lines that are shown: of each difference the left ones above the right.
func (d diff) print(p printer, shown func(int) bool) {
	paints := [2]func(string) string{p.bad, p.good}
	mark := func(side int, line string) { fmt.Fprintln(p, paints[side]("-+"[side:side+1]+" "+line)) }
	for side, src := range []source{d.left, d.right} {
		mark(side, src.title)
	}
	fmt.Fprintln(p)
	only := [2]int{}
	var right []string // of the difference that is being printed
	flush := func() {
		for _, line := range right {
			mark(1, line)
		}
		right = nil
	}
	hidden := false
	for i, pair := range d.lines {
		if !shown(i) {
			flush()
			if !hidden {
				fmt.Fprintln(p, p.dim("  ..."))
			}
			hidden = true
			continue
		}
		hidden = false
		if pair.Same {
			flush()
			fmt.Fprintln(p, strings.TrimRight("  "+*pair.Left, " "))
			continue
		}
		if pair.Left != nil {
			only[0]++
			mark(0, *pair.Left)
		}
		if pair.Right != nil {
			only[1]++
			right = append(right, *pair.Right)
		}
	}
	flush()
	fmt.Fprintf(p, "\n%s\n", p.dim(fmt.Sprintf("%s of %d on the left, and %d of %d on the right.",
		count(only[0], "line"), len(d.left.code), only[1], len(d.right.code))))
}

// source is the code of a style as compare shows it.
type source struct {
	title string   // its letter and its file
	code  []string // the functions of the file, without their doc comments
}

func sourceOf(o options.Option) (source, error) {
	parsed, err := weather.ParseSource()
	if err != nil {
		return source{}, err
	}
	made, err := parsed.Maker(o)
	if err != nil {
		return source{}, err
	}
	src := source{title: o.Letter + "  " + parsed.Excerpt(made).Path}
	for i, f := range parsed.Beside(made) {
		if i > 0 {
			src.code = append(src.code, "")
		}
		for _, line := range parsed.Excerpt(f).Lines {
			line = strings.Replace(line, "func "+made.Name.Name+"(", "func New(", 1)
			src.code = append(src.code, strings.ReplaceAll(line, "\t", "  "))
		}
	}
	return src, nil
}

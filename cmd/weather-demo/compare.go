package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mrtr-go/sdk/cmd/weather-demo/internal/weather"
	"github.com/mrtr-go/sdk/options"
)

const compareAbout = `Shows the code of two styles as a diff. A handler that a style takes from
another style's file is shown in full. The doc comments stand above the code and
do not count. Names that only tell the styles apart are made equal: New makes a
style, and handler is its function. The page shows them side by side.

  weather-demo compare E A        guards, and the same guards in sse.Bridge
  weather-demo compare E F        one call moves up and into mrtr.Once
  weather-demo compare F G        guards with Once, and steps
  weather-demo compare H J        linear code, held and replayed: one word
  weather-demo compare E N        the same line above a guard: the landmine`

// compare shows the code of two styles and marks the lines that differ.
func compare(_ context.Context, c command, args []string, t terminal) error {
	names, err := c.parse(c.flags(), args, t)
	if err != nil {
		return err
	}
	var sources [2]source
	for i, name := range names {
		o, err := findStyle(name)
		if err != nil {
			return err
		}
		if sources[i], err = sourceOf(o); err != nil {
			return err
		}
	}
	printDiff(printerFor(t.out), sources)
	return nil
}

// printDiff prints the left lines of each difference above the right ones.
func printDiff(p printer, sources [2]source) {
	paints := [2]func(string) string{p.bad, p.good}
	mark := func(side int, line string) { fmt.Fprintln(p, paints[side]("-+"[side:side+1]+" "+line)) }
	for side, src := range sources {
		mark(side, src.title)
		p.hang("  ", src.doc, plain)
		fmt.Fprintln(p)
	}
	only := [2]int{}
	var right []string // of the difference that is being printed
	flush := func() {
		for _, line := range right {
			mark(1, line)
		}
		right = nil
	}
	for _, pair := range weather.Align(sources[0].code, sources[1].code, func(a, b string) bool { return a == b }) {
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
		count(only[0], "line"), len(sources[0].code), only[1], len(sources[1].code))))
}

// source is the code of a style as compare shows it.
type source struct {
	title string   // its letter and its files
	doc   string   // the style's doc comment
	code  []string // its functions without their doc comments
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
	src := source{title: o.Letter + "  " + parsed.Excerpt(made).Path, doc: strings.Join(strings.Fields(made.Doc.Text()), " ")}
	equal := []string{"\t", "  ", "options.", "", "func " + made.Name.Name + "(", "func New("}
	for i, h := range parsed.Handlers(made) {
		if i == 0 {
			equal = append(equal, h.Func.Name.Name+"(", "handler(")
		}
		if !slices.Contains(funcs, h.Func) {
			funcs = append(funcs, h.Func)
			src.title += " and " + parsed.Excerpt(h.Func).Path
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

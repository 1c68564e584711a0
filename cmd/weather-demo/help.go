package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/mrtr-go/sdk/internal/spelling"
)

// help lists the commands, or explains one.
func help(ctx context.Context, _ command, args []string, t terminal) error {
	if len(args) > 0 && args[0] != "help" {
		c, err := findCommand(args[0])
		if err != nil {
			return err
		}
		return c.run(ctx, c, []string{"-h"}, t)
	}
	p := printerFor(t.out)
	fmt.Fprintln(p, p.bold("weather-demo [COMMAND] [FLAGS]"))
	fmt.Fprint(p, "\nOne weather tool that asks its user, written in every handler style.\n\n")
	for i, c := range commands() {
		note := ""
		if i == 0 {
			note = " (the default)"
		}
		fmt.Fprintf(p, "  %s%s%s\n", p.bold(fmt.Sprintf("%-12s", c.name)), c.summary, note)
	}
	fmt.Fprint(p, "\nweather-demo help COMMAND explains a command and its flags.\n")
	return nil
}

// parse reads a command's flags, which may also follow its arguments, and returns
// the arguments: as many as the command takes. A mistake is a usageError; for an
// unknown flag it names the nearest one.
func (c command) parse(f *flag.FlagSet, args []string, t terminal) ([]string, error) {
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	var words []string
	for {
		if err := f.Parse(args); err != nil {
			return nil, c.misread(f, err, t)
		}
		if args = f.Args(); len(args) == 0 {
			break
		}
		words, args = append(words, args[0]), args[1:]
	}
	takes := len(strings.Fields(c.takes))
	switch {
	case len(words) > takes:
		return nil, usageError{fmt.Sprintf("%s takes no %q; see weather-demo help %s", c.name, words[takes], c.name)}
	case len(words) < takes && (len(words) > 0 || !strings.HasPrefix(c.takes, "[")):
		return nil, usageError{fmt.Sprintf("%s takes %s; see weather-demo help %s", c.name, c.takes, c.name)}
	}
	return words, nil
}

func (c command) misread(f *flag.FlagSet, err error, t terminal) error {
	if errors.Is(err, flag.ErrHelp) {
		c.explain(f, t)
		return err
	}
	if name, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: -"); ok {
		var names []string
		f.VisitAll(func(f *flag.Flag) { names = append(names, "-"+f.Name) })
		if len(names) == 0 {
			return usageError{fmt.Sprintf("%s takes no flags, such as -%s", c.name, name)}
		}
		return usageError{unknown("flag", "-"+name, names)}
	}
	return usageError{err.Error()}
}

// explain prints a command's usage, description and flags.
func (c command) explain(f *flag.FlagSet, t terminal) {
	usage := strings.TrimSpace("weather-demo " + c.name + " " + c.takes)
	flags := ""
	f.VisitAll(func(f *flag.Flag) {
		value, text := flag.UnquoteUsage(f)
		head := strings.TrimSpace("-" + f.Name + " " + strings.ToUpper(value))
		lines := wrap(text, lineWidth-19)
		flags += fmt.Sprintf("  %-16s %s\n", head, lines[0])
		for _, line := range lines[1:] {
			flags += strings.Repeat(" ", 19) + line + "\n"
		}
	})
	if flags != "" {
		usage += " [FLAGS]"
		flags = "\n" + flags
	}
	fmt.Fprintf(t.out, "%s\n\n%s\n%s", printerFor(t.out).bold(usage), c.about, flags)
}

// unknown is the message for a word that is not a known one. It suggests the
// nearest that the word could be a misspelling of, or else lists them all.
func unknown(kind, word string, known []string) string {
	if near := spelling.Nearest(word, known, 1); len(near) > 0 {
		return fmt.Sprintf("no %s %q; did you mean %q?", kind, word, near[0])
	}
	return fmt.Sprintf("no %s %q; use one of %s", kind, word, strings.Join(known, ", "))
}

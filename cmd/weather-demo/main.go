// Command weather-demo shows one weather tool in every handler style.
//
// Without a command it plays a call in memory and prints every step, then the
// table of all styles. `weather-demo help` lists the other commands.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(execute(ctx, os.Args[1:], terminal{os.Stdin, os.Stdout, os.Stderr}))
}

// terminal holds the streams of a command.
type terminal struct {
	in       io.Reader
	out, err io.Writer
}

// usageError is a mistake on the command line.
type usageError struct{ message string }

func (e usageError) Error() string { return e.message }

// errFound ends a command that found faults and has printed them.
var errFound = errors.New("found fault")

// The exit statuses.
const (
	statusFailed      = 1
	statusMisused     = 2
	statusInterrupted = 130
)

func execute(ctx context.Context, args []string, t terminal) int {
	c := commands()[0]
	switch {
	case len(args) > 0 && slices.Contains([]string{"-h", "-help", "--help"}, args[0]):
		c, args = mustFind("help"), args[1:]
	case len(args) > 0 && slices.Contains([]string{"-version", "--version"}, args[0]):
		c, args = mustFind("version"), args[1:]
	case len(args) > 0 && !strings.HasPrefix(args[0], "-"):
		found, err := findCommand(args[0])
		if err != nil {
			return report(err, t)
		}
		c, args = found, args[1:]
	}
	err := c.run(ctx, c, args, t)
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		fmt.Fprintln(t.err, "\nweather-demo: interrupted")
		return statusInterrupted
	}
	return report(err, t)
}

func report(err error, t terminal) int {
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if errors.Is(err, errFound) {
		return statusFailed
	}
	for _, line := range wrap("weather-demo: "+err.Error(), lineWidth) {
		fmt.Fprintln(t.err, line)
	}
	if errors.As(err, &usageError{}) {
		return statusMisused
	}
	return statusFailed
}

// command is one command of weather-demo.
type command struct {
	name    string
	takes   string // its arguments, as usage shows them
	summary string
	about   string
	run     func(ctx context.Context, c command, args []string, t terminal) error
}

// simple is the run of a command that takes nothing and prints.
func simple(run func(context.Context, printer) error) func(context.Context, command, []string, terminal) error {
	return func(ctx context.Context, c command, args []string, t terminal) error {
		if _, err := c.parse(c.flags(), args, t); err != nil {
			return err
		}
		return run(ctx, printerFor(t.out))
	}
}

func (c command) flags() *flag.FlagSet { return flag.NewFlagSet(c.name, flag.ContinueOnError) }

// commands are all commands. The first is the default.
func commands() []command {
	return []command{
		{"show", "", "play one call, then print the table of styles", showAbout, show},
		{"table", "", "print the table of styles", tableAbout, simple(table)},
		{"basic", "", "explain the smallest handler that asks, as it runs", basicAbout, simple(basic)},
		{"multiround", "", "play two questions, each round on another server", multiroundAbout, simple(multiround)},
		{"lesson", "", "one function on three engines: its effect happens twice", lessonAbout, simple(lesson)},
		{"survive", "", "duplicates, restarts and deployments, in every style", surviveAbout, simple(survive)},
		{"cost", "", "how the cost of a style grows with its questions", costAbout, simple(cost)},
		{"quadrant", "", "modern and legacy clients, with and without a stream", quadrantAbout, simple(quadrant)},
		{"ways", "", "one call by round trips, over a session, and as a task", waysAbout, simple(ways)},
		{"compare", "STYLE STYLE", "show the code of two styles, differences marked", compareAbout, compare},
		{"errors", "", "provoke every error, and print it as an agent sees it", errorsAbout, simple(showErrors)},
		{"levels", "", "which end of a call the client gets, and which the log", levelsAbout, simple(levels)},
		{"batch", "", "one call for several items, of which some fail", batchAbout, simple(batch)},
		{"check", "FILE", "find tool uses without a result in a conversation", checkAbout, check},
		{"page", "", "serve a page on which to play and attack a call", pageAbout, servePage},
		{"serve", "", "serve the tools over stdio, or HTTP and WebSocket", serveAbout, serveTools},
		{"version", "", "print the versions of the demo, of Go and of go-sdk", versionAbout, simple(version)},
		{"help", "[COMMAND]", "list the commands, or explain one", "Lists the commands, or explains one of them and its flags.", help},
	}
}

func findCommand(name string) (command, error) {
	names := []string{}
	for _, c := range commands() {
		if c.name == name {
			return c, nil
		}
		names = append(names, c.name)
	}
	return command{}, usageError{unknown("command", name, names)}
}

func mustFind(name string) command {
	c, err := findCommand(name)
	if err != nil {
		panic(fmt.Sprintf("the list of commands lacks %s", name))
	}
	return c
}

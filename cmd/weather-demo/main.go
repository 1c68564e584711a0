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

// terminal is where a command reads and writes.
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
	err := c.run(ctx, args, t)
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

// Command weather-demo shows one weather tool in every handler style.
//
// Without a command it plays a call on two servers in memory, and counts what happens
// to a charge. `weather-demo help` lists the commands.
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

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/cmd/weather-demo/internal/weather"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
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
		c, args = commands()[len(commands())-1], args[1:]
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

func (c command) flags() *flag.FlagSet { return flag.NewFlagSet(c.name, flag.ContinueOnError) }

// commands are all commands. The first is the default, and the last is help.
func commands() []command {
	return []command{
		{"show", "", "play a call on two servers, and count its charges", showAbout, show},
		{"compare", "[STYLE STYLE]", "show the lines in which the code of two styles differs", compareAbout, compare},
		{"page", "", "serve a page on which to play and attack a call", pageAbout, servePage},
		{"serve", "", "serve the tools over stdio, or HTTP and WebSocket", serveAbout, serveTools},
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

var readOnly = &mcp.ToolAnnotations{ReadOnlyHint: true}

// newServer is a server with every style of the weather tool, the two smallest examples,
// and a tool that asks nothing.
func newServer(rt *mrtr.Runtime, card *options.Card, withLandmine bool) *mcp.Server {
	server := mcp.NewServer(weather.Implementation, nil)
	styles := options.All
	if withLandmine {
		styles = weather.Styles()
	}
	for _, o := range styles {
		mrtr.AddTool(server, weather.Tool(o), o.New(rt, card))
	}
	mrtr.AddTool(server, &mcp.Tool{
		Name:        "greet",
		Description: "A greeting. Asks for a name.",
		Annotations: readOnly,
	}, options.Basic(rt))
	mrtr.AddTool(server, &mcp.Tool{
		Name:        "resolve_work_item",
		Description: "Resolves a work item. Asks how.",
		Annotations: &mcp.ToolAnnotations{DestructiveHint: new(bool), IdempotentHint: true},
	}, options.MultiRound(rt))
	mrtr.AddTool(server, &mcp.Tool{
		Name:        "places",
		Description: "The places whose weather is known. Asks nothing.",
		Annotations: readOnly,
	}, listPlaces)
	return server
}

type placeList struct {
	Places []string `json:"places"`
}

func listPlaces(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, placeList, error) {
	return nil, placeList{options.Places()}, nil
}

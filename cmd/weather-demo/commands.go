package main

import (
	"context"
	"fmt"
)

// command is one word behind weather-demo.
type command struct {
	name    string
	takes   string // what stands behind the name, beside flags
	summary string
	about   string
	run     func(ctx context.Context, args []string, t terminal) error
}

// commands lists what weather-demo can do. The first is run where none is
// named.
func commands() []command {
	return []command{
		{"show", "", "one call as it happened, then the table of styles", showAbout, show},
		{"table", "", "the table of all styles alone", tableAbout, table},
		{"basic", "", "the smallest handler that asks, explained as it runs", basicAbout, basic},
		{"multiround", "", "two questions, each round on another server", multiroundAbout, multiround},
		{"quadrant", "", "old and new clients, with and without a stream", quadrantAbout, quadrant},
		{"compare", "STYLE STYLE", "the sources of two styles, what differs marked", compareAbout, compare},
		{"errors", "", "every error there is, as an agent sees it", errorsAbout, showErrors},
		{"check", "FILE", "find tool uses without a result in a conversation", checkAbout, check},
		{"probe", "URL|COMMAND...", "whether a running server keeps the rules of tool calls", probeAbout, probeServer},
		{"page", "", "serve a page on which to play and attack a call", pageAbout, servePage},
		{"serve", "", "serve the tools over stdio, or HTTP and WebSocket", serveAbout, serve},
		{"help", "[COMMAND]", "this list, or what a command takes", "Lists the commands, or tells what one of them takes.", help},
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

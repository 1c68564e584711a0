package main

import (
	"context"
	"fmt"
)

// command is one command of weather-demo.
type command struct {
	name    string
	takes   string // its arguments, as usage shows them
	summary string
	about   string
	run     func(ctx context.Context, args []string, t terminal) error
}

// commands are all commands. The first is the default.
func commands() []command {
	return []command{
		{"show", "", "play one call, then print the table of styles", showAbout, show},
		{"table", "", "print the table of styles", tableAbout, table},
		{"basic", "", "explain the smallest handler that asks, as it runs", basicAbout, basic},
		{"multiround", "", "play two questions, each round on another server", multiroundAbout, multiround},
		{"lesson", "", "one function on three engines: its effect happens twice", lessonAbout, lesson},
		{"survive", "", "duplicates, restarts and deployments, in every style", surviveAbout, survive},
		{"cost", "", "how the cost of a style grows with its questions", costAbout, cost},
		{"quadrant", "", "modern and legacy clients, with and without a stream", quadrantAbout, quadrant},
		{"compare", "STYLE STYLE", "show the code of two styles, differences marked", compareAbout, compare},
		{"errors", "", "provoke every error, and print it as an agent sees it", errorsAbout, showErrors},
		{"levels", "", "which end of a call the client gets, and which the log", levelsAbout, levels},
		{"batch", "", "one call for several items, of which some fail", batchAbout, batch},
		{"check", "FILE", "find tool uses without a result in a conversation", checkAbout, check},
		{"page", "", "serve a page on which to play and attack a call", pageAbout, servePage},
		{"serve", "", "serve the tools over stdio, or HTTP and WebSocket", serveAbout, serve},
		{"version", "", "print the versions of the demo, of Go and of go-sdk", versionAbout, version},
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

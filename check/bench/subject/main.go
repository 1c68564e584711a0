// Command subject is one of the processes that are measured: a server, or one
// kind of work in memory. Its argument says which; package internal/subject is
// how it is spoken to.
package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/mrtr-go/sdk/check/bench/internal/subject"
)

// made is a subject that is ready: the word that its first line says, and its
// work, nil for a server.
type made struct {
	word string
	run  func(n int) error
}

// work is a subject without a word, whose work is done once at a time.
func work(once func() error) (made, error) { return made{"-", subject.Times(once)}, nil }

// subjects make a subject from the last part of its name, which for most of them
// names one of several.
var subjects = map[string]func(name string) (made, error){
	"http":      serveHTTP,
	"websocket": serveWebSocket,
	"memory":    callsInMemory,
	"boundary":  callsOfBoundary,
	"codec":     codecs,
	"engine":    engineAlone,
	"held":      holdAll,
	"state":     stateLength,
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "subject:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) != 1 {
		return fmt.Errorf("one argument is wanted, KIND/NAME; kinds: %v", slices.Sorted(maps.Keys(subjects)))
	}
	kind, name, _ := strings.Cut(arguments[0], "/")
	prepare, ok := subjects[kind]
	if !ok {
		return fmt.Errorf("no subjects of the kind %q", kind)
	}
	m, err := prepare(name)
	if err != nil {
		return err
	}
	return subject.Converse(m.word, m.run)
}

// unknown is for a name that its kind does not have.
func unknown(name string) (made, error) {
	return made{}, fmt.Errorf("no subject %q of that kind", name)
}

// Command mrtr judges tools that ask their users, and the conversations that they leave.
//
//	mrtr prove -tool NAME URL
//	mrtr prove -tool NAME -- COMMAND
//	mrtr vet ./...
//	mrtr check FILE
//	mrtr version
//
// Run `mrtr help` for the commands, and `mrtr help vet` for one of them.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"

	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/mrtr-go/sdk/prove"
	"github.com/mrtr-go/sdk/prove/cmd/mrtr/internal/vet"
)

// command is one of the things that mrtr does.
type command struct {
	name  string
	short string // one line, for the list of commands
	help  func(w io.Writer, args []string) error
	run   func(args []string, out, err io.Writer) status
}

var commands = []command{
	{"prove", "prove a running server by the rules for tools that ask", helpProve, runProve},
	{"vet", "find mistakes in the source of tools that ask", helpVet, runVet},
	{"check", "find tool uses without a result in a conversation", helpCheck, runCheck},
	{"version", "print the versions of mrtr, of Go and of go-sdk", helpVersion, runVersion},
}

// status is the exit status.
type status int

const (
	statusClean   status = 0
	statusFound   status = 1 // there are findings
	statusMisused status = 2 // nothing was judged
)

func main() {
	if askedByGoVet(os.Args[1:]) {
		unitchecker.Main(vet.Analyzers...)
		return
	}
	os.Exit(int(execute(os.Args[1:], os.Stdout, os.Stderr)))
}

func execute(args []string, out, err io.Writer) status {
	if len(args) == 0 {
		usage(err)
		return statusMisused
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		if failed := help(args[1:], out); failed != nil {
			fmt.Fprintln(err, "mrtr:", failed)
			return statusMisused
		}
		return statusClean
	}
	for _, c := range commands {
		if c.name == args[0] {
			return c.run(args[1:], out, err)
		}
	}
	fmt.Fprintf(err, "mrtr: there is no command %q\n", args[0])
	usage(err)
	return statusMisused
}

// misread is the end of a command whose line asks for help, or cannot be understood.
func misread(err error, command string, help func(io.Writer, []string) error, out, errOut io.Writer) status {
	if errors.Is(err, flag.ErrHelp) {
		_ = help(out, nil)
		return statusClean
	}
	fmt.Fprintf(errOut, "mrtr %s: %v; see mrtr help %[1]s\n", command, err)
	return statusMisused
}

func help(args []string, out io.Writer) error {
	if len(args) == 0 {
		usage(out)
		return nil
	}
	for _, c := range commands {
		if c.name == args[0] {
			return c.help(out, args[1:])
		}
	}
	return fmt.Errorf("there is no command %q", args[0])
}

func usage(w io.Writer) {
	fmt.Fprint(w, "mrtr judges tools that ask their users.\n\nusage: mrtr COMMAND [arguments]\n\n")
	for _, c := range commands {
		fmt.Fprintf(w, "  %-9s%s\n", c.name, c.short)
	}
	fmt.Fprintf(w, "  %-9s%s\n", "help", "say more about a command: mrtr help vet")
}

// runVersion prints the versions that a report was made with.
func runVersion(args []string, out, errOut io.Writer) status {
	info, known := debug.ReadBuildInfo()
	if len(args) > 0 || !known {
		fmt.Fprintln(errOut, "mrtr version: takes no arguments, and a binary that was built with modules")
		return statusMisused
	}
	fmt.Fprintf(out, "mrtr      %s\n", info.Main.Version)
	fmt.Fprintf(out, "go        %s\n", info.GoVersion)
	if at := slices.IndexFunc(info.Deps, func(d *debug.Module) bool { return d.Path == "github.com/modelcontextprotocol/go-sdk" }); at >= 0 {
		fmt.Fprintf(out, "go-sdk    %s\n", info.Deps[at].Version)
	}
	fmt.Fprintf(out, "rules     %d, and %d about tasks\n", len(prove.Rules()), len(prove.TaskRules()))
	return statusClean
}

func helpVersion(w io.Writer, _ []string) error {
	_, err := fmt.Fprintln(w, "usage: mrtr version\n\nIt prints the versions of mrtr, of Go and of go-sdk, and how many rules there are.")
	return err
}

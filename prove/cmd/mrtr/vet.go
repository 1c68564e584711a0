package main

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/tools/go/analysis"

	"github.com/mrtr-go/sdk/prove/cmd/mrtr/internal/vet"
)

func vetFlags() (fs *flag.FlagSet, asJSON *bool, only *string) {
	fs = flag.NewFlagSet("vet", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	asJSON = fs.Bool("json", false, "print the findings as JSON")
	only = fs.String("only", "", "run these `analyzers` alone, by name, with commas between them")
	list(fs, "effects", "functions and methods that have an effect, by `name`, with commas between them: example.com/pay.Client.Settle", &vet.Effects)
	return fs, asJSON, only
}

// runVet runs the analyzers over packages, and prints their findings.
func runVet(args []string, out, errOut io.Writer) status {
	fs, asJSON, only := vetFlags()
	if err := fs.Parse(args); err != nil {
		return misread(err, "vet", helpVet, out, errOut)
	}
	failed := func(err error) status {
		fmt.Fprintln(errOut, "mrtr vet:", err)
		return statusMisused
	}
	analyzers, err := selected(*only)
	if err != nil {
		return failed(err)
	}
	patterns := fs.Args()
	if len(patterns) == 0 {
		patterns = []string{"."}
	}
	at, finish := whereabouts(errOut)
	findings, err := vet.Run("", analyzers, at, patterns...)
	finish()
	if err != nil {
		return failed(err)
	}
	if *asJSON {
		err = vet.WriteJSON(out, findings)
	} else {
		err = vet.WriteText(out, findings)
	}
	switch {
	case err != nil:
		return failed(err)
	case len(findings) > 0:
		return statusFound
	}
	return statusClean
}

// whereabouts says where a run is once it has taken ten seconds, and every ten seconds
// from then on.
func whereabouts(w io.Writer) (at func(place string), finish func()) {
	var place atomic.Value
	finish = nowAndThen(func(time.Duration) { fmt.Fprintln(w, "mrtr vet:", place.Load()) })
	return func(now string) { place.Store(now) }, finish
}

func selected(only string) ([]*analysis.Analyzer, error) {
	if only == "" {
		return vet.Analyzers, nil
	}
	var chosen []*analysis.Analyzer
	for _, name := range strings.Split(only, ",") {
		a, err := findAnalyzer(strings.TrimSpace(name))
		if err != nil {
			return nil, fmt.Errorf("-only: %w", err)
		}
		chosen = append(chosen, a)
	}
	return chosen, nil
}

func findAnalyzer(name string) (*analysis.Analyzer, error) {
	i := slices.IndexFunc(vet.Analyzers, func(a *analysis.Analyzer) bool { return a.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("there is no analyzer %q", name)
	}
	return vet.Analyzers[i], nil
}

// helpVet explains the command, or the analyzer that is named.
func helpVet(w io.Writer, args []string) error {
	if len(args) > 0 {
		a, err := findAnalyzer(args[0])
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s: %s\n", a.Name, a.Doc)
		return nil
	}
	fmt.Fprint(w, "usage: mrtr vet [-json] [-only names] [-effects names] [packages]\n\n"+
		"It judges the packages by these analyzers. `mrtr help vet NAME` says what goes\n"+
		"wrong at run time, and how to fix it.\n\n")
	for _, a := range vet.Analyzers {
		title, _, _ := strings.Cut(a.Doc, "\n")
		fmt.Fprintf(w, "  %-17s%s\n", a.Name, title)
	}
	fs, _, _ := vetFlags()
	fmt.Fprint(w, "\n")
	fs.SetOutput(w)
	fs.PrintDefaults()
	fmt.Fprint(w, "\nIt exits with 0 if nothing was found, with 1 if something was, and with 2\n"+
		"if the packages could not be loaded. A finding is accepted by a comment on its\n"+
		"line or the one above it: //mrtr:allow NAME REASON. In test files only examples are\n"+
		"judged.\n\n"+
		"go vet runs the same analyzers: go vet -vettool=$(which mrtr) ./...\n")
	return nil
}

// askedByGoVet reports whether go vet started this program as its -vettool: it
// asks for the version and the flags first, and then names a file for each
// package.
func askedByGoVet(args []string) bool {
	if len(args) == 0 {
		return false
	}
	return args[0] == "-V=full" || args[0] == "-flags" || strings.HasSuffix(args[len(args)-1], ".cfg")
}

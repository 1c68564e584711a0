package main

import (
	"fmt"
	"io"
	"runtime/debug"
	"slices"

	"github.com/mrtr-go/sdk/prove"
)

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

// Elsewhere vets modules, with their tests, as other systems would compile them. It reads
// sources alone: go vet compiles all libraries first, for systems on which nothing runs here.
package main

import (
	"fmt"
	"log"
	"os"

	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/analysis/suite/vet"
	"golang.org/x/tools/go/packages"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) == 1 {
		log.Fatal("elsewhere: name the directories of the modules")
	}
	found := 0
	for _, dir := range os.Args[1:] {
		for _, system := range []string{"darwin", "windows"} {
			fmt.Println(system, dir)
			n, err := findings(system, dir)
			if err != nil {
				log.Fatalf("%s in %s: %v", system, dir, err)
			}
			found += n
		}
	}
	if found > 0 {
		os.Exit(1)
	}
}

// findings prints what is wrong with a module, and counts it.
func findings(system, dir string) (n int, _ error) {
	all, err := packages.Load(&packages.Config{
		Mode: packages.LoadAllSyntax, Tests: true,
		Dir: dir, Env: append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0"),
	}, "./...")
	switch {
	case err != nil:
		return 0, err
	case len(all) == 0:
		return 0, fmt.Errorf("there is no package")
	}
	if n := packages.PrintErrors(all); n > 0 {
		return n, nil
	}
	graph, err := checker.Analyze(vet.Suite, all, nil)
	if err != nil {
		return 0, err
	}
	for _, root := range graph.Roots {
		n += len(root.Diagnostics)
		if root.Err != nil {
			n++
		}
	}
	return n, graph.PrintText(os.Stderr, -1)
}
